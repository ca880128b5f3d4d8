"""File systems on the clients themselves, without daemons of ours."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Ages, Check, FileSystem, Host, Hosts, Mounted, OfOthers
from perjoule.filesystems import _ageing
from perjoule.filesystems._ageing import Ageing
from perjoule.machine.each import each
from perjoule.machine.mounts import device_check
from perjoule.model import OPTIONS, Aged, Json, Redundancy
from perjoule.model.errors import MountLost
from perjoule.model.units import Bytes


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class OnOwnDevices(FileSystem):
    """What each client has on a device of its own."""

    devices_at: ClassVar[str] = "client"

    size_bytes: Bytes = 4 * 1024**3
    """Size of the sparse file that stands in for a device; has no effect on a named one."""
    device: str = ""
    """A whole block device by its stable id (/dev/disk/by-id/...), instead of a file; only on real hosts, and
    only if `overwrite`
    above the tables lists it and you confirm it."""

    def checks(self) -> tuple[Check, ...]:
        """Check for the device that is named."""
        fix = f"`ls -l {Path(self.device).parent}` lists what is there; correct device in the campaign"
        return (device_check(f"device {self.device}", Path(self.device), fix),) if self.device else ()

    def made_bytes(self, hosts: Hosts) -> int:
        """Return the size of the files that stand for devices, of all clients."""
        return 0 if self.device else self.size_bytes * len(hosts.clients)

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


class OnClients(Mounted, Ages, OfOthers):
    """A file system without daemons of ours, and without caches except the kernel's page cache, which the
    hosts drop.
    """

    def __init__(
        self,
        hosts: Hosts,
        directories: Mapping[str, Path],
        facts: Mapping[str, Json],
        lost: Callable[[Host], str],
    ) -> None:
        self.directories, self.facts, self.logs, self.data_hosts = directories, facts, (), tuple(directories)
        self.sharing: tuple[str, ...] = (hosts.clients[0].name,)
        self._scale = hosts.scale
        # which says what of it a client has lost; "" is nothing
        self._clients, self._lost = hosts.clients, lost

    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the clients that share the first one's folder, if data lie on clients; what a mount leads
        to is unknown here.
        """
        return self.sharing if self.data_hosts else ()

    def drop_caches(self) -> None:
        """Do nothing."""

    def age(self, target: Aged) -> Mapping[str, Json]:
        """Age that of each client; counts and bytes are those of all, shares those of the fullest."""

        def age_client(client: Host) -> Mapping[str, Json]:
            return Ageing(target, [(client, self.directories[client.name])], self._scale, late_s=0.0).run()

        return _ageing.together(each(self._clients, age_client))

    def alive(self) -> None:
        """Check that every client still has it. Raises TransientError."""
        for client, loss in zip(self._clients, each(self._clients, self._lost), strict=True):
            if loss:
                raise MountLost(loss, where=client.name)
