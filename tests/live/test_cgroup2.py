"""The caps of cgroup v2, held against work that is counted side by side: ratios, so a slow machine's clock says nothing."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perjoule.model.units import MIB
from perjoule.testbeds.virtual import cgroup

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(cgroup.controllers()[0] != 2, reason="this machine has cgroup v1; run `make kernels`"),
]

RUN = "cafe2222"  # like the id of a run, so `perjoule down` would remove what a kill leaves
JOIN = ["sh", "-c", 'echo $$ > "$0" && exec "$@"']
COUNT = """
import sys, time
sys.stdin.readline()
n, end_s = 0, time.monotonic() + float(sys.argv[1])
while time.monotonic() < end_s:
    n += 1
print(n)
"""


@pytest.fixture
def groups() -> Iterator[cgroup.Groups2]:
    made = cgroup.Groups2(RUN)
    yield made
    until_s = time.monotonic() + 20
    while not made.remove():
        assert time.monotonic() < until_s, "a group is still busy"
        time.sleep(0.1)


def inside(groups: cgroup.Groups2, host: str, *argv: object) -> subprocess.Popen[str]:
    (door,) = groups.doors(host)
    return subprocess.Popen([*JOIN, door, *map(str, argv)], stdin=-1, stdout=-1, text=True)


def test_twice_the_cpu_does_twice_the_work(groups: cgroup.Groups2) -> None:
    for host, cores in (("slow", 0.2), ("fast", 0.4)):
        groups.make(host, cores)
    loops = {host: inside(groups, host, sys.executable, "-c", COUNT, 20) for host in ("slow", "fast")}
    for loop in loops.values():
        assert loop.stdin is not None
        loop.stdin.write("go\n")
        loop.stdin.flush()
    done = {host: int(loop.communicate(timeout=120)[0]) for host, loop in loops.items()}
    assert done["fast"] / done["slow"] == pytest.approx(2, rel=0.05)
    used_s = {host: groups.cpu_s(host) or 0.0 for host in done}
    assert used_s["fast"] / used_s["slow"] == pytest.approx(2, rel=0.05)


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[dict[str, tuple[Path, str]]]:
    """Two file systems on devices of their own, with each device's number."""
    made: dict[str, tuple[Path, str]] = {}
    loops: list[str] = []
    try:
        for name in ("slow", "fast"):
            image, place = tmp_path / f"{name}.img", tmp_path / name
            place.mkdir()
            with image.open("wb") as file:
                file.truncate(400 * MIB)
            argv = ["losetup", "--find", "--show", image]
            loops.append(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip())
            subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", loops[-1]], check=True)
            subprocess.run(["mount", loops[-1], place], check=True)
            number = Path("/sys/block", Path(loops[-1]).name, "dev").read_text().strip()
            made[name] = (place, number)
        subprocess.run(["sync"], check=True)
        yield made
    finally:
        for place, _ in made.values():
            subprocess.run(["umount", place], check=False)
        for loop in loops:
            subprocess.run(["losetup", "--detach", loop], check=False)


def test_what_the_kernel_writes_back_is_capped_and_twice_the_cap_writes_twice_as_much(
    groups: cgroup.Groups2, disks: dict[str, tuple[Path, str]]
) -> None:
    caps = {"slow": 2 * MIB, "fast": 4 * MIB}
    for host, cap in caps.items():
        groups.make(host, None)
        groups.cap_disk(host, disks[host][1], cap, cap)
    writes = [["dd", "if=/dev/zero", f"of={disks[host][0]}/file", "bs=1M", "count=160", "status=none"] for host in caps]
    for write in [inside(groups, host, *argv) for host, argv in zip(caps, writes, strict=True)]:
        write.communicate(timeout=120)
    # The page cache took it all; the kernel writes it back.
    flushes = [inside(groups, host, "sync", "--file-system", disks[host][0]) for host in caps]
    time.sleep(3)
    before = {host: groups.disk_bytes(host)[1] or 0 for host in caps}
    time.sleep(20)
    moved = {host: (groups.disk_bytes(host)[1] or 0) - before[host] for host in caps}
    assert all(flush.poll() is None for flush in flushes), "written back within the window: the cap was not in force"
    for host, (_, number) in disks.items():
        (groups.roots[0] / host / "io.max").write_text(f"{number} rbps=max wbps=max")
    for flush in flushes:
        flush.communicate(timeout=300)
    assert moved["fast"] / moved["slow"] == pytest.approx(2, rel=0.05)
