"""What `perjoule measure` measures: a folder, or a block device by its stable ID."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from perjoule.campaign.making.first import DataPlace, clients_of
from perjoule.cli.terminal.consent import confirmed
from perjoule.machine.mounts import folder_check
from perjoule.model import Campaign, Permit
from perjoule.model.errors import CampaignError, MachineError

DISKS = Path("/dev/disk")
STABLE = ("by-id", "by-path", "by-uuid", "by-partuuid")  # where names stay those of one disk


def place_of(path: str, overwrite: str, on: str | None = None) -> DataPlace:
    """Return the folder or device of a path; a device is not opened.

    Args:
        path: as it was typed.
        overwrite: what --overwrite names, "" without it.
        on: hosts with that folder, which load it; this machine by default.

    Raises:
        CampaignError: no path, a device without its stable ID, or --overwrite names something else.
        MachineError: it is neither, a folder that is not writable, or a device and this user is not root.
    """
    if not path:
        raise CampaignError("the path is empty", where="PATH", next="name a folder, as in /mnt/nas")
    absolute = Path(path).absolute()
    if on is not None:
        if overwrite or not Path(path).is_absolute():
            raise CampaignError(
                f"{path} is no folder of other hosts"
                if not overwrite
                else "--overwrite is of this machine's disks",
                where="--on",
                next="write the whole path of a folder that all of them mount, as in /mnt/nas",
            )
        return DataPlace(str(absolute), clients=clients_of(on))
    if not _is(absolute, stat.S_ISBLK):
        if overwrite:
            raise CampaignError(
                f"{path} is no block device, and only a device is overwritten",
                where="--overwrite",
                next="leave it out, or name the disk by its ID, as in /dev/disk/by-id/usb-...",
            )
        return DataPlace(str(_folder(absolute)))
    if absolute.parent not in [DISKS / folder for folder in STABLE]:
        ids = next(_ids(absolute), None)
        raise CampaignError(
            f"{path} may be another disk after a reboot",
            where="PATH",
            next=f"name it by its ID: {ids}"
            if ids
            else f"no ID below {DISKS} leads to it: name another disk",
        )
    if overwrite and overwrite not in (str(absolute), absolute.name):
        raise CampaignError(
            f"--overwrite {overwrite} is not the device of PATH",
            where=str(absolute),
            next=f"write --overwrite {absolute.name} if all data on it may be lost",
        )
    if os.geteuid() != 0:
        raise MachineError(
            "only root can examine and overwrite a device", where=str(absolute), next="run it with sudo"
        )
    return DataPlace(str(absolute), is_device=True)


def permitted(draft: Campaign, place: DataPlace, overwrite: str) -> tuple[Permit, ...]:
    """Show what would be lost with a device, and have the user confirm it; () of a folder.

    Raises:
        CampaignError: it can't be overwritten, or was not confirmed.
        MachineError: it can't be examined.
    """
    if not place.is_device:
        return ()
    try:
        return confirmed(draft, draft.trials, [place.path] if overwrite else []).confirmed
    except CampaignError as error:
        if "signature" not in error.next:  # no campaign can list it yet
            raise
        erase = f"if it is not needed, erase it: wipefs --all {place.path}"
        raise CampaignError(error.what, where=error.where, next=erase) from None


def _folder(folder: Path) -> Path:
    fix = "name a folder that this user can write to, as the one where the NAS is mounted"
    if _is(folder, stat.S_ISCHR) or _is(folder, stat.S_ISREG):
        fix = "name a folder, or a disk by its ID, as in /dev/disk/by-id/usb-..."
    check = folder_check(folder, fix)
    if not check.ok:
        raise MachineError(check.detail, where=str(folder), next=check.fix)
    return folder


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.stat().st_mode)
    except (OSError, ValueError):  # a NUL in the path
        return False


def _ids(node: Path) -> Iterator[Path]:
    """Find the stable IDs of a device, those of its maker first."""
    number = node.stat().st_rdev
    for folder in STABLE:
        yield from (
            link
            for link in sorted((DISKS / folder).glob("*"))
            if _is(link, stat.S_ISBLK) and link.stat().st_rdev == number
        )
