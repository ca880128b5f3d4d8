"""Names of a host's disks, where it has several: "beneath", "beneath.2", and so on; the first has the name alone."""

import re
from pathlib import Path

from perjoule.drivers.protocols.host import Host


class HasDisks:
    """A host that may have several disks over which data can be laid, each with a `disk_folder`."""

    disks_count: int = 1


def disks_count(host: Host) -> int:
    """Return over how many disks a host's data can be laid."""
    return host.disks_count if isinstance(host, HasDisks) else 1


def nth_name(name: str, number: int) -> str:
    """Return the name of a disk by its number, from 0."""
    return f"{name}.{number + 1}" if number else name


def disk_number(name: str) -> int:
    """Return the number, from 0, of a disk of this name."""
    match = re.search(r"\.(\d+)$", name)
    return int(match[1]) - 1 if match else 0


def disk_folder(directory: Path, number: int) -> Path:
    """Return where a host's disk is mounted whose first disk is mounted on its directory."""
    return directory.with_name(nth_name(directory.name, number))


def disk_folders(host: Host) -> tuple[Path, ...]:
    """Return where each of a host's disks is mounted."""
    return tuple(disk_folder(host.directory, number) for number in range(disks_count(host)))
