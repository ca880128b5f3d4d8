"""Shares of CPU, memory and disks under cgroup v2, judged by what the kernel itself counts, so that any
machine can tell.

Disks are capped so low that an emulated CPU reaches their caps.
"""

import sys
import time
from collections.abc import Callable

import pytest

from perjoule import catalogue
from perjoule.drivers.protocols import Host
from perjoule.model import Json
from perjoule.model.units import MIB
from perjoule.testbeds.virtual import Virtual, cgroup, cpu
from typed import as_written, present

VERSION, ABLE = cgroup.controllers()
pytestmark = [
    pytest.mark.live,
    pytest.mark.alone,
    pytest.mark.skipif(
        VERSION != 2 or not {"cpu", "io", "memory"} <= ABLE,
        reason="this machine has no cgroup v2 with controllers of CPU, disks and memory; run `make kernels`",
    ),
]

CORES_COUNT = 0.25
WATCHED_S = 10.0
TOLERANCE = 0.05
SPIN = "while :; do :; done"
SLOW = 0.01  # of the board's speed: 2.8 MiB/s of its disk
WRITE = """
import os, sys, time
file, block = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), os.urandom(1 << 20)
first, count = int(sys.argv[2]), int(sys.argv[3])
for _ in range(first): os.write(file, block)
began = time.monotonic()
for _ in range(count): os.write(file, block)
print(count / (time.monotonic() - began))
"""


def bed(**options: Json) -> Virtual:
    return as_written(Virtual, **{"servers": 1, "cpu_cap": False, "disk_size": "1 GiB", **options})


def said(host: Host, name: str) -> str:
    """What the kernel says in a file of a host's control group."""
    (folder,) = cgroup.groups(host.directory.parent.name.removeprefix("pj-")).roots
    return (folder / host.name / name).read_text()


def count(text: str, name: str) -> int:
    """A number by its name, as in "nr_throttled 7"."""
    return int(next(line.split()[1] for line in text.splitlines() if line.split()[0] == name))


def watched(counted: Callable[[], int], duration_s: float) -> tuple[int, float]:
    """How much a count grows, and in which time."""
    began, began_s = counted(), time.monotonic()
    time.sleep(duration_s)
    return counted() - began, time.monotonic() - began_s


def test_a_host_uses_no_more_cpu_time_than_its_share_and_is_stopped_when_it_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = next(node.board for node in catalogue.cluster("odroid-hc4").nodes if node.role == "storage")
    monkeypatch.setattr(
        cpu, "mips_per_core", lambda: cpu.Rating(board.mips.value / CORES_COUNT, "of the test")
    )
    with bed(cpu_cap=True, disk="directory").hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        assert server.cpu_capacity_cores == pytest.approx(CORES_COUNT)
        for name in ("one", "two"):  # more than a core could give
            server.spawn(["sh", "-c", SPIN], log=server.directory / name)
        stopped = count(said(server, "cpu.stat"), "nr_throttled")
        used_us, took_s = watched(lambda: count(said(server, "cpu.stat"), "usage_usec"), WATCHED_S)
        stopped = count(said(server, "cpu.stat"), "nr_throttled") - stopped
    assert CORES_COUNT * (1 - TOLERANCE) <= used_us / 1e6 / took_s <= CORES_COUNT * (1 + TOLERANCE)
    assert stopped > 0


def test_the_page_cache_counts_in_a_hosts_memory_which_never_exceeds_its_cap() -> None:
    with bed(disk="xfs", disk_cap=False, memory="3.125 %", memory_cap=True).hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        cap_bytes = present(server.memory_bytes)
        assert int(said(server, "memory.max")) == cap_bytes == 128 * MIB
        server.run(
            ["dd", "if=/dev/zero", f"of={server.directory}/zeros", "bs=1M", "count=256", "conv=fsync"],
            timeout_s=300,
        )
        assert 0.9 * cap_bytes <= int(said(server, "memory.peak")) <= cap_bytes
        assert not server.out_of_memory()


def disk_bytes_per_s(host: Host) -> float:
    return sum(disk.write_bytes_per_s.value for disk in present(host.node).disks) * SLOW


def test_direct_writes_get_the_whole_share_of_a_disk_and_no_more() -> None:
    with bed(disk="xfs", scale=SLOW).hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        argv = ["dd", "if=/dev/zero", f"of={server.directory}/zeros", "bs=128K", "count=4096", "oflag=direct"]
        server.spawn(argv, log=server.directory / "dd")
        time.sleep(2.0)
        written_bytes, took_s = watched(lambda: present(server.counters().disk_written_bytes), 3 * WATCHED_S)
        assert written_bytes / took_s == pytest.approx(disk_bytes_per_s(server), rel=TOLERANCE)


@pytest.mark.parametrize("disk", ["ext4", "xfs"])
def test_a_write_of_four_times_the_memory_is_as_fast_as_the_disk_once_the_memory_is_full(disk: str) -> None:
    with bed(disk=disk, scale=SLOW, memory="1.5625 %", memory_cap=True).hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        memory_mib = present(server.memory_bytes) // MIB
        argv = [
            sys.executable,
            "-c",
            WRITE,
            server.directory / "written",
            str(memory_mib),
            str(3 * memory_mib),
        ]
        written_mib_per_s = float(server.run(argv, timeout_s=600).stdout)
        print(f"{written_mib_per_s:.2f} MiB/s to a disk of {disk_bytes_per_s(server) / MIB:.2f}")
        assert not server.out_of_memory()
        assert written_mib_per_s * MIB == pytest.approx(disk_bytes_per_s(server), rel=TOLERANCE)
