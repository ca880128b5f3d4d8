"""Local file systems on hosts, beneath a server's data or measured themselves: made, and queried for how they were made.

https://man7.org/linux/man-pages/man8/xfs_info.8.html, https://man7.org/linux/man-pages/man8/dumpe2fs.8.html,
https://btrfs.readthedocs.io/en/latest/btrfs-inspect-internal.html
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from perjoule.drivers.protocols import Check, Host
from perjoule.filesystems._daemons import programs
from perjoule.filesystems._mounts import SHORT_S, findmnt, in_kernel, kernel_check
from perjoule.machine.mirrors import STEAD, WAYS, check
from perjoule.model import Disk, Json

PACKAGES = {"ext4": "e2fsprogs", "xfs": "xfsprogs", "btrfs": "btrfs-progs", "f2fs": "f2fs-tools"}


def needs(kind: str, *, needed: bool = True) -> tuple[Check, ...]:
    """Check what a machine needs to make and mount a file system of this kind."""
    (tool,) = programs({f"mkfs.{kind}": PACKAGES[kind]})
    lack, fix = "neither built in nor available as a module", f"a kernel with CONFIG_{kind.upper()}_FS"
    kernel = kernel_check(kind, in_kernel(kind), lack, fix, needed=needed, look=f"kernel {kind}")
    return replace(tool, needed=needed), kernel


def needs_beneath(beneath: Disk | None) -> tuple[Check, ...]:
    """The same for the file system beneath a server's data, if any, and for a mirror, which is optional."""
    if beneath is None:
        return tuple(map(check, WAYS))  # what could lie beneath, for `doctor`
    mirror = (check(beneath.mirror),) if beneath.mirror != "none" else ()
    if beneath.kind == "zfs" and all(one.ok for one in mirror):
        return mirror
    made = needs(STEAD if beneath.kind == "zfs" else beneath.kind)
    return (*(replace(one, on="bricks") for one in made), *mirror)


def beneath_facts(host: Host, beneath: Disk | None) -> dict[str, Json]:
    """Return the file system beneath, as facts of a deployment; empty without one."""
    if beneath is None:
        return {}
    mirror = beneath.mirror if host.copies_count > 1 else "none"
    return {"beneath": {**facts(host, host.directory / "beneath"), "mirror": mirror}}


def facts(host: Host, path: Path) -> dict[str, Json]:
    """Return how the local file system mounted there was made and mounted, by its own tools. Raises WorkloadError."""
    mount = findmnt(host, path)
    source, kind = str(mount["source"]), str(mount["type"])
    if kind not in TOLD:
        return mount
    argv, parse = TOLD[kind]
    return {**mount, **parse(host.run([*argv, source if kind in ("ext4", "btrfs") else path], timeout_s=SHORT_S).stdout)}


def ext4_facts(said: str) -> dict[str, Json]:
    """Parse `dumpe2fs -h`."""
    words = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in said.splitlines())}
    return {
        "block_bytes": int(words["Block size"]),
        "made": {
            "inode_bytes": int(words["Inode size"]),
            "journal": words.get("Total journal size", "none"),
            "features": words["Filesystem features"],
        },
    }


def xfs_facts(said: str) -> dict[str, Json]:
    """Parse `xfs_info`: its words, each under its section."""
    found: dict[str, Json] = {}
    section = ""
    for line in said.splitlines():
        head, _, rest = line.partition("=")
        section = head.strip() or section
        found |= {f"{section} {name}": value.rstrip(",") for name, value in re.findall(r"([\w-]+)=\s*(\S+)", rest)}
    return {"block_bytes": int(str(found["data bsize"])), "made": found}


def btrfs_facts(said: str) -> dict[str, Json]:
    """Parse `btrfs inspect-internal dump-super`."""
    words = {line.split()[0]: line.split()[1:] for line in said.splitlines() if len(line.split()) > 1}
    flags = re.findall(r"\b[A-Z]{2,}[A-Z_0-9]+\b", said.partition("compat_ro_flags")[2].partition("cache_generation")[0])
    return {
        "block_bytes": int(words["sectorsize"][0]),
        "made": {
            "node_bytes": int(words["nodesize"][0]),
            "checksum": words["csum_type"][-1].strip("()"),
            "features": " ".join(flags).lower(),
        },
    }


def f2fs_facts(said: str) -> dict[str, Json]:
    """Parse `stat --file-system --format=%S`: f2fs has no tool that reports on what is mounted."""
    return {"block_bytes": int(said)}


TOLD: dict[str, tuple[tuple[str, ...], Callable[[str], dict[str, Json]]]] = {
    "ext4": (("dumpe2fs", "-h"), ext4_facts),
    "xfs": (("xfs_info",), xfs_facts),
    "btrfs": (("btrfs", "inspect-internal", "dump-super"), btrfs_facts),
    "f2fs": (("stat", "--file-system", "--format=%S"), f2fs_facts),
}
