"""GlusterFS: bricks without separate metadata servers, and a FUSE client. https://docs.gluster.org

glusterd and its bricks must be root (they own trusted.* attributes), in a mount namespace of each host's own, where its
compiled-in paths are ours. Clients are allowed in by address (auth.allow); bricks among themselves show the password that
glusterd made for the volume. TLS is not set up. Who caches what:

- The client holds small files (quick-read, up to 64 KiB each and 128 MiB in all), attributes for 1 s, with other options also
  data (io-cache) and data read ahead; its kernel has a page cache. `drop_caches` remounts every client, which forgets it all.
- Bricks keep data in their kernel's page cache alone.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Hosts, Mounted
from perjoule.filesystems._beneath import needs_beneath
from perjoule.filesystems._daemons import fuse, programs
from perjoule.filesystems._flows import explained
from perjoule.filesystems.glusterfs import layout as gluster
from perjoule.filesystems.glusterfs.cluster import Cluster
from perjoule.model import OPTIONS, Amplification, Disk, Redundancy
from perjoule.model.units import Seconds

EXAMPLE = '[[filesystem]]\nkind = "glusterfs"\nlayout = "dispersed"\nredundancy = 1\n'

PROGRAMS = {"glusterd": "glusterfs-server", "gluster": "glusterfs-cli", "glusterfs": "glusterfs-client", "getfattr": "attr"}


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class GlusterFS(FileSystem):
    """One GlusterFS volume with bricks on every host with disks (storage hosts first, then the metadata host)."""

    host_bytes: ClassVar[int] = 128 * 1024**2  # a brick, glusterd and a self-heal daemon of 25 MB each were measured
    host_tasks_count: ClassVar[int] = 96

    layout: gluster.Kind = "dispersed"
    """"dispersed" is erasure coding, "replicated" whole copies, "arbiter" two copies and a third brick that knows which of
    them is right, "distributed" one copy of each file. With more bricks than one group of them needs, files are distributed
    over the groups."""
    redundancy_count: Annotated[int, Field(ge=1)] = 1
    """Bricks of each group that a dispersed volume may lose; less than half of them."""
    disperse_count: Annotated[int, Field(ge=3)] | None = None
    """Bricks in each group of a dispersed volume; as many as hosts if omitted."""
    replicas: Annotated[int, Field(ge=2)] = 2
    """Copies in a replicated volume; the number of bricks must be a multiple."""
    hosts_count: Annotated[int, Field(ge=1)] | None = None
    """Number of hosts with bricks; all hosts with disks if omitted."""
    bricks_per_host_count: Annotated[int, Field(ge=1, le=16)] = 1
    """Bricks on each of these hosts: 2 on 5 hosts make a dispersed volume of 2 x (4 + 1)."""
    volume: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further options of the volume, as in `gluster volume set` ({"performance.io-cache" = "on"})."""
    beneath: Disk | None = None
    """A dedicated file system beneath the bricks of each host, as in {kind = "xfs", block = "4 KiB"}; the host's own disk if
    omitted."""
    patience_s: Seconds = 60.0
    """How long each step of bring-up may take."""

    def checks(self) -> tuple[Check, ...]:
        """The daemons, the tools and FUSE."""
        return (*programs(PROGRAMS), fuse(), *needs_beneath(self.beneath))

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """That of one group of bricks."""
        return self.shape(len(hosts.bricks)).redundancy

    def amplification(self, hosts: Hosts) -> Amplification:
        """The client does it all: it codes, or sends every copy itself; an arbiter gets names and attributes alone."""
        return explained(self.redundancy(hosts), by_client=True)

    def shape(self, there_count: int) -> gluster.Layout:
        """Lay the volume out on so many hosts with disks. Raises CampaignError when that is impossible."""
        return gluster.layout(
            self.layout,
            there_count,
            hosts_count=self.hosts_count,
            bricks_per_host_count=self.bricks_per_host_count,
            disperse_count=self.disperse_count,
            redundancy_count=self.redundancy_count,
            replicas=self.replicas,
        )

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up; healthy means that all bricks are online and every client has written a file."""
        cluster = Cluster(hosts, self.shape(len(hosts.bricks)), self.volume, beneath=self.beneath, patience_s=self.patience_s)
        cluster.require_own_mounts()
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()
