"""Pairs of disks with the same content, by md, LVM or ZFS, and what a machine needs for each.

https://docs.kernel.org/admin-guide/md.html, https://man7.org/linux/man-pages/man7/lvmraid.7.html,
https://openzfs.github.io/openzfs-docs/
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perjoule.drivers.protocols import Check
from perjoule.model import Disk
from perjoule.model.doubts import UNLIKE, Doubt
from perjoule.model.units import BYTES, exact_text


@dataclass(frozen=True)
class MirrorWay:
    """One way to make a mirror: the kernel module and the tool it needs."""

    module: str
    tool: str
    package: str


WAYS = {
    "md": MirrorWay("raid1", "mdadm", "mdadm"),
    "lvm": MirrorWay("dm_raid", "lvcreate", "lvm2"),
    "zfs": MirrorWay("zfs", "zpool", "zfsutils-linux zfs-test"),
}
STEAD = "xfs"  # the file system on a single disk without ZFS


def lacking(mirror: str, *, root: Path = Path("/")) -> str:
    """Return why this machine can't make such a mirror, as in "this kernel has no md"; "" if it can.

    Changes nothing.
    """
    method = WAYS[mirror]
    return lack_of(
        mirror, module=available(method.module, root=root), tool=shutil.which(method.tool) is not None
    )


def lack_of(mirror: str, *, module: bool, tool: bool) -> str:
    """Say why a machine without the kernel module or the tool can't make such a mirror; "" if it has both."""
    method = WAYS[mirror]
    if not module:
        return f"this kernel has no {method.module if mirror == 'lvm' else mirror}"
    return "" if tool else f"{method.tool} is not installed"


def possible(requested: Disk, lacking: Callable[[str], str] = lacking) -> tuple[Disk, Doubt | None]:
    """Return the mirror that a host can make, by what it lacks, and a doubt if it is less than requested."""
    if requested.mirror == "none" or not (lack := lacking(requested.mirror)):
        return requested, None
    made = single(requested)
    return made, doubt(lack, stead=made.kind if made.kind != requested.kind else "")


def single(requested: Disk) -> Disk:
    """Return the disk that is used instead of a mirror."""
    options: dict[str, Any] = {"kind": STEAD, "size": exact_text(requested.size_bytes, BYTES)}
    if requested.kind != "zfs":  # whose record size and further words mean nothing to another
        options |= {"kind": requested.kind, "make": requested.make, "options": requested.options}
        sizes = {"block": requested.block_bytes, "log_buffer": requested.log_buffer_bytes}
        options |= {name: exact_text(size, BYTES) for name, size in sizes.items() if size} | {
            "journal": requested.journal
        }
    return Disk(**options)


def doubt(lack: str, *, stead: str = "") -> Doubt:
    """Return the record's doubt that data are on a single disk; `stead` is the file system there instead
    of ZFS.
    """
    return UNLIKE.no_mirror(lack=lack, stead=stead)


def check(mirror: str) -> Check:
    """Report on it for `doctor`; campaigns run without it."""
    lack = lacking(mirror)
    detail = f"{lack}: each server would hold one copy of the data" if lack else "there"
    method = WAYS[mirror]
    return Check(
        f"mirror by {mirror}",
        not lack,
        detail,
        f"apt install {method.package}; modprobe {method.module}",
        needed=False,
    )


def loaded(module: str, *, root: Path = Path("/")) -> bool:
    """Return whether the kernel has the module, loaded or (as far as that shows) built in."""
    if (root / "sys/module" / module).is_dir():
        return True
    mdstat = root / "proc/mdstat"  # the only place that shows a raid1 that is built in
    return mdstat.is_file() and f"[{module}]" in mdstat.read_text()


def available(module: str, *, root: Path = Path("/")) -> bool:
    """Return whether the kernel has the module or can load it. Loads nothing."""
    return loaded(module, root=root) or _loadable(module, root)


def _loadable(module: str, root: Path) -> bool:
    folder = root / "lib/modules" / os.uname().release
    for index in (folder / "modules.builtin", folder / "modules.dep"):
        if index.is_file():
            names = (
                line.partition(":")[0].rpartition("/")[2].partition(".")[0]
                for line in index.read_text().splitlines()
            )
            if module in (name.replace("-", "_") for name in names):
                return True
    return False
