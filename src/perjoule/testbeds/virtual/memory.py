"""The memory of virtual hosts: where it can be capped, and the dirty pages of a host's disks, limited as its
own kernel would.

Without that limit, cgroup v1 kills writers: no page of a full group is clean, and nothing makes them wait for
a disk. https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-bdi
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from perjoule.model import Json
from perjoule.testbeds.virtual import cgroup
from perjoule.testbeds.virtual.topology import CatalogueHost

DIRTY_RATIO = 0.2  # of a host's memory: the default of vm.dirty_ratio
SYSFS = Path("/sys")


def lack(disk: str, sysfs: Path = SYSFS) -> str:
    """Return why hosts with such disks can't be capped here; "" if they can."""
    version, able = cgroup.controllers()
    if "memory" not in able:
        return "no memory controller"
    if version == 1 and disk == "directory":
        return 'cgroup v1, and disk = "directory" has no dirty pages of its own that could be limited'
    if version == 1 and not limits(disk, sysfs):
        return "cgroup v1, and a kernel before 6.2 that can't limit the dirty pages of a disk"
    return ""


def limits(disk: str, sysfs: Path = SYSFS) -> bool:
    """Return whether hosts have disks of their own, and the kernel can limit the dirty pages of a disk."""
    return disk != "directory" and any(sysfs.glob("class/bdi/*/strict_limit"))


def limit(device: str, memory_bytes: int, sysfs: Path = SYSFS) -> bool:
    """Limit the dirty pages of a disk ("7:0") on a host with this memory. Returns whether this kernel can."""
    limit_bytes = str(round(memory_bytes * DIRTY_RATIO))
    try:
        for folder in _folders(device, sysfs):
            (folder / "strict_limit").write_text("1")
            (folder / "max_bytes").write_text(limit_bytes)
            # Otherwise a new disk begins with a small share of that limit, and the kernel writes back at
            # once. It refuses more than all dirty pages that this machine may have; those disks then begin
            # small.
            with contextlib.suppress(OSError):
                (folder / "min_bytes").write_text(limit_bytes)
    except OSError:
        return False
    return True


def unlimit(device: str, sysfs: Path = SYSFS) -> None:
    """Undo it: a limit outlives the disk, because the kernel keeps loop devices."""
    for folder in _folders(device, sysfs):
        with contextlib.suppress(OSError):
            (folder / "strict_limit").write_text("0")
            (folder / "min_ratio").write_text("0")
            (folder / "max_ratio").write_text("100")


def _folders(device: str, sysfs: Path) -> Iterator[Path]:
    """Return where the kernel keeps a disk's limits: btrfs has its own."""
    yield sysfs / "class" / "bdi" / device
    for dev in sysfs.glob("fs/btrfs/*/devices/*/dev"):
        if dev.read_text().strip() == device:
            yield dev.parents[2] / "bdi"


def facts(host_places: Sequence[CatalogueHost], why_not: str, *, limited: bool) -> dict[str, Json]:
    """Return what a record says of the memory of hosts; `limited` says whether dirty pages of their disks
    are limited.
    """
    capped = {place.name: place.memory_bytes for place in host_places if place.memory_bytes is not None}
    if not capped:
        return {"memory_cap": f"none: {why_not or 'no host has memory in the catalogue'}"}
    dirty = (
        f"of a disk at most {DIRTY_RATIO:.0%} of it"
        if limited
        else "as the kernel limits those of a control group"
    )
    return {
        "memory_cap": f"page cache included, without swap; dirty pages {dirty}",
        "memory_cap_bytes": dict[str, Json](capped),
    }
