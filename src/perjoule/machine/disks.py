"""Disks of hosts: what of them stays free, what making a local file system on one needs, and how one was
made.

https://man7.org/linux/man-pages/man8/xfs_info.8.html, https://man7.org/linux/man-pages/man8/dumpe2fs.8.html,
https://btrfs.readthedocs.io/en/latest/btrfs-inspect-internal.html
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from perjoule.drivers.protocols import Check, Host
from perjoule.machine.mounts import SHORT_S, findmnt, kernel_check
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import understood
from perjoule.model import Json
from perjoule.model.units import MIB

RESERVE_RATIO = 0.05  # of a disk, which stays free for the rest of its machine
RESERVE_BYTES = 2048 * MIB  # at least
PACKAGES = {"ext4": "e2fsprogs", "xfs": "xfsprogs", "btrfs": "btrfs-progs", "f2fs": "f2fs-tools"}


def reserve_bytes(total_bytes: int) -> int:
    """Return the space that stays free on a disk of this size for everything else on the machine."""
    return max(RESERVE_BYTES, round(RESERVE_RATIO * total_bytes))


def space_bytes(host: Host, folder: Path) -> tuple[int, int]:
    """Return the free bytes of the file system that a folder of a host is in, and all of them.

    Raises WorkloadError.
    """
    argv = ["df", "--block-size=1", "--output=avail,size", folder]
    columns = host.run(argv, timeout_s=SHORT_S).stdout.split()
    with understood(f"df on {host.name}"):
        free_bytes, total_bytes = (int(column) for column in columns[-2:])
        return free_bytes, total_bytes


def needs(kind: str, *, needed: bool = True) -> tuple[Check, ...]:
    """Check what a machine needs to make and mount a file system of this kind."""
    (tool,) = programs({f"mkfs.{kind}": PACKAGES[kind]})
    lack, fix = "neither built in nor available as a module", f"a kernel with CONFIG_{kind.upper()}_FS"
    return replace(tool, needed=needed), kernel_check(kind, kind, lack, fix, needed=needed)


def facts(host: Host, path: Path) -> dict[str, Json]:
    """Return how the local file system mounted there was made and mounted, by its own tools.

    Raises WorkloadError.
    """
    mount = findmnt(host, path)
    source, kind = str(mount["source"]), str(mount["type"])
    if kind not in TOLD:
        return mount
    argv, parse = TOLD[kind]
    return {
        **mount,
        **parse(host.run([*argv, source if kind in ("ext4", "btrfs") else path], timeout_s=SHORT_S).stdout),
    }


def ext4_facts(report: str) -> dict[str, Json]:
    """Parse `dumpe2fs -h`."""
    values = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in report.splitlines())
    }
    return {
        "block_bytes": int(values["Block size"]),
        "made": {
            "inode_bytes": int(values["Inode size"]),
            "journal": values.get("Total journal size", "none"),
            "features": values["Filesystem features"],
        },
    }


def xfs_facts(report: str) -> dict[str, Json]:
    """Parse `xfs_info`: its words, each under its section."""
    values: dict[str, Json] = {}
    section = ""
    for line in report.splitlines():
        head, _, assignments = line.partition("=")
        section = head.strip() or section
        values |= {
            f"{section} {name}": value.rstrip(",")
            for name, value in re.findall(r"(?<![\w-])([\w-]+)=\s*(\S+)", assignments)
        }
    return {"block_bytes": int(str(values["data bsize"])), "made": values}


def btrfs_facts(report: str) -> dict[str, Json]:
    """Parse `btrfs inspect-internal dump-super`."""
    values = {line.split()[0]: line.split()[1:] for line in report.splitlines() if len(line.split()) > 1}
    flags = re.findall(
        r"\b[A-Z]{2}[A-Z_0-9]+\b", report.partition("compat_ro_flags")[2].partition("cache_generation")[0]
    )
    return {
        "block_bytes": int(values["sectorsize"][0]),
        "made": {
            "node_bytes": int(values["nodesize"][0]),
            "checksum": values["csum_type"][-1].strip("()"),
            "features": " ".join(flags).lower(),
        },
    }


def f2fs_facts(report: str) -> dict[str, Json]:
    """Parse `stat --file-system --format=%S`: f2fs has no tool that reports on what is mounted."""
    return {"block_bytes": int(report)}


TOLD: dict[str, tuple[tuple[str, ...], Callable[[str], dict[str, Json]]]] = {
    "ext4": (("dumpe2fs", "-h"), ext4_facts),
    "xfs": (("xfs_info",), xfs_facts),
    "btrfs": (("btrfs", "inspect-internal", "dump-super"), btrfs_facts),
    "f2fs": (("stat", "--file-system", "--format=%S"), f2fs_facts),
}


def lack_of(path: Path) -> str:
    """Say what a disk lacks that takes nothing more: space, or inodes, of which each file needs one."""
    for place in (path, *path.parents):
        with suppress(OSError):
            state = os.statvfs(place)
            out_of_inodes = state.f_files and not state.f_favail and state.f_bavail
            return (
                "the disk has no inodes left, although it has space (`df -i`)"
                if out_of_inodes
                else "the disk is full"
            )
    return "the disk is full"
