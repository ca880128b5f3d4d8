"""A local file system as the system under test: no network, no servers.
https://docs.kernel.org/filesystems/index.html

Each client has its own on a separate disk, freshly made and mounted with noatime; ext4 without lazy
initialisation, so no background work remains during the measurement. Data are cached only in the kernel's
page cache, which the hosts drop.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ValidationInfo, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Hosts, Mounted
from perjoule.filesystems import _ageing
from perjoule.filesystems._journals import EXT4_JOURNAL, XFS_LOG_BUFFER
from perjoule.filesystems._on_clients import OnClients, OnOwnDevices
from perjoule.machine.disks import facts, needs
from perjoule.machine.each import each
from perjoule.machine.mounts import SHORT_S, is_mounted
from perjoule.machine.programs import programs
from perjoule.model import OPTIONS, Aged, Disk, is_to_run
from perjoule.model.disk_words import require_words
from perjoule.model.options import Journal, LogBufferBytes, require_journal
from perjoule.model.units import BYTES, Bytes, exact_text

EXAMPLE = '[[filesystem]]\nkind = "local"\ntype = "xfs"\nblock = "4 KiB"\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class LocalFileSystem(OnOwnDevices):
    """ext4, xfs, btrfs or f2fs on a separate disk of each client."""

    type: Literal["ext4", "xfs", "btrfs", "f2fs"]
    """The file system."""
    block_bytes: Bytes | None = None
    """Its block size (btrfs: sector size); mkfs's default if absent. Kernels mount blocks larger than a
    memory page (4 KiB on
    most machines) only on xfs, since Linux 6.12."""
    journal: Annotated[Journal | None, EXT4_JOURNAL] = None
    """What ext4 journals (mount option data): names and sizes once their data are on the disk ("ordered", its
    default), data as
    well ("journal"), or names and sizes at any time ("writeback": after a power loss, a file may contain old
    blocks).
    """
    log_buffer_bytes: Annotated[LogBufferBytes | None, XFS_LOG_BUFFER] = None
    """Size of each buffer of xfs's log, a power of two from 16 KiB to 256 KiB (mount option logbsize); the
    kernel's choice,
    usually 32 KiB, if absent."""
    make: tuple[str, ...] = ()
    """More arguments for mkfs, as in ["-d", "su=64k,sw=4"]; only words that tune
    (`perjoule docs permitted`).
    """
    options: tuple[str, ...] = ()
    """More mount options, as in ["commit=30"]; only those that tune (`perjoule docs permitted`)."""
    aged: Aged | None = None
    """What it has been through before the trials, as in {full = "90 %", overwrites = 2}; new if omitted."""

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        if is_to_run(info):
            require_words(self.type, self.make, self.options)
        require_journal(self.type, self.journal, self.log_buffer_bytes, self.options)
        return self

    def checks(self) -> tuple[Check, ...]:
        """Check for mkfs, kernel support, findmnt and the device; f2fs, which many kernels lack, is
        reported in any case.
        """
        optional = needs("f2fs", needed=False) if self.type != "f2fs" else ()
        tools = (*programs({"findmnt": "util-linux"}), *needs(self.type), *optional)
        return (*tools, *super().checks(), *_ageing.needs(self.aged))

    @property
    def disk(self) -> Disk:
        """Return the disk of each client."""
        sizes = {"size": self.size_bytes, "block": self.block_bytes, "log_buffer": self.log_buffer_bytes}
        options: dict[str, Any] = {
            name: exact_text(size, BYTES) for name, size in sizes.items() if size is not None
        }
        options |= {
            "kind": self.type,
            "device": self.device,
            "journal": self.journal,
            "make": self.make,
            "options": self.options,
        }
        return Disk(**options)

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Make and mount it on every client; it is removed with the hosts."""

        def made(client: Host) -> Path:
            place = client.disk("local", self.disk)
            client.run(["mkdir", place / "work"], timeout_s=SHORT_S)  # ext4 keeps its lost+found above
            return place

        places = dict(zip((client.name for client in hosts.clients), each(hosts.clients, made), strict=True))

        def lost(client: Host) -> str:
            return (
                ""
                if is_mounted(client, places[client.name])
                else f"{places[client.name]} is no longer mounted"
            )

        facts_of = {client.name: facts(client, places[client.name]) for client in hosts.clients}
        yield OnClients(hosts, {name: place / "work" for name, place in places.items()}, facts_of, lost)
