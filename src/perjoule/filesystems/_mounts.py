"""A host's report on a mount, and file systems on the clients themselves. https://man7.org/linux/man-pages/man8/findmnt.8.html"""

import platform
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Host, Hosts, Mounted
from perjoule.machine.untrusted import json_from
from perjoule.model import OPTIONS, Json, Redundancy
from perjoule.model.errors import MachineError, TransientError, WorkloadError
from perjoule.model.units import Bytes

COLUMNS = {
    "target": "target",
    "source": "source",
    "fstype": "type",
    "options": "options",
    "size": "total_bytes",
    "avail": "available_bytes",
}
_REMOTE = ("/dev/nbd", "/dev/rbd", "/dev/drbd")  # block devices whose data lie on other hosts
SHORT_S = 20.0  # for commands that only ask


def in_kernel(kind: str) -> bool:
    """Return whether this machine's kernel has a file system, built in or as a module, which mounting it loads."""
    registered = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    return kind in registered or any(Path("/lib/modules", platform.release()).rglob(f"{kind}.ko*"))


def can_mount(host: Host, kind: str) -> bool:
    """Return whether a host's kernel has a file system, or would load it for a mount; nothing is loaded to find out."""
    if f"\t{kind}\n".encode() in host.read(Path("/proc/filesystems")):
        return True
    with suppress(WorkloadError):  # a host without modprobe loads nothing
        return host.run(["modprobe", "--dry-run", "--quiet", kind], timeout_s=SHORT_S, check=False).returncode == 0
    return False


def require_mountable(clients: Iterable[Host], kind: str, lack: str, fix: str) -> None:
    """Check that the kernel of every client can mount a file system. Raises MachineError with the first that can't."""
    for client in clients:
        if not can_mount(client, kind):
            raise MachineError(lack, where=client.name, next=fix)


def kernel_check(name: str, able: bool, lack: str, fix: str, *, needed: bool = True, look: str = "") -> Check:
    """Report whether this machine's kernel has what a client needs there; `look` is a Check's."""
    return Check(f"{name} in the kernel", able, "there" if able else lack, fix, needed, look=look)


def is_mounted(host: Host, path: Path) -> bool:
    """Return whether something is mounted there, as the host sees it."""
    return host.run(["mountpoint", "-q", path], timeout_s=SHORT_S, check=False).returncode == 0


def has_own_mounts(host: Host) -> bool:
    """Return whether a host has its own mount namespace, so a mount over a system path hides nothing of this machine."""
    there = host.run(["readlink", "/proc/self/ns/mnt"], timeout_s=SHORT_S).stdout.strip()
    return there != str(Path("/proc/self/ns/mnt").readlink())


def findmnt(host: Host, path: Path) -> dict[str, Json]:
    """Return the source, type, options and space of a folder's mount on a host. Raises WorkloadError."""
    argv = ["findmnt", "--json", "--bytes", "--target", path, "--output", ",".join(COLUMNS)]
    return mount_facts(host.run(argv, timeout_s=SHORT_S).stdout)


def mount_facts(said: str) -> dict[str, Json]:
    """Parse the same from the text of `findmnt --json --bytes --target`."""
    found = json_from(said)["filesystems"][-1]
    return {ours: found.get(theirs) for theirs, ours in COLUMNS.items()}


def is_local(mount: Mapping[str, Json]) -> bool:
    """Return whether a mount keeps its data on the host itself: on a disk, in memory, on a pool of disks."""
    source = str(mount["source"])
    return mount["type"] in ("tmpfs", "ramfs", "zfs") or (source.startswith("/dev/") and not source.startswith(_REMOTE))


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class OnOwnDevices(FileSystem):
    """What each client has on a device of its own."""

    size_bytes: Bytes = 4 * 1024**3
    """Size of the sparse file that stands in for a device; has no effect on a named one."""
    device: str = ""
    """A whole block device by its stable id (/dev/disk/by-id/...), instead of a file; only on real hosts, and only if `overwrite`
    above the tables lists it and you confirm it."""

    def folder(self, hosts: Path | None) -> Path | None:
        """The hosts' folder, unless a device is named."""
        return None if self.device else hosts

    @property
    def devices(self) -> tuple[str, ...]:
        """The one that is named."""
        return (self.device,) if self.device else ()

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy on the client's own device."""
        return Redundancy(acknowledged="on disk")


class OnClients(Mounted):
    """A file system without daemons of ours, and without caches except the kernel's page cache, which the hosts drop."""

    def __init__(
        self, hosts: Hosts, directories: Mapping[str, Path], facts: Mapping[str, Json], lost: Callable[[Host], str]
    ) -> None:
        self.directories, self.facts, self.logs, self.data_hosts = directories, facts, (), tuple(directories)
        self._clients, self._lost = hosts.clients, lost  # which says what of it a client has lost; "" is nothing

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the client, if data lie on clients; what else is behind a mount is unknown here."""
        return (self._clients[0].name,) if self.data_hosts else ()

    def drop_caches(self) -> None:
        """Do nothing."""

    def alive(self) -> None:
        """Check that every client still has it. Raises TransientError."""
        for client in self._clients:
            if words := self._lost(client):
                raise TransientError(words, where=client.name)
