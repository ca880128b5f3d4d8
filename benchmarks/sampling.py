"""The CPU cost of sampling into a results folder's Parquet file, and lost samples.

usage: .venv/bin/python benchmarks/sampling.py [SECONDS [one|many|hosts]...]        (600 by default; "hosts"
needs root)

Three cases: one meter that reads 20 zones of a folder like powercap at 20 Hz ("one"); 20 meters with one
channel and thread each at 20 Hz ("many"); and a campaign's default, counters and modelled watts of 10 virtual
hosts at 5 Hz ("hosts"; goal: 1.5 % of a core). The cost is this process's CPU time over elapsed time, as a
share of one core. The Parquet file is read back and its samples counted.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from perjoule import drivers
from perjoule.drivers.protocols import Hosts, Meter
from perjoule.meters.modelled import Modelled
from perjoule.meters.system import System
from perjoule.model import Spec
from perjoule.store.samples import ParquetSink, read_series

CHANNELS_COUNT = 20
NOWHERE = Hosts(())
RATE_HZ = 20
RATE = f"{RATE_HZ} Hz"
HOSTS_RATE_HZ = 5  # of counters and modelled watts, when a campaign does not say otherwise


def measure(
    name: str,
    meters: Sequence[Meter],
    duration_s: float,
    folder: Path,
    rate_hz: float,
    hosts: Hosts = NOWHERE,
) -> None:
    path = folder / f"{name.replace(' ', '-')}.parquet"
    sink = ParquetSink(path)
    with ExitStack() as stack:
        doubts = [stack.enter_context(meter.record(hosts, sink)) for meter in meters]
        began_s, began_cpu_s = time.monotonic(), time.process_time()
        time.sleep(duration_s)
        passed_s, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    sink.close()
    series = read_series(path)
    taken = [len(s.t_s) for s in series]
    wanted = duration_s * rate_hz
    gaps = max(float(np.diff(s.t_s).max()) for s in series)
    told = [doubt for one in doubts for doubt in one]
    print(
        f"{name}: {cpu_s / passed_s:.2%} of a core; {len(series)} channels, {min(taken)} to {max(taken)} "
        "samples each "
        f"({wanted:.0f} wanted), the longest step {gaps * 1e3:.0f} ms; {'; '.join(told) or 'no doubt'}",
        flush=True,
    )


def zones(root: Path) -> Path:
    """Lay out 20 zones with a counter each."""
    for n in range(CHANNELS_COUNT):
        zone = root / f"intel-rapl:{n}"
        zone.mkdir(parents=True)
        for name, text in {
            "name": f"package-{n}",
            "energy_uj": "5000000",
            "max_energy_range_uj": "262143328850",
        }.items():
            (zone / name).write_text(f"{text}\n")
    return root


def main() -> None:
    duration_s = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    ways = sys.argv[2:] or ["one", "many", "hosts"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if "one" in ways:
            measure(
                "one meter of 20 zones",
                [drivers.meter(Spec("rapl", {"root": str(zones(folder / "powercap")), "rate": RATE}))],
                duration_s,
                folder,
                RATE_HZ,
            )
        if "many" in ways:
            simulated = [
                drivers.meter(Spec("simulated", {"name": f"meter-{n}", "rate": RATE}))
                for n in range(CHANNELS_COUNT)
            ]
            measure("20 simulated meters", simulated, duration_s, folder, RATE_HZ)
        if "hosts" in ways:
            with drivers.testbed(Spec("virtual", {"scale": 0.2, "disk_size": "2 GiB"})).hold(4) as hosts:
                name = f"counters and watts of {len(hosts.all)} virtual hosts"
                measure(name, [System(), Modelled()], duration_s, folder, HOSTS_RATE_HZ, hosts)


if __name__ == "__main__":
    main()
