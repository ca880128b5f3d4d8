"""Time of bring-up (from nothing to mounted and writable, on 5 bricks and 1 client) and of tear-down of a
file system.

    python benchmarks/bringup.py moosefs [--count 10] [--disk xfs] [--set goal=2]

Hosts run at full speed without a CPU cap, as for the figures to compare with. Needs root.
"""

import argparse
import statistics
import time
import tomllib
from contextlib import ExitStack

from perjoule import drivers
from perjoule.model import Json, Spec


def timed(kind: str, options: dict[str, Json], disk: Json) -> dict[str, float]:
    filesystem = drivers.filesystem(Spec(kind, options))
    bed = drivers.testbed(Spec("virtual", {"disk": disk, "cpu_cap": False, "disk_cap": False}))
    marks = [time.monotonic()]
    with ExitStack() as stack:
        hosts = stack.enter_context(bed.hold(1))
        marks.append(time.monotonic())
        mounted = stack.enter_context(filesystem.mount(hosts))
        (client,) = hosts.clients
        target = mounted.directories[client.name] / "written"
        client.run(["dd", "if=/dev/zero", f"of={target}", "bs=64k", "count=1", "conv=fsync"], timeout_s=30)
        marks.append(time.monotonic())
    marks.append(time.monotonic())
    began_s, hosts_s, writable_s, gone_s = marks
    return {
        "hosts": hosts_s - began_s,
        "mounted and writable": writable_s - began_s,
        "tear-down": gone_s - writable_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--disk", default="ext4")
    parser.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="as in a campaign file"
    )
    asked = parser.parse_args()
    options = {key: value for text in asked.set for key, value in _option(text).items()}
    runs = [timed(asked.kind, options, asked.disk) for _ in range(asked.count)]
    print(f"{asked.kind} on 5 bricks and 1 client, disk {asked.disk}, n = {asked.count}")
    for name in runs[0]:
        values = sorted(run[name] for run in runs)
        print(
            f"  {name:22} median {statistics.median(values):6.2f} s   from {values[0]:.2f} to "
            f"{values[-1]:.2f} s"
        )


def _option(text: str) -> dict[str, Json]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        key, _, value = text.partition("=")
        return {key: value}


if __name__ == "__main__":
    main()
