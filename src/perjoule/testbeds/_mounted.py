"""Whether what is mounted is the disk that we made: the whole of its file system, from that device."""

from collections.abc import Callable

from perjoule.machine.guarded import mountinfo
from perjoule.model.errors import MachineError


def require_mounted(listing: str, place: str, source: str, kind: str, number: Callable[[str], str]) -> None:
    """Check what is mounted on a place.

    Args:
        listing: mountinfo, as the mounting process's host has it.
        place: without links.
        source: the device that should be there, or the pool of ZFS.
        kind: of the file system.
        number: a function that returns the number of a device by its path, "8:16".

    Raises:
        MachineError: it is not this file system, not the whole of it, or from another device.
    """
    try:
        listed = reversed(mountinfo.parsed(listing))
    except ValueError as error:
        raise MachineError(str(error), where=place) from None
    mount = next((mounted for mounted in listed if mounted.place == place), None)
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
