"""Whether a write larger than a virtual host's memory meets its disk: MiB/s with and without the memory cap.

    python benchmarks/memory_caps.py [--times 4] [--memory 0.03125] [--scale 0.1] [--repetitions 3]

A storage host writes, with buffers, `times` the memory that it has under the cap, to a file on its own disk.
Printed are the rate until the last write returned, the rate after the first memory-full of data, and the rate
until fsync returned. Needs root.
"""

import argparse
import json
import os
import sys

from perjoule import drivers
from perjoule.model import Json, Spec
from perjoule.model.units import MIB

WRITE = """
import json, os, sys, time
path, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
block = os.urandom(1 << 20)
file = os.open(path, os.O_CREAT | os.O_WRONLY)
began = time.monotonic()
for number in range(count):
    os.write(file, block)
    if number + 1 == first:
        filled = time.monotonic()
ended = time.monotonic()
os.fsync(file)
synced = time.monotonic()
print(json.dumps([count / (ended - began), (count - first) / (ended - filled), count / (synced - began)]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--memory", type=float, default=1 / 32, help="of the catalogue's")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--repetitions", type=int, default=3)
    asked = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load before: {os.getloadavg()[0]:.1f}")
    common: dict[str, Json] = {"servers": 1, "scale": asked.scale, "memory": asked.memory, "cpu_cap": False}
    for disk in ("ext4", "xfs", "btrfs"):
        for capped in (True, False) * asked.repetitions:
            with drivers.testbed(Spec("virtual", {**common, "disk": disk, "memory_cap": capped})).hold(
                1
            ) as hosts:
                host = hosts.by_role("storage")[0]
                assert host.node is not None
                assert host.node.board.memory_bytes is not None
                disk_mib_per_s = (
                    sum(one.write_bytes_per_s.value for one in host.node.disks) * asked.scale / MIB
                )
                memory_mib = round(host.node.board.memory_bytes.value * asked.memory / MIB)
                argv = [
                    sys.executable,
                    "-c",
                    WRITE,
                    host.directory / "written",
                    str(asked.times * memory_mib),
                    str(memory_mib),
                ]
                written, after, synced = json.loads(host.run(argv, timeout_s=600).stdout)
                if said := host.out_of_memory():
                    print(f"{host.name}: {said}")
            words = f"{disk:5} {memory_mib} MiB of memory" if capped else f"{disk:5} no memory cap"
            rates = f"written {written:7.1f}  after {memory_mib} MiB {after:7.1f}  synced {synced:7.1f}"
            ratios = (
                f"{100 * (after / disk_mib_per_s - 1):+7.1f} % and "
                f"{100 * (synced / disk_mib_per_s - 1):+5.1f} %"
            )
            print(f"{words:25} {rates}  of {disk_mib_per_s:.1f} MiB/s: {ratios}", flush=True)


if __name__ == "__main__":
    main()
