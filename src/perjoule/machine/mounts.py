"""What is mounted on hosts, and what their kernels can mount.
https://man7.org/linux/man-pages/man8/findmnt.8.html
"""

import os
import platform
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from perjoule.drivers.protocols import Check, Host
from perjoule.machine import guarded
from perjoule.machine.strangers import callers
from perjoule.machine.untrusted import json_from, understood
from perjoule.model import Json
from perjoule.model.errors import MachineError, WorkloadError
from perjoule.model.withheld import withheld

COLUMNS = {
    "target": "target",
    "source": "source",
    "fstype": "type",
    "options": "options",
    "size": "total_bytes",
    "avail": "available_bytes",
}
IN_MEMORY = ("tmpfs", "ramfs")  # types of file systems
_REMOTE = ("/dev/nbd", "/dev/rbd", "/dev/drbd")  # block devices whose data lie on other hosts
SHORT_S = 20.0  # for commands that only ask


def in_kernel(kind: str) -> bool:
    """Return whether this machine's kernel has a file system or a driver, built in or as a module, which
    its first use loads.
    """
    registered = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    loaded = kind in registered or Path("/sys/module", kind).is_dir()
    return loaded or any(Path("/lib/modules", platform.release()).rglob(f"{kind}.ko*"))


def can_mount(host: Host, kind: str) -> bool:
    """Return whether a host's kernel has a file system or a driver, or would load it; nothing is loaded to
    find out.
    """
    if f"\t{kind}\n".encode() in host.read(Path("/proc/filesystems")):
        return True
    with suppress(WorkloadError):  # a host without modprobe loads nothing
        return (
            host.run(["modprobe", "--dry-run", "--quiet", kind], timeout_s=SHORT_S, check=False).returncode
            == 0
        )
    return False


def require_mountable(clients: Iterable[Host], kind: str, lack: str, fix: str) -> None:
    """Check that the kernel of every client has a file system or a driver.

    Raises MachineError with the first that can't.
    """
    for client in clients:
        if not can_mount(client, kind):
            raise MachineError(lack, where=client.name, next=fix)


def kernel_check(name: str, kind: str, lack: str, fix: str, *, needed: bool = True) -> Check:
    """Report whether this machine's kernel has a file system or a driver."""
    able = in_kernel(kind)
    return Check(f"{name} in the kernel", able, "there" if able else lack, fix, needed, look=f"kernel {kind}")


def device_check(name: str, path: Path, fix: str) -> Check:
    """Report whether this machine's kernel has what connects it to a file system's own programs, by a path
    that shows it.
    """
    exists = path.exists()
    return Check(name, exists, str(path) if exists else f"no {path}", fix, look=f"path {path}")


def folder_check(path: Path, fix: str) -> Check:
    """Report whether this machine has a folder that this user can write to. Nothing is written to it."""
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
        writable = os.access(path, os.W_OK | os.X_OK)
        detail = (
            "writable"
            if is_folder and writable
            else "not writable by this user"
            if is_folder
            else "not a folder"
        )
    except OSError as error:
        detail = (error.strerror or str(error)).lower()
    except ValueError as error:  # a NUL in the path
        detail = str(error)
    return Check(f"folder {path}", detail == "writable", detail, fix, look=f"path {path}")


def guarded_check(path: Path, fix: str) -> Check:
    """Report whether another user of this machine could change, or lead elsewhere, a folder that root is to use."""
    why = ""
    if os.geteuid() == 0 and path.is_dir():
        try:
            guarded.require(path, trusted=callers())
        except OSError as error:
            why = f"{error.filename}: {error.strerror}"
    detail = f"root is not safe there: {why}" if why else "no other user meets root there"
    return Check(f"folder {path}, for root", not why, detail, fix, look=f"guarded {path}")


def fuse() -> Check:
    """Report whether this machine's kernel has FUSE."""
    return device_check("FUSE", Path("/dev/fuse"), "modprobe fuse")


def is_mounted(host: Host, path: Path) -> bool:
    """Return whether something is mounted there, as the host sees it."""
    return host.run(["mountpoint", "-q", path], timeout_s=SHORT_S, check=False).returncode == 0


def has_own_mounts(host: Host) -> bool:
    """Return whether a host has its own mount namespace, so a mount over a system path hides nothing of
    this machine.
    """
    namespace = host.run(["readlink", "/proc/self/ns/mnt"], timeout_s=SHORT_S).stdout.strip()
    return namespace != str(Path("/proc/self/ns/mnt").readlink())


def findmnt(host: Host, path: Path) -> dict[str, Json]:
    """Return the source, type, options and space of a folder's mount on a host. Raises WorkloadError."""
    argv = ["findmnt", "--json", "--bytes", "--target", path, "--output", ",".join(COLUMNS)]
    listing = host.run(argv, timeout_s=SHORT_S).stdout
    with understood(f"findmnt on {host.name}"):
        return mount_facts(listing)


def mount_facts(listing: str) -> dict[str, Json]:
    """Parse the same from the text of `findmnt --json --bytes --target`, without logins: records keep it."""
    mount = json_from(listing)["filesystems"][-1]
    facts: dict[str, Json] = {ours: mount.get(theirs) for theirs, ours in COLUMNS.items()}
    texts = {name: text for name in ("source", "options") if isinstance(text := facts[name], str)}
    return facts | {name: withheld(text) for name, text in texts.items()}


def unmounted(host: Host, path: Path, mount: Mapping[str, Json]) -> str:
    """Return what /etc/fstab of a host has for a folder, or for one above it, where `findmnt` finds another
    mount further up: "nas:/export, for /mnt/nas"; "" if all is mounted. Raises WorkloadError.
    """
    argv = ["findmnt", "--fstab", "--json", "--output", "SOURCE,TARGET"]
    listing = host.run(argv, timeout_s=SHORT_S, check=False).stdout  # it fails where fstab names nothing
    real = host.run(["readlink", "-f", "--", path], timeout_s=SHORT_S).stdout.removesuffix("\n")
    with understood(f"findmnt on {host.name}"):
        return awaited(listing, Path(real), Path(str(mount["target"]))) if listing else ""


def awaited(listing: str, path: Path, mounted: Path) -> str:
    """Find the same in the text of `findmnt --fstab --json`; `mounted` is where the mount of `path` begins."""
    entries = {
        Path(str(entry["target"])): str(entry["source"]) for entry in json_from(listing)["filesystems"]
    }
    for folder in (path, *path.parents):
        if folder == mounted:
            break
        if folder in entries:
            return f"{withheld(entries[folder])}, for {folder}"
    return ""


def is_local(mount: Mapping[str, Json]) -> bool:
    """Return whether a mount keeps its data on the host itself: on a disk, in memory, on a pool of disks."""
    source = str(mount["source"])
    return mount["type"] in (*IN_MEMORY, "zfs", "overlay") or (
        source.startswith("/dev/") and not source.startswith(_REMOTE)
    )


def mounted_below(host: Host, folder: Path) -> list[Path]:
    """Return where local file systems on disks are mounted below a folder of a host."""
    argv = [
        "findmnt",
        "--raw",
        "--noheadings",
        "--real",
        "--output",
        "TARGET",
        "--types",
        "ext4,xfs,btrfs,f2fs,zfs",
    ]
    listing = host.run(argv, timeout_s=SHORT_S, check=False).stdout  # it fails where none is mounted
    with understood(f"findmnt on {host.name}"):
        targets = [Path(line.encode().decode("unicode_escape")) for line in listing.splitlines() if line]
    return [target for target in targets if folder in target.parents]
