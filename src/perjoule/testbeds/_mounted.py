"""Whether what is mounted is the disk that we made: the whole of its file system, from that device.
https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html"""

import re
from collections.abc import Callable
from typing import NamedTuple

from perjoule.model.errors import MachineError


class Mount(NamedTuple):
    """A line of mountinfo."""

    number: str  # of its device, "8:16"; one of no device on btrfs and ZFS
    root: str  # what of the file system is seen there
    place: str
    kind: str
    source: str


def mounts(mountinfo: str) -> list[Mount]:
    """Parse /proc/PID/mountinfo; the last one of a place is the one that is seen."""
    parsed: list[Mount] = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        _, _, number, root, place, *_ = map(_plain, before.split(" "))
        kind, source, *_ = map(_plain, after.split(" "))
        parsed.append(Mount(number, root, place, kind, source))
    return parsed


def require_mounted(mountinfo: str, place: str, source: str, kind: str, number: Callable[[str], str]) -> None:
    """Check what is mounted on a place.

    Args:
        mountinfo: as the mounting process's host has it.
        place: without links.
        source: the device that should be there, or the pool of ZFS.
        kind: of the file system.
        number: a function that returns the number of a device by its path, "8:16".

    Raises:
        MachineError: it is not this file system, not the whole of it, or from another device.
    """
    mount = next((mounted for mounted in reversed(mounts(mountinfo)) if mounted.place == place), None)
    advice = "see `findmnt`; perjoule has unmounted it"
    if mount is None or mount.kind != kind:
        raise MachineError(
            f"{mount.kind if mount else 'nothing'} is mounted, not {kind}", where=place, next=advice
        )
    if mount.root != "/":
        raise MachineError(
            f"what is mounted is not the whole file system, only {mount.root}", where=place, next=advice
        )
    if kind == "zfs":
        same = mount.source == source
    else:
        same = number(mount.source) == number(source) and (kind == "btrfs" or mount.number == number(source))
    if not same:
        raise MachineError(
            f"{mount.source} ({mount.number}) is mounted, not {source}", where=place, next=advice
        )


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
