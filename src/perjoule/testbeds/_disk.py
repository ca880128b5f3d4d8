"""Disks of virtual hosts: sparse files with a file system of their own on a loop device, if requested with a
delay between them.
https://docs.kernel.org/admin-guide/blockdev/loop.html"""

import contextlib
import ctypes
import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from perjoule.machine import removal
from perjoule.machine.guarded import mountinfo
from perjoule.machine.mirrors import WAYS, loaded
from perjoule.model import Disk
from perjoule.model.errors import MachineError
from perjoule.testbeds import _delay, _mirror
from perjoule.testbeds._format import fill, make_words, mount, tool

LEAST_BYTES = 320 * 1024**2  # mkfs.xfs takes no less than 300 MiB
_MNT_DETACH = 2  # https://man7.org/linux/man-pages/man2/umount2.2.html
_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN of ext4 and xfs
_NO_LOG_FLUSH = struct.pack("=I", 2)
_TIMEOUT_S = 60.0
_GONE_S = 10.0
_DELETED = " (deleted)"  # as the kernel says it of a file behind a device


@dataclass(frozen=True)
class Loop:
    """A loop device, or the delay above it, and its file."""

    name: str  # "loop0" or "dm-0"
    device: str  # major:minor
    backing: Path
    deleted: bool = False  # its file has no name any more


def loops() -> tuple[Loop, ...]:
    """List the loop devices in use."""
    loops_found: list[Loop] = []
    for folder in Path("/sys/block").glob("loop*"):
        with contextlib.suppress(OSError):
            backing = os.fsdecode((folder / "loop" / "backing_file").read_bytes()).rstrip("\n")
            path = Path(backing.removesuffix(_DELETED))
            loops_found.append(
                Loop(folder.name, (folder / "dev").read_text().strip(), path, backing.endswith(_DELETED))
            )
    return tuple(loops_found)


def make(
    image: Path,
    place: Path,
    disk: Disk,
    *,
    lock: int,
    inside: Sequence[str] = (),
    delay_ms: int | None = None,
) -> Loop:
    """Make a disk in a new file with a file system and mount it on an empty folder; `inside` enters a host's
    namespace.

    Each request to it takes `delay_ms` (wall time) longer; None: that can't be changed later.

    Raises:
        CampaignError: this file system does not support such blocks.
        MachineError: a tool or kernel support is missing or failed, with its message.
    """
    image.parent.mkdir(exist_ok=True)
    with image.open("xb") as file:
        file.truncate(disk.size_bytes)
    fill(image, disk, lock=lock)
    loop = Path(tool("losetup", "--find", "--show", "--direct-io=on", image, lock=lock)).name
    name = loop
    try:
        if delay_ms is not None:
            name = _delay.make(loop, image, delay_ms, lock=lock)
        mount(f"/dev/{name}", place, disk, lock=lock, inside=inside)
    finally:
        if name != loop:
            _delay.release(image, lock=lock)
        tool("losetup", "--detach", f"/dev/{loop}", lock=lock)  # from now on it goes with its mount
    return Loop(name, _number(name), image)


def bare(image: Path, size_bytes: int, *, lock: int, delay_ms: int | None = None) -> Path:
    """Make a sparse file and return its loop device, without a file system; `remove` or a guard removes both.

    Each request to it takes `delay_ms` (wall time) longer; None: that can't be changed later.

    Raises:
        MachineError: losetup is missing or failed.
    """
    image.parent.mkdir(exist_ok=True)
    with image.open("xb") as file:
        file.truncate(size_bytes)
    loop = Path(tool("losetup", "--find", "--show", "--direct-io=on", image, lock=lock))
    if delay_ms is None:
        return loop
    try:
        return Path("/dev", _delay.make(loop.name, image, delay_ms, lock=lock))
    finally:
        tool("losetup", "--detach", loop, lock=lock)  # from now on it goes with its delay


def make_mirror(
    image: Path, place: Path, disk: Disk, *, lock: int, inside: Sequence[str] = ()
) -> tuple[Loop, ...]:
    """Make two disks with the same content, like `make`; their files are next to `image`, which names the
    mirror.

    Raises:
        CampaignError: this file system does not support such blocks.
        MachineError: a tool or kernel support is missing or failed, with its message.
    """
    mirror = _mirror.Mirror(disk.mirror, image.parent, image.stem)
    make_words(disk)  # the impossible is reported before anything is touched
    if not loaded(module := WAYS[disk.mirror].module):
        tool("modprobe", module, lock=lock)
    image.parent.mkdir(exist_ok=True)
    names: list[str] = []
    try:
        for leg in mirror.images:
            with leg.open("xb") as file:
                file.truncate(disk.size_bytes)
            names.append(Path(tool("losetup", "--find", "--show", "--direct-io=on", leg, lock=lock)).name)
        for argv in mirror.make([f"/dev/{name}" for name in names], disk):
            tool(*argv, lock=lock)
        if disk.kind != "zfs":
            fill(Path(mirror.source), disk, lock=lock)
        mount(mirror.source, place, disk, lock=lock, inside=inside)
    except BaseException:
        with contextlib.suppress(MachineError):  # the first reason is the better one
            end(lambda: [loop for loop in below(image.parent) if loop.backing in mirror.images])
        raise
    for name in names:
        tool("losetup", "--detach", f"/dev/{name}", lock=lock)  # from now on it goes with its mirror
    return tuple(map(Loop, names, map(_number, names), mirror.images))


def _number(name: str) -> str:
    return Path("/sys/block", name, "dev").read_text().strip()


def mounts(listing: str, folder: Path) -> list[tuple[Path, str]]:
    """Read from mountinfo the mounts below a folder: where, and from which source; later mounts first."""
    places = [(Path(mount.place), mount.source) for mount in mountinfo.parsed(listing)]
    return [(place, source) for place, source in reversed(places) if folder in place.parents]


def remove(folder: Path) -> int:
    """Unmount and detach every disk whose image is below a run's folder, discarding its data. Returns how
    many.

    Raises:
        MachineError: something below the folder stays mounted; nothing may be deleted there.
    """
    disks = below(folder)
    ours = _paths(disks)
    places = mounts(mountinfo.read(), folder)
    # What lies in another mount goes with that: whoever may write there leads paths elsewhere.
    outer = [pair for pair in places if not any(above in pair[0].parents for above, _ in places)]
    with ThreadPoolExecutor(8) as pool:
        for place, source in outer:
            pool.submit(_unmount, place, source if source in ours else "")
    for loop in below(folder):  # a run that was killed before its disk was mounted
        _quietly("losetup", "--detach", f"/dev/{loop.name}")
    end(lambda: below(folder))
    if stuck := mounts(mountinfo.read(), folder):
        raise MachineError(
            "can't be unmounted",
            where=str(stuck[0][0]),
            next="find out what uses it, then run `perjoule down`",
        )
    return len({disk.backing for disk in disks})


def end(remaining: Callable[[], list[Loop]]) -> None:
    """Wait until unmounted loop devices are gone, and end the mirrors on them. Raises MachineError."""
    deadline_s = time.monotonic() + _GONE_S
    # the kernel takes namespaces down, and with them their mounts, in the background
    while loops := remaining():
        if time.monotonic() > deadline_s:
            raise MachineError(
                "still has data being written back",
                where=str(loops[0].backing),
                next="run `perjoule down` again",
            )
        for mirror in _mirror.behind(loop.backing for loop in loops):
            devices = [f"/dev/{loop.name}" for loop in loops if loop.backing in mirror.images]
            for device in devices:  # not afterwards: the number may be somebody else's by then
                _quietly("losetup", "--detach", device)
            _quietly(*mirror.end(devices))
        for loop in loops:
            if loop.name.startswith("dm-"):
                _quietly("dmsetup", "remove", "--noudevsync", _delay.name_of(loop.backing))
        time.sleep(0.005)


def detach(loop: Loop) -> None:
    """Detach a loop device from its file, unless somebody else uses it by now, and what delays it."""
    if loop in delayed(loops()):  # which udev may have open to look at it
        _quietly("dmsetup", "remove", "--noudevsync", "--retry", _delay.name_of(loop.backing))
    elif loop in loops():
        _quietly("losetup", "--detach", f"/dev/{loop.name}")


def below(folder: Path) -> list[Loop]:
    """List the loop devices whose image is below a folder, and the delays above them."""
    loops_found = [loop for loop in loops() if folder in loop.backing.parents]
    return loops_found + delayed(loops_found)


def delayed(loops: Iterable[Loop]) -> list[Loop]:
    """List the delays above loop devices."""
    delays: list[Loop] = []
    for loop in loops:
        for holder in Path("/sys/block", loop.name, "holders").glob("dm-*"):
            with contextlib.suppress(OSError):
                if (holder / "dm" / "name").read_text().strip() == _delay.name_of(loop.backing):
                    delays.append(Loop(holder.name, _number(holder.name), loop.backing))
    return delays


def _paths(disks: Iterable[Loop]) -> set[str]:
    """Return the names under which these disks are mounted: `mount` replaces the number of a mapped one by
    its name.
    """
    disks = list(disks)
    return {f"/dev/{disk.name}" for disk in disks} | {
        f"/dev/mapper/{_delay.name_of(disk.backing)}" for disk in disks if disk.name.startswith("dm-")
    }


def _unmount(place: Path, disk: str) -> None:
    if disk:
        unplug(place, disk)
    if not (disk and _quietly("umount", str(place))):
        _quietly("umount", "--lazy", str(place))
    # Namespaces made meanwhile hold copies of the mount: the kernel drops them with the folder.
    removal.remove_empty(place)


def unmount_without_a_program(place: Path) -> None:
    """Unmount lazily by a system call, for a control group that allows no further process; nothing if it
    isn't mounted.
    """
    if place.is_mount():
        ctypes.CDLL(None).umount2(os.fsencode(place), _MNT_DETACH)


def unplug(place: Path, source: str | Path) -> None:
    """Shut down the disk that is mounted here: the dirty pages of a discarded disk are not needed.

    Does nothing if the mount is on any other device, which would be somebody else's disk.
    """
    with contextlib.suppress(OSError):
        fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if os.fstat(fd).st_dev == os.stat(source).st_rdev:  # noqa: PTH116  # as os.fstat above
                fcntl.ioctl(fd, _SHUTDOWN, _NO_LOG_FLUSH)
        finally:
            os.close(fd)


def unplug_inside(folder: Path, pids: Iterable[int]) -> None:
    """Shut down the disks of a run that only its hosts see, given their holders."""
    ours = _paths(below(folder))
    for pid in pids:
        with contextlib.suppress(OSError):
            for place, source in mounts(mountinfo.read(Path(f"/proc/{pid}/mountinfo")), folder):
                if source in ours:
                    ours.discard(source)
                    unplug(Path(f"/proc/{pid}/root", place.relative_to("/")), source)


def _quietly(*argv: str) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired, FileNotFoundError):
        return subprocess.run(argv, capture_output=True, timeout=_TIMEOUT_S, check=False).returncode == 0
    return False


def moved(stat: str) -> tuple[int, int, float]:
    """Read bytes read, bytes written and the time with requests in flight from the text of
    /sys/block/NAME/stat.

    Sectors are of 512 bytes, `io_ticks` in ms. A request that waits for a control group's cap has not reached
    the device yet: https://docs.kernel.org/block/stat.html
    """
    numbers = stat.split()
    return int(numbers[2]) * 512, int(numbers[6]) * 512, int(numbers[9]) / 1e3
