"""The cost of measuring: the same load with and without meters, in pairs, on one deployment, until the
interval is narrow enough.

usage: .venv/bin/python benchmarks/disturbance.py [--minutes 60] [--filesystem moosefs] [--size "32 MiB"]
[--scale 0.1]     (root)

Each pair is one load with all meters streaming to Parquet, as in a campaign, and one without, in random
order. The benchmark ends when the 95 % interval of the ratio of throughputs is within 0.5 % of its mean, but
not before 12 pairs, or when the time is up. It prints the ratio (geometric mean, no pair left out) with its
interval, and the meters' share of a core: the CPU time of this process per second of the load, with meters
less without.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from perjoule import drivers
from perjoule.drivers.protocols import Hosts, Mounted, Workload
from perjoule.model import Interval, Spec
from perjoule.statistics.intervals import half_width_ratio, interval, ratio_interval
from perjoule.store.samples import ParquetSink

METERS = (Spec("system"), Spec("modelled"))
GOAL_RATIO = 0.005  # half of the interval's width, and what measuring may cost
CORE_RATIO = 0.015  # what the meters of 10 virtual hosts at 5 Hz may take of a core
LEAST_COUNT = 12  # pairs: fewer don't tell their own scatter well enough to stop by it


@dataclass(frozen=True)
class Load:
    """One load: its throughput, and the CPU seconds of this process per second of it."""

    bytes_per_s: float
    core_ratio: float


@dataclass(frozen=True)
class Pair:
    """The same load with and without meters, shortly after each other."""

    metered: Load
    plain: Load


def load(hosts: Hosts, mounted: Mounted, workload: Workload, folder: Path, *, metered: bool) -> Load:
    """Load once."""
    folder.mkdir()
    workload.prepare(hosts.clients, mounted, folder)
    with ExitStack() as meters:
        sink = ParquetSink(folder / "series.parquet")
        meters.callback(sink.close)
        for spec in METERS if metered else ():
            meters.enter_context(drivers.meter(spec).record(hosts, sink))
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        outcome = workload.run(hosts.clients, mounted, folder)
        core_ratio = (time.process_time() - began_cpu_s) / (time.monotonic() - began_s)
    moved_bytes = sum(result.moved_bytes for result in outcome.results)
    return Load(moved_bytes / (outcome.ended_s - outcome.began_s), core_ratio)


def cost(pairs: Sequence[Pair]) -> Interval:
    """Throughput with meters over that without."""
    return ratio_interval(
        [pair.metered.bytes_per_s for pair in pairs], [pair.plain.bytes_per_s for pair in pairs]
    )


def share(pairs: Sequence[Pair]) -> Interval:
    """What the meters took of a core, the load's own share of this process cancelled."""
    return interval([pair.metered.core_ratio - pair.plain.core_ratio for pair in pairs])


def settled(pairs: Sequence[Pair]) -> bool:
    """Whether the cost is known well enough."""
    return len(pairs) >= LEAST_COUNT and half_width_ratio(cost(pairs)) <= GOAL_RATIO


def report(pairs: Sequence[Pair], hosts_count: int, took_s: float) -> None:
    """Print what came out, and whether the goals are reached."""
    found, core = cost(pairs), share(pairs)
    half = half_width_ratio(found)
    known = "" if half <= GOAL_RATIO else f", not within {GOAL_RATIO:.1%}: more time, or a quieter machine"
    print(f"{len(pairs)} pairs in {took_s / 60:.1f} minutes, {hosts_count} hosts")
    within = f"{found.low:.4f} to {found.high:.4f} (+- {half:.2%}{known})"
    print(f"throughput with meters / without: {found.mean:.4f}, 95 % interval {within}")
    print(
        f"median of the ratios: {median(found.values):.4f} (far from the mean when something else used the "
        "machine)"
    )
    print(f"the meters' share of a core: {core.mean:.2%}, 95 % interval {core.low:.2%} to {core.high:.2%}")
    lost = (
        "reached"
        if 1 - found.low < GOAL_RATIO
        else "missed"
        if 1 - found.high > GOAL_RATIO
        else "not decided"
    )
    took = "reached" if core.high <= CORE_RATIO else "missed" if core.low > CORE_RATIO else "not decided"
    print(f"goals: less than {GOAL_RATIO:.1%} lost: {lost}; at most {CORE_RATIO:.1%} of a core: {took}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="the longest that it may take")
    parser.add_argument("--filesystem", default="moosefs")
    parser.add_argument("--operation", default="write")
    parser.add_argument("--size", default="32 MiB", help="per client")
    parser.add_argument("--clients", type=int, default=4, help="with 4, the cluster has 10 hosts")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()

    dice, began_s = random.Random(asked.seed), time.monotonic()
    workload = drivers.workload(Spec("fio", {"operation": asked.operation, "size": asked.size}))
    disk = {"disk": "ext4", "disk_size": "8 GiB"}  # MooseFS frees what was deleted only after some minutes
    testbed = drivers.testbed(Spec("virtual", {"scale": asked.scale, **disk}))
    with (
        tempfile.TemporaryDirectory(prefix="perjoule-disturbance-") as folder,
        testbed.hold(asked.clients) as hosts,
        drivers.filesystem(Spec(asked.filesystem)).mount(hosts) as mounted,
    ):
        pairs: list[Pair] = []
        load(hosts, mounted, workload, Path(folder) / "warm-up", metered=True)
        while not pairs or (not settled(pairs) and time.monotonic() - began_s < 60 * asked.minutes):
            found: dict[bool, Load] = {}
            for metered in dice.sample([True, False], 2):
                place = Path(folder) / f"{len(pairs)}-{'with' if metered else 'without'}"
                found[metered] = load(hosts, mounted, workload, place, metered=metered)
            pairs.append(Pair(found[True], found[False]))
            known = (
                f", so far {cost(pairs).mean:.4f} +- {half_width_ratio(cost(pairs)):.2%}"
                if len(pairs) > 1
                else ""
            )
            print(f"pair {len(pairs)}: {cost(pairs[-1:]).mean:.4f}{known}", flush=True)
        report(pairs, len(hosts.all), time.monotonic() - began_s)


if __name__ == "__main__":
    main()
