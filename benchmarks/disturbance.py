"""How much measuring disturbs what is measured: the same load with and without meters, in pairs, on one deployment.

usage: .venv/bin/python benchmarks/disturbance.py [--pairs 30] [--filesystem moosefs] [--size "32 MiB"] [--scale 0.1]      (root)

Each pair is one load with all meters that stream to Parquet as in a campaign, and one without, in an order drawn anew. Prints the
ratio of their throughputs (geometric mean) with its 95 % interval, and the CPU that measuring took. The goal is below 0.5 %.
"""

import argparse
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from perjoule import drivers
from perjoule.analysis.statistics import ratio_interval
from perjoule.model import Spec
from perjoule.protocols import Hosts, Mounted, Workload
from perjoule.store.samples import ParquetSink

METERS = (Spec("system"), Spec("modelled"))
GOAL_RATIO = 0.005


def throughput_bytes_per_s(
    hosts: Hosts, mounted: Mounted, workload: Workload, folder: Path, *, metered: bool
) -> tuple[float, float]:
    """Load once; give the throughput, and the CPU seconds of this process per second of the load."""
    folder.mkdir()
    workload.prepare(hosts.clients, mounted, folder)
    with ExitStack() as meters:
        sink = ParquetSink(folder / "series.parquet")
        meters.callback(sink.close)
        for spec in METERS if metered else ():
            meters.enter_context(drivers.meter(spec).record(hosts, sink))
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        outcome = workload.run(hosts.clients, mounted, folder)
        cpu_ratio = (time.process_time() - began_cpu_s) / (time.monotonic() - began_s)
    moved_bytes = sum(result.moved_bytes for result in outcome.results)
    return moved_bytes / (outcome.ended_s - outcome.began_s), cpu_ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--filesystem", default="moosefs")
    parser.add_argument("--operation", default="write")
    parser.add_argument("--size", default="32 MiB", help="per client")
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()

    dice = random.Random(asked.seed)
    workload = drivers.workload(Spec("fio", {"operation": asked.operation, "size": asked.size}))
    testbed = drivers.testbed(Spec("virtual", {"scale": asked.scale, "disk": "ext4", "disk_size": "2 GiB"}))
    with (
        tempfile.TemporaryDirectory(prefix="perjoule-disturbance-") as folder,
        testbed.hold(asked.clients) as hosts,
        drivers.filesystem(Spec(asked.filesystem)).mount(hosts) as mounted,
    ):
        seen: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        throughput_bytes_per_s(hosts, mounted, workload, Path(folder) / "warm-up", metered=True)
        for pair in range(asked.pairs):
            for metered in dice.sample([True, False], 2):
                place = Path(folder) / f"{pair}-{'with' if metered else 'without'}"
                seen[metered].append(throughput_bytes_per_s(hosts, mounted, workload, place, metered=metered))
            print(f"pair {pair + 1}: with / without {seen[True][-1][0] / seen[False][-1][0]:.4f}", flush=True)

    found = ratio_interval([rate for rate, _ in seen[True]], [rate for rate, _ in seen[False]])
    cpu = [sum(share for _, share in seen[metered]) / asked.pairs for metered in (True, False)]
    print(f"throughput with meters / without: {found.mean:.4f}, 95 % interval {found.low:.4f} to {found.high:.4f}")
    print(f"median of the ratios: {median(found.values):.4f} (far from the mean when something else used the machine)")
    print(f"CPU of perjoule itself: {cpu[0]:.2%} of a core with meters, {cpu[1]:.2%} without")
    worst_ratio = 1 - found.low
    verdict = "reached" if worst_ratio < GOAL_RATIO else "missed" if found.high < 1 - GOAL_RATIO else "not decided: more pairs"
    print(f"goal (below {GOAL_RATIO:.1%} lost, at the interval's worse end {worst_ratio:.2%}): {verdict}")


if __name__ == "__main__":
    main()
