"""BeeGFS 7 and 8: a management, metadata and storage servers, and the client in the kernel. https://www.beegfs.io,
https://doc.beegfs.io, https://github.com/ThinkParQ/beegfs

Servers run as user `nobody` and speak only to who has the secret of the deployment (connAuthFile). Who caches what:

- The client keeps file data in a few static buffers of 512 KiB until a file is closed ("buffered"), or in the kernel's page cache
  ("native"); its fsync reaches the servers' disks (tuneRemoteFSync).
- Servers keep data and metadata in their kernel's page cache alone.

The client is a kernel module that opens its sockets in the machine's own network, so hosts that share a kernel (virtual ones) can
run the servers but not mount them. Where no client can mount, the servers are brought up and tried with BeeGFS's own tool; then
the mount is refused.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Hosts, Mounted
from perjoule.filesystems._beneath import needs_beneath
from perjoule.filesystems._daemons import programs
from perjoule.filesystems._flows import explained
from perjoule.filesystems.beegfs import parse as words
from perjoule.filesystems.beegfs.client import FIX
from perjoule.filesystems.beegfs.cluster import Cluster, Wish
from perjoule.filesystems.beegfs.versions import ALL, MANAGEMENT, SERVERS, Series
from perjoule.model import OPTIONS, Amplification, Disk, Redundancy
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.units import Bytes, Seconds

EXAMPLE = '[[filesystem]]\nkind = "beegfs"\nchunk = "512 KiB"\n'

PREFIX = "PERJOULE_BEEGFS_PREFIX"  # of the environment, where the option is not set
PACKAGED = "/opt/beegfs/sbin"  # where packages of BeeGFS put the servers
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SOURCE = "https://doc.beegfs.io/latest/quick_start_guide/quick_start_guide.html"
LEAST_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class BeeGFS(FileSystem):
    """BeeGFS with its management on the management host."""

    roles: Literal["separate", "both"] = "separate"
    """"separate": data on the storage hosts, metadata on the metadata host alone; "both": both on all hosts with disks."""
    chunk_bytes: Bytes = 512 * 1024
    """How much of a file is on one target before the next one follows: a power of two, at least 64 KiB."""
    targets_count: Annotated[int, Field(ge=1, le=255)] = 4
    """How many targets a file is striped over (pairs of targets with `mirror`); over all, if there are fewer."""
    mirror: bool = False
    """Whether data are stored twice, on pairs of storage hosts (buddy mirror groups); with several metadata servers, so are
    metadata. BeeGFS requires a licence for mirrors beyond a trial period."""
    cache: Literal["buffered", "native"] = "buffered"
    """File data on clients: in a few small buffers, or in the kernel's page cache (tuneFileCacheType)."""
    beneath: Disk | None = None
    """A dedicated file system beneath each server's data and metadata, as in {kind = "xfs", block = "4 KiB"}; the host's own
    when absent."""
    prefix: str = ""
    """Folder with BeeGFS in its bin and sbin; "" takes PERJOULE_BEEGFS_PREFIX, then the PATH and where packages put it."""
    patience_s: Seconds = 60.0
    """How long each step of bring-up may take, at scale 1; slower testbeds get more."""

    def checks(self) -> tuple[Check, ...]:
        """The servers, the tool of their series, and the module; its absence leaves the servers, but no mount."""
        path, found = self.path, self._series()
        tool = found.tool if found else " or ".join(series.tool for series in ALL)
        servers = [_installed(name, path) for name in (MANAGEMENT, *SERVERS.values(), tool)]
        return (*servers, _module(), *programs({"setpriv": "util-linux"}), *needs_beneath(self.beneath))

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy, or two of a pair of hosts; servers pass a client's fsync on to their disks (tuneRemoteFSync)."""
        return Redundancy(2 if self.mirror else 1, acknowledged="on disk")

    def amplification(self, hosts: Hosts) -> Amplification:
        """The client writes to the primary of a pair, which passes the data on."""
        return explained(self.redundancy(hosts), by_client=False)

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up; healthy means that all targets are Online and Good and every client has written a file.

        Raises:
            MachineError: no client can mount it; said when the servers have been tried.
        """
        with self.serve(hosts) as cluster:
            cluster.attach()
            yield cluster

    @contextmanager
    def serve(self, hosts: Hosts) -> Generator[Cluster]:
        """Bring the servers up and nothing else: what can be done where no client can mount."""
        layout, series = self.layout(hosts), self._series()
        if series is None:
            tools = " nor ".join(series.tool for series in ALL)
            raise MachineError(f"neither {tools} is installed", where="beegfs", next=_install())
        patience_s = self.patience_s / hosts.scale
        cluster = Cluster(hosts, Wish(layout, series, self._hosts_path(), self.cache, self.beneath, patience_s))
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()

    def layout(self, hosts: Hosts) -> words.Layout:
        """Place the servers. Raises CampaignError when these hosts can't carry the configured layout."""
        storage = hosts.by_role("storage") if self.roles == "separate" else hosts.bricks
        if not storage:
            raise CampaignError("no host to store data on", where="beegfs", next="use a testbed with storage hosts")
        if self.chunk_bytes < LEAST_CHUNK_BYTES or self.chunk_bytes.bit_count() != 1:
            what = f"chunk = {self.chunk_bytes} B is not a power of two of 64 KiB at least"
            raise CampaignError(what, where="beegfs", next='set chunk to "64 KiB", "128 KiB", ...')
        if self.mirror and len(storage) % 2:
            what = f"mirror = true needs pairs of hosts, but data would be on {len(storage)}"
            other = "both" if self.roles == "separate" else "separate"
            raise CampaignError(what, where="beegfs", next=f'use an even number of storage hosts, or try roles = "{other}"')
        metadata = (hosts.metadata,) if self.roles == "separate" else storage
        return words.Layout(
            metadata=tuple(host.name for host in metadata),
            storage=tuple(host.name for host in storage),
            chunk_bytes=self.chunk_bytes,
            targets_count=self.targets_count,
            mirror=self.mirror,
        )

    def _prefix(self) -> str:
        return self.prefix or os.environ.get(PREFIX, "")

    @property
    def path(self) -> str:
        """Where this machine looks for BeeGFS, as a PATH."""
        prefix = self._prefix()
        return f"{prefix}/bin:{prefix}/sbin" if prefix else f"{os.environ.get('PATH', '')}:{SYSTEM}:{PACKAGED}"

    def _hosts_path(self) -> str:
        """Where hosts look for it, and for what starts it."""
        return f"{self.path}:{SYSTEM}" if self._prefix() else self.path

    def _series(self) -> Series | None:
        """The series that is installed, by its tool."""
        return next((series for series in ALL if shutil.which(series.tool, path=self.path)), None)


def _installed(name: str, path: str) -> Check:
    found = shutil.which(name, path=path)
    return Check(name, bool(found), found or "not found", "" if found else _install())


def _install() -> str:
    return f"install BeeGFS ({SOURCE}) and set {PREFIX} to its prefix; see docs/how-to/beegfs.md"


def _module() -> Check:
    """Check for the client's module without loading it."""
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    files = Path("/lib/modules", release).rglob("beegfs.ko*")
    there = "\tbeegfs\n" in Path("/proc/filesystems").read_text() or next(files, None) is not None
    detail = "there" if there else f"no module beegfs for {release}: servers can run, but not be mounted"
    return Check("BeeGFS in the kernel", there, detail, "" if there else FIX, needed=False)
