"""Disks of virtual hosts: sparse files with a file system of their own on a loop device,
https://docs.kernel.org/admin-guide/blockdev/loop.html"""

import contextlib
import fcntl
import os
import re
import struct
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from perjoule.machine import removal
from perjoule.machine.mirrors import WAYS, loaded
from perjoule.model import Disk
from perjoule.model.errors import MachineError
from perjoule.testbeds import _mirror
from perjoule.testbeds._format import fill, make_words, mount, tool

LEAST_BYTES = 320 * 1024**2  # mkfs.xfs takes no less than 300 MiB
_SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN of ext4 and xfs
_NO_LOG_FLUSH = struct.pack("=I", 2)
_TIMEOUT_S = 60.0
_GONE_S = 10.0
_MOUNTS = Path("/proc/self/mountinfo")
_DELETED = " (deleted)"  # as the kernel says it of a file behind a device


@dataclass(frozen=True)
class Loop:
    """A loop device and its file."""

    name: str
    device: str  # major:minor
    backing: Path
    deleted: bool = False  # its file has no name any more


def loops() -> tuple[Loop, ...]:
    """List the loop devices in use."""
    found: list[Loop] = []
    for folder in Path("/sys/block").glob("loop*"):
        with contextlib.suppress(OSError):
            backing = (folder / "loop" / "backing_file").read_text().rstrip("\n")
            path = Path(backing.removesuffix(_DELETED))
            found.append(Loop(folder.name, (folder / "dev").read_text().strip(), path, backing.endswith(_DELETED)))
    return tuple(found)


def make(image: Path, place: Path, wanted: Disk, *, lock: int, inside: Sequence[str] = ()) -> Loop:
    """Make a disk in a new file with a file system and mount it on an empty folder; `inside` enters a host's namespace.

    Raises:
        CampaignError: this file system does not support such blocks.
        MachineError: a tool or kernel support is missing or failed, with its message.
    """
    image.parent.mkdir(exist_ok=True)
    with image.open("xb") as file:
        file.truncate(wanted.size_bytes)
    fill(image, wanted, lock=lock)
    name = Path(tool("losetup", "--find", "--show", "--direct-io=on", image, lock=lock)).name
    try:
        mount(f"/dev/{name}", place, wanted, lock=lock, inside=inside)
    finally:
        tool("losetup", "--detach", f"/dev/{name}", lock=lock)  # from now on it goes with its mount
    return Loop(name, Path(f"/sys/block/{name}/dev").read_text().strip(), image)


def bare(image: Path, size_bytes: int, *, lock: int) -> Path:
    """Make a sparse file and return its loop device, without a file system; `remove` or a guard removes both.

    Raises:
        MachineError: losetup is missing or failed.
    """
    image.parent.mkdir(exist_ok=True)
    with image.open("xb") as file:
        file.truncate(size_bytes)
    return Path(tool("losetup", "--find", "--show", "--direct-io=on", image, lock=lock))


def make_mirror(image: Path, place: Path, wanted: Disk, *, lock: int, inside: Sequence[str] = ()) -> tuple[Loop, ...]:
    """Make two disks with the same content, like `make`; their files are next to `image`, which names the mirror.

    Raises:
        CampaignError: this file system does not support such blocks.
        MachineError: a tool or kernel support is missing or failed, with its message.
    """
    mirror = _mirror.Mirror(wanted.mirror, image.parent, image.stem)
    make_words(wanted)  # the impossible is reported before anything is touched
    if not loaded(module := WAYS[wanted.mirror].module):
        tool("modprobe", module, lock=lock)
    image.parent.mkdir(exist_ok=True)
    names: list[str] = []
    try:
        for leg in mirror.images:
            with leg.open("xb") as file:
                file.truncate(wanted.size_bytes)
            names.append(Path(tool("losetup", "--find", "--show", "--direct-io=on", leg, lock=lock)).name)
        for argv in mirror.make([f"/dev/{name}" for name in names], wanted):
            tool(*argv, lock=lock)
        if wanted.kind != "zfs":
            fill(Path(mirror.source), wanted, lock=lock)
        mount(mirror.source, place, wanted, lock=lock, inside=inside)
    except BaseException:
        with contextlib.suppress(MachineError):  # the first reason is the better one
            end(lambda: [loop for loop in below(image.parent) if loop.backing in mirror.images])
        raise
    for name in names:
        tool("losetup", "--detach", f"/dev/{name}", lock=lock)  # from now on it goes with its mirror
    devices = [Path(f"/sys/block/{name}/dev").read_text().strip() for name in names]
    return tuple(map(Loop, names, devices, mirror.images))


def mounts(mountinfo: str, folder: Path) -> list[tuple[Path, str]]:
    """Read from /proc/self/mountinfo the mounts below a folder: where, and from which source; later mounts first."""
    found: list[tuple[Path, str]] = []
    for line in mountinfo.splitlines():
        where, _, what = line.partition(" - ")
        place = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), where.split()[4]))
        if folder in place.parents:
            found.append((place, what.split()[1]))
    return found[::-1]


def remove(folder: Path) -> int:
    """Unmount and detach every disk whose image is below a run's folder, discarding its data. Returns how many.

    Raises:
        MachineError: something below the folder stays mounted; nothing may be deleted there.
    """
    ours = {f"/dev/{loop.name}" for loop in below(folder)}
    places = mounts(_MOUNTS.read_text(), folder)
    with ThreadPoolExecutor(8) as pool:
        for place, source in places:
            pool.submit(_unmount, place, source if source in ours else "")
    for loop in below(folder):  # a run that was killed before its disk was mounted
        _quietly("losetup", "--detach", f"/dev/{loop.name}")
    end(lambda: below(folder))
    if stuck := mounts(_MOUNTS.read_text(), folder):
        raise MachineError("can't be unmounted", where=str(stuck[0][0]), next="find out what uses it, then run `perjoule down`")
    return len(ours)


def end(left: Callable[[], list[Loop]]) -> None:
    """Wait until unmounted loop devices are gone, and end the mirrors on them. Raises MachineError."""
    deadline_s = time.monotonic() + _GONE_S
    while loops := left():  # the kernel takes namespaces down, and with them their mounts, in the background
        if time.monotonic() > deadline_s:
            raise MachineError("still has data being written back", where=str(loops[0].backing), next="run `perjoule down` again")
        for mirror in _mirror.behind(loop.backing for loop in loops):
            devices = [f"/dev/{loop.name}" for loop in loops if loop.backing in mirror.images]
            for device in devices:  # not afterwards: the number may be somebody else's by then
                _quietly("losetup", "--detach", device)
            _quietly(*mirror.end(devices))
        time.sleep(0.005)


def detach(loop: Loop) -> None:
    """Detach a loop device from its file, unless somebody else uses it by now."""
    if loop in loops():
        _quietly("losetup", "--detach", f"/dev/{loop.name}")


def below(folder: Path) -> list[Loop]:
    """List the loop devices whose image is below a folder."""
    return [loop for loop in loops() if folder in loop.backing.parents]


def _unmount(place: Path, disk: str) -> None:
    if disk:
        unplug(place, disk)
    if not (disk and _quietly("umount", str(place))):
        _quietly("umount", "--lazy", str(place))
    # Namespaces made meanwhile hold copies of the mount: the kernel drops them with the folder.
    removal.remove_empty(place)


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
    ours = {f"/dev/{loop.name}" for loop in below(folder)}
    for pid in pids:
        with contextlib.suppress(OSError):
            for place, source in mounts(Path(f"/proc/{pid}/mountinfo").read_text(), folder):
                if source in ours:
                    ours.discard(source)
                    unplug(Path(f"/proc/{pid}/root", place.relative_to("/")), source)


def _quietly(*argv: str) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired, FileNotFoundError):
        return subprocess.run(argv, capture_output=True, timeout=_TIMEOUT_S, check=False).returncode == 0
    return False


def moved(stat: str) -> tuple[int, int, float]:
    """Read bytes read, bytes written and the time with requests in flight from the text of /sys/block/NAME/stat.

    Sectors are of 512 bytes, `io_ticks` in ms. A request that waits for a control group's cap has not reached the device yet:
    https://docs.kernel.org/block/stat.html
    """
    words = stat.split()
    return int(words[2]) * 512, int(words[6]) * 512, int(words[9]) / 1e3
