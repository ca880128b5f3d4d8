"""A raw block device, without a file system, as the system under test.
https://docs.kernel.org/block/index.html

Each client has one: a named device that may be overwritten, or a sparse file as a loop device. Its content is
lost. A load uses it by its path; only loads for devices can (`kind = "device"`).
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Check, Host, Hosts, LendsDevices, Mounted
from perjoule.filesystems._on_clients import OnClients, OnOwnDevices
from perjoule.machine.each import each
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.programs import programs
from perjoule.model import OPTIONS, Json
from perjoule.model.errors import CampaignError, WorkloadError

EXAMPLE = '[[filesystem]]\nkind = "device"\nsize = "20 GiB"\n'

QUEUE = ("rotational", "logical_block_size", "physical_block_size", "write_cache", "scheduler")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class RawDevice(OnOwnDevices):
    """A raw block device for each client."""

    offers: ClassVar[Access] = "devices"

    def checks(self) -> tuple[Check, ...]:
        """Check for the tools that make loop devices and examine devices, and for the device."""
        return (
            *programs({"losetup": "mount", "lsblk": "util-linux", "wipefs": "util-linux"}),
            *super().checks(),
        )

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Have every client lend its device, which is returned with the hosts."""

        def lent(client: Host) -> Path:
            if not isinstance(client, LendsDevices):
                raise CampaignError(LendsDevices.lack, where=client.name, next=LendsDevices.advice)
            path = client.device("device", size_bytes=self.size_bytes, device=self.device)
            client.run(["mkdir", "-p", _folder(client)], timeout_s=SHORT_S)
            return path

        devices = dict(zip((client.name for client in hosts.clients), each(hosts.clients, lent), strict=True))
        numbers = {client.name: _identity(client, devices[client.name]) for client in hosts.clients}

        def lost(client: Host) -> str:
            path, number, identity_now = devices[client.name], numbers[client.name], "gone"
            with suppress(WorkloadError):
                identity_now = _identity(client, path)
            return (
                ""
                if identity_now == number
                else f"{path} is no longer the device that was lent ({number}, now {identity_now})"
            )

        facts = {client.name: self._facts(client, devices[client.name]) for client in hosts.clients}
        mounted = OnClients(hosts, {client.name: _folder(client) for client in hosts.clients}, facts, lost)
        mounted.devices = devices
        yield mounted

    def _facts(self, client: Host, path: Path) -> dict[str, Json]:
        device_facts: dict[str, Json] = {
            "device": self.device or "a sparse file as a loop device",
            "path": str(path),
        }
        for name, file in {
            "model": "device/model",
            "size_sectors_count": "size",
            **{q: f"queue/{q}" for q in QUEUE},
        }.items():
            with suppress(WorkloadError):  # a loop device has no model
                device_facts[name] = _attribute(client, path, file)
        return device_facts


def _folder(client: Host) -> Path:
    return client.directory / "device"  # for what a load must remember of the device


def _identity(client: Host, path: Path) -> str:
    """The device's number, and its disk sequence number if the kernel has one (since Linux 5.15)."""
    identity = _attribute(client, path, "dev")
    with suppress(WorkloadError):
        identity += f" {_attribute(client, path, 'diskseq')}"
    return identity


def _attribute(client: Host, path: Path, name: str) -> str:
    """Read what the kernel says of a block device, as "queue/scheduler". Raises WorkloadError."""
    return client.read(Path("/sys/block", path.name, name)).decode(errors="replace").strip()
