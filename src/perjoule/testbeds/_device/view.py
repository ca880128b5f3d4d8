"""A machine's reports about a block device, read but not judged: lsblk, wipefs, swaps, mounts, holders,
openers.

https://man7.org/linux/man-pages/man8/lsblk.8.html, https://man7.org/linux/man-pages/man8/wipefs.8.html,
https://docs.kernel.org/admin-guide/sysfs-rules.html. Anything unreadable is an error, never treated as empty.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import stat
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from perjoule.machine.guarded import mountinfo
from perjoule.machine.untrusted import json_from
from perjoule.model.errors import MachineError
from perjoule.testbeds._format import tool

# names that do not move to another disk at the next boot
STABLE = ("by-id", "by-path", "by-uuid", "by-partuuid")
COLUMNS = "NAME,KNAME,MAJ:MIN,TYPE,SIZE,RO,MOUNTPOINTS,FSTYPE,LABEL,MODEL,SERIAL"
# Prints `num_devices` of a superblock:
# https://btrfs.readthedocs.io/en/latest/dev/On-disk-format.html#superblock
BTRFS_COUNT = "od --address-radix=n --format=u8 --skip-bytes=65664 --read-bytes=8"
# Of devices that the kernel lends to other machines, by NVMe over Fabrics and by SCSI: who writes there holds nothing
# here, and no process has them open. https://docs.kernel.org/nvme/index.html, https://docs.kernel.org/target/tcmu-design.html
LENT = ("nvmet/subsystems/*/namespaces/*/device_path", "target/core/*/*/udev_path")
_CONFIGURED = "kernel/config"
_NAMELESS = re.compile(r"(eui|naa|uuid)\.[0-]*")  # as firmware without a worldwide name fills it in
_FIX = "nothing is touched before it can be read"
_REREAD_PARTITIONS = 0x125F  # BLKRRPART
# https://man7.org/linux/man-pages/man2/statx.2.html
_AT_FDCWD, _AT_STATX_DONT_SYNC, _STATX_TYPE, _STATX_BYTES = -100, 0x4000, 0x1, 256
_libc = ctypes.CDLL(None)


def _tool(argv: Sequence[str]) -> str:
    return tool(*argv, lock=2)  # it only reads, so no clean-up waits for it: stderr instead of a lifeline


class Held(ABC):
    """A device that is open exclusively: the kernel lets nobody else mount it, swap on it or make it part
    of something.
    """

    @abstractmethod
    def number(self) -> str:
        """Return the number of the device that is open: "8:16"."""

    @abstractmethod
    def reread(self) -> None:
        """Make the kernel drop partitions that are no longer there, as far as it does."""

    @abstractmethod
    def release(self) -> None:
        """Close it; does nothing the second time."""


class _Open(Held):
    """A device that we have open ourselves."""

    def __init__(self, node: Path) -> None:
        self._fd = os.open(node, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)

    def number(self) -> str:
        """Return its number."""
        return _number(os.fstat(self._fd))

    def reread(self) -> None:
        """Ask the kernel."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._fd, _REREAD_PARTITIONS)

    def release(self) -> None:
        """Close it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@dataclass(frozen=True)
class MachineView:
    """The paths and tools of a machine to read from; tests replace them."""

    links: Path = Path("/dev/disk")
    nodes: Path = Path("/dev")
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    ask: Callable[[Sequence[str]], str] = _tool

    @contextlib.contextmanager
    def collected(self, device: str) -> Generator["MachineView"]:
        """Collect the state of a device for the block; this machine is read when the block reads."""
        yield self

    def node(self, link: Path) -> Path | None:
        """Return the device to which a link leads; None if it leads to none."""
        real = link.resolve()
        return real if link.is_symlink() and real.is_block_device() else None

    def number(self, node: Path) -> str:
        """Return the number of a device by its node; "" if the node is not a device. Raises OSError."""
        status = node.stat()
        return _number(status) if stat.S_ISBLK(status.st_mode) else ""

    def real(self, path: str) -> str:
        """Return a path without links."""
        return os.path.realpath(path)

    def openers(self, numbers: set[str]) -> Iterator[str]:
        """Name other processes that have a device open.

        Raises PermissionError: only root can examine all of them.
        """
        for process in sorted(self.proc.glob("[0-9]*")):
            if process.name == str(os.getpid()):
                continue
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended
                if any(_opened(file, numbers) for file in (process / "fd").iterdir()):
                    yield f"{_read(process / 'comm')} ({process.name})"

    def hold(self, node: Path) -> Held:
        """Open a device exclusively. Raises OSError: somebody uses it."""
        return _Open(node)


HERE = MachineView()


@dataclass(frozen=True)
class Signature:
    """A signature that wipefs finds on a device."""

    device: str
    type: str
    label: str
    uuid: str
    devices_count: int = 1  # that it spans, as far as it is known

    def __str__(self) -> str:
        spanned = f"on {self.devices_count} devices" if self.devices_count > 1 else ""
        return " ".join(filter(None, [self.type, self.label and f'"{self.label}"', self.uuid, spanned]))


@dataclass(frozen=True)
class Part:
    """A device, or something built on it: a row of lsblk."""

    name: str  # of the kernel: "sda1"
    type: str  # "disk", "loop", "part", "raid1", "lvm", "crypt", "mpath"
    size: str
    read_only: bool
    places: tuple[str, ...]  # where it is mounted, "[SWAP]"
    label: str
    content: str  # the file system, as lsblk knows it
    children: tuple["Part", ...]
    model: str = ""
    serial: str = ""

    def all(self) -> Iterator["Part"]:
        """Return it and all that is built on it."""
        yield self
        for child in self.children:
            yield from child.all()

    def __str__(self) -> str:
        places = [f"on {place}" for place in self.places]
        parts = [self.name, self.type, self.size, self.content, self.label and f'"{self.label}"', *places]
        below = f" with {', '.join(map(str, self.children))}" if self.children else ""
        return " ".join(filter(None, parts)) + below


@dataclass(frozen=True)
class Seen:
    """A block device at one moment."""

    path: Path  # its node, links followed
    number: str  # "8:16"
    sequence: str  # the kernel's count of devices, which no other ever gets again; "" before Linux 5.15
    whole_disk: Part
    signatures: tuple[Signature, ...]  # of it and its partitions
    holders: tuple[str, ...]  # devices of the kernel made of it: md, dm, bcache, a loop device
    swaps: tuple[str, ...]
    mounts: tuple[str, ...]
    openers: tuple[str, ...]  # processes that have it open, but not this one
    lent: tuple[str, ...] = ()  # as what its kernel lends it to other machines
    twins: tuple[str, ...] = ()  # other devices of the kernel that are the same disk

    @property
    def identity(self) -> str:
        """What no other device ever has, if the kernel numbers devices."""
        return f"{self.number} {self.sequence}".strip()


def look(view: MachineView, node: Path) -> Seen:
    """Read everything about a device. Raises MachineError if any of it can't be read."""
    try:
        disk = part(
            json_from(view.ask(["lsblk", "--json", "--output", COLUMNS, str(node)]))["blockdevices"][0]
        )
        names = [item.name for item in disk.all() if item.type in (disk.type, "part")]
        number, sequence = identity(view, disk.name)
        signatures_found = json_from(
            view.ask(["wipefs", "--no-act", "--json", *(str(view.nodes / name) for name in names)])
        )
        signatures = tuple(_signature(view, item) for item in signatures_found["signatures"])
        numbers = {_read(view.sys / "class/block" / name / "dev"): name for name in names}
        paths = {str(view.nodes / name) for name in names}
        return Seen(
            path=node,
            number=number,
            sequence=sequence,
            whole_disk=disk,
            signatures=signatures,
            holders=tuple(_holders(view, names, paths)),
            swaps=tuple(path for path in _swaps(view) if path in paths),
            mounts=tuple(_mounts(view, set(numbers), paths)),
            openers=tuple(view.openers(set(numbers))),
            lent=tuple(_lent(view, paths)),
            twins=tuple(_twins(view, disk.name)),
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"what this machine says of it can't be read ({type(error).__name__}: {error})"
        raise MachineError(problem, where=str(node), next=_FIX) from error


def identity(view: MachineView, name: str) -> tuple[str, str]:
    """Read a device's number and its sequence number. Raises OSError: it is gone."""
    sequence = view.sys / "class/block" / name / "diskseq"
    return _read(view.sys / "class/block" / name / "dev"), _read(sequence) if sequence.exists() else ""


def part(row: Mapping[str, Any]) -> Part:
    """Parse a row of `lsblk --json`.

    Raises LookupError, TypeError: something is missing or has the wrong type.
    """
    if not isinstance(row["ro"], bool):
        raise TypeError(f"ro is {row['ro']!r}")
    places = cast("list[str | None]", row["mountpoints"])
    return Part(
        name=row["kname"],
        type=row["type"],
        size=row["size"],
        read_only=row["ro"],
        places=tuple(place for place in places if place),
        label=row["label"] or "",
        content=row["fstype"] or "",
        children=tuple(map(part, row.get("children", []))),
        model=(row["model"] or "").strip(),
        serial=(row["serial"] or "").strip(),
    )


def _signature(view: MachineView, fields_of: Mapping[str, str | None]) -> Signature:
    signature = Signature(
        fields_of["device"] or "", str(fields_of["type"]), fields_of["label"] or "", fields_of["uuid"] or ""
    )
    if signature.type != "btrfs":
        return signature
    return replace(
        signature, devices_count=int(view.ask([*BTRFS_COUNT.split(), str(view.nodes / signature.device)]))
    )


def _holders(view: MachineView, names: Sequence[str], paths: set[str]) -> Iterator[str]:
    for name in names:
        yield from (path.name for path in sorted((view.sys / "class/block" / name / "holders").iterdir()))
    for folder in sorted((view.sys / "block").glob("loop*/loop")):
        with contextlib.suppress(FileNotFoundError):  # it ended meanwhile
            if _read(folder / "backing_file") in paths:
                yield folder.parent.name


def _lent(view: MachineView, paths: set[str]) -> Iterator[str]:
    configured = view.sys / _CONFIGURED
    for file in sorted(path for pattern in LENT for path in configured.glob(pattern)):
        with contextlib.suppress(FileNotFoundError):  # it ended meanwhile
            if view.real(file.read_text().strip()) in paths:
                yield str(file.parent.relative_to(configured))


def _twins(view: MachineView, name: str) -> Iterator[str]:
    """Yield what else the kernel calls a disk that it reaches in two ways: who uses it so is not seen here."""
    ours, size = _marks(view, name), _attribute(view, name, "size")
    for folder in sorted((view.sys / "block").glob("*")):
        # slots of one reader of cards bear one name, and have other sizes
        alike = ours & _marks(view, folder.name) and _attribute(view, folder.name, "size") == size
        if folder.name != name and alike:
            yield folder.name
    yield from sorted(mark for mark in ours if mark.startswith("/dev/") and not mark.startswith("/dev/shm/"))


def _marks(view: MachineView, name: str) -> set[str]:
    """Return what tells a disk from all others: its worldwide name, the file behind it; none of a path of a
    multipath device, which is hidden.
    """
    if _attribute(view, name, "hidden") == "1":
        return set()
    texts = (_attribute(view, name, attribute) for attribute in ("wwid", "device/wwid", "loop/backing_file"))
    return {text for text in texts if text and not _NAMELESS.fullmatch(text)}


def _attribute(view: MachineView, name: str, attribute: str) -> str:
    with contextlib.suppress(OSError, ValueError):
        return _read(view.sys / "block" / name / attribute)
    return ""  # it has none


def _swaps(view: MachineView) -> Iterator[str]:
    lines = (view.proc / "swaps").read_text().splitlines()
    if not lines or not lines[0].startswith("Filename"):
        raise ValueError("/proc/swaps is not as the kernel writes it")
    for line in lines[1:]:
        yield view.real(mountinfo.unescaped(line.split()[0]))


def _mounts(view: MachineView, numbers: set[str], paths: set[str]) -> Iterator[str]:
    mounts = mountinfo.parsed(mountinfo.read(view.proc / "self/mountinfo"))
    if not mounts:
        raise ValueError("/proc/self/mountinfo is empty")
    for mount in mounts:
        # a user's may be a path in what they have mounted, which never answers
        source = view.real(mount.source) if mount.uid == 0 else mount.source
        if mount.number in numbers or source in paths:
            yield mount.place


def _opened(file: Path, numbers: set[str]) -> bool:
    """Whether an open file is one of these devices. No file system is asked: a user's own may never answer."""
    state = ctypes.create_string_buffer(_STATX_BYTES)
    if _libc.statx(_AT_FDCWD, os.fsencode(file), _AT_STATX_DONT_SYNC, _STATX_TYPE, state):
        return False  # closed meanwhile, or a file of a file system that is gone
    (mode,), (major, minor) = struct.unpack_from("=H", state, 28), struct.unpack_from("=II", state, 128)
    return stat.S_ISBLK(mode) and f"{major}:{minor}" in numbers


def _number(status: os.stat_result) -> str:
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def _read(path: Path) -> str:
    """Read a file of one line. Raises OSError, ValueError: it is empty."""
    text = path.read_text().strip()
    if not text:
        raise ValueError(f"{path} is empty")
    return text
