"""OrangeFS 2.9 and 2.10: servers for metadata and for data, and a FUSE or a kernel client. https://www.orangefs.org,
https://github.com/waltligon/orangefs

Servers run as user `nobody`; in a build without security keys (the usual one) they trust every client, here those of the hosts'
own network alone. Who caches what:

- pvfs2fuse keeps no file data, as it always mounts with direct_io; names and attributes it keeps for 5 s (see `attribute_cache`).
  The kernel's client keeps file data in the page cache since Linux 5.2.
- Servers keep data and metadata in their kernel's page cache alone.

pvfs2fuse serves one request at a time, of at most 128 KiB, and its fsync does nothing: what a load has "written" is in the page
caches of servers, on their disks only with `sync_data`.
"""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Host, Hosts, Mounted
from perjoule.filesystems._beneath import data_folder, needs_beneath
from perjoule.filesystems._daemons import fuse, programs
from perjoule.filesystems._flows import explained
from perjoule.filesystems.orangefs import parse as words
from perjoule.filesystems.orangefs.cluster import DEVICE, Cluster, folder
from perjoule.model import OPTIONS, Amplification, Disk, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.units import Bytes, Seconds

EXAMPLE = '[[filesystem]]\nkind = "orangefs"\nstripe = "64 KiB"\n'

PREFIX = "PERJOULE_ORANGEFS_PREFIX"  # of the environment, where the option is not set


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class OrangeFS(FileSystem):
    """OrangeFS on the hosts of a testbed."""

    roles: Literal["separate", "both"] = "separate"
    """"separate": data on the storage hosts, metadata on the metadata host alone; "both": both on all hosts with disks."""
    stripe_bytes: Bytes = 64 * 1024
    """How much of a file is on one server before the next one follows (strip_size)."""
    distribution: Literal["simple_stripe", "twod_stripe", "basic_dist"] = "simple_stripe"
    """How files are spread: round robin over all data servers, in two dimensions over groups of them, or each file on one."""
    client: Literal["fuse", "kernel"] = "fuse"
    """"fuse": pvfs2fuse with big_writes; "kernel": the module orangefs with pvfs2-client-core, one client to a kernel."""
    direct: bool | None = None
    """Whether the mount bypasses the client's page cache (direct_io). pvfs2fuse always does; the kernel client has no such
    mount option: there a workload opens its files with direct I/O. If omitted, the client's default applies."""
    attribute_cache: bool = True
    """Whether clients cache names and attributes for 5 s, the default of pvfs2fuse. Without it, every request asks the metadata
    server first, but size changes by another client are visible at once."""
    trove: Literal["alt-aio", "directio"] = "alt-aio"
    """How servers do their I/O (TroveMethod): through their page cache with threads, or bypassing it."""
    sync_data: bool = False
    """Whether servers fsync data before they acknowledge a write (TroveSyncData)."""
    prefix: str = ""
    """Folder that OrangeFS was installed into (`configure --prefix`); "" takes PERJOULE_ORANGEFS_PREFIX, then the PATH."""
    beneath: Disk | None = None
    """A dedicated file system beneath the data of each data server, as in {kind = "xfs", block = "4 KiB"}; the host's own disk if
    omitted. Metadata are on the latter."""
    patience_s: Seconds = 60.0
    """How long each step of bring-up may take, at scale 1; slower testbeds get more."""

    def checks(self) -> tuple[Check, ...]:
        """The servers, the tools and the client; no distribution has packages of OrangeFS."""
        needed = [*words.PROGRAMS, words.CLIENTS[self.client]]
        client = fuse() if self.client == "fuse" else _kernel_client()
        installed = (_installed(name, self._prefix()) for name in needed)
        return (*installed, client, *programs({"setpriv": "util-linux"}), *needs_beneath(self.beneath))

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy. The fsync of pvfs2fuse does nothing, so that data may be in the servers' memory alone; the kernel's works."""
        durable = self.client == "kernel" or self.sync_data or self.trove == "directio"
        return Redundancy(acknowledged="on disk" if durable else "in memory")

    def amplification(self, hosts: Hosts) -> Amplification:
        """Clients spread one copy over the data servers."""
        return explained(self.redundancy(hosts), by_client=True)

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up; healthy means that all servers answer and every client has written a file."""
        cluster = Cluster(
            hosts, self.layout(hosts), prefix=self._prefix(), beneath=self.beneath, patience_s=self.patience_s / hosts.scale
        )
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()

    def _prefix(self) -> str:
        return self.prefix or os.environ.get(PREFIX, "")

    def layout(self, hosts: Hosts) -> words.Layout:
        """Place the servers. Raises CampaignError when these hosts or clients can't carry the configured layout."""
        if self.direct not in (None, self.client == "fuse"):
            mend = "remove it: pvfs2fuse always mounts with direct_io"
            if self.client == "kernel":
                mend = "remove it, and let the workload open its files with direct I/O"
            what = f'direct = {str(self.direct).lower()} can\'t be with client = "{self.client}"'
            raise CampaignError(what, where="orangefs", next=mend)
        data = hosts.by_role("storage") if self.roles == "separate" else hosts.bricks
        if not data:
            raise CampaignError("no host to store data on", where="orangefs", next="use a testbed with storage hosts")
        metadata = (hosts.metadata,) if self.roles == "separate" else data

        def roles(name: str) -> tuple[words.Role, ...]:
            keeps: dict[words.Role, bool] = {"metadata": name in names["metadata"], "data": name in names["data"]}
            return tuple(role for role, kept in keeps.items() if kept)

        def stores(host: Host) -> Path | None:
            return data_folder(host, "orangefs", self.beneath) if self.beneath and host in data else None

        names = {"metadata": {host.name for host in metadata}, "data": {host.name for host in data}}
        servers = {host.name: host for host in (*metadata, *data)}.values()
        return words.Layout(
            servers=tuple(
                words.Server(host.name, host.address, folder(host), roles(host.name), stores(host)) for host in servers
            ),
            distribution=self.distribution,
            strip_bytes=None if self.distribution == "basic_dist" else self.stripe_bytes,
            trove=self.trove,
            sync_data=self.sync_data,
            client=self.client,
            attribute_cache=self.attribute_cache,
        )


def _installed(name: str, prefix: str) -> Check:
    program = words.program(name, prefix)
    path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin:/sbin")
    if path:
        return Check(name, True, path)
    where = f"not in {Path(program).parent}" if prefix else "not on the PATH"
    fix = f"install OrangeFS 2.9.8 or 2.10 and set {PREFIX} to its prefix; see docs/how-to/orangefs.md"
    return Check(name, False, where, fix)


def _kernel_client() -> Check:
    found = DEVICE.exists()
    return Check("OrangeFS in the kernel", found, str(DEVICE) if found else f"no {DEVICE}", "" if found else "modprobe orangefs")
