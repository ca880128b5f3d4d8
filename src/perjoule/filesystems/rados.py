"""RADOS: Ceph's object store without a file system, a pool for each client. https://docs.ceph.com/en/pacific/rados/

The same monitor, manager and object storage daemons (OSDs) as beneath `cephfs`, but no metadata server and nothing mounted: what
a client can use is a pool of its own, with a key that opens no other. It is for workloads that speak to objects.
"""

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Check, FileSystem, Hosts, Mounted
from perjoule.filesystems._beneath import needs_beneath
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph.cluster import Cluster, requirements
from perjoule.model import OPTIONS, Amplification, Disk, Redundancy
from perjoule.model.units import Bytes, Seconds

EXAMPLE = """\
[[filesystem]]
kind = "rados"
placement_groups = 32
copies = 2
"""


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Rados(FileSystem):
    """A RADOS cluster on the hosts of a testbed."""

    offers: ClassVar[Access] = "pools"
    host_bytes: ClassVar[int] = ceph.HOST_BYTES
    host_tasks_count: ClassVar[int] = ceph.HOST_TASKS_COUNT

    placement_groups_count: Annotated[int, Field(ge=1, le=1024)] = 64
    """Placement groups (PGs) of each client's pool."""
    copies_count: Annotated[int, Field(ge=1, le=8)] = 2
    """Copies of each object (`size` of the pool), each on another host."""
    acknowledged_count: Annotated[int, Field(ge=1, le=8)] = 1
    """Copies that must be up for a placement group to take writes (`min_size`)."""
    erasure: Annotated[str, Field(pattern=r"^$|^([2-9]|1\d)\+[1-8]$")] = ""
    """Erasure coding instead of copies, as in "4+1": each object in 4 parts and 1 more, each on another host."""
    classes: ceph.Classes = "apart"
    """"apart": OSDs only on storage hosts; "together": also on the metadata host."""
    osds_per_host_count: Annotated[int, Field(ge=1, le=16)] = 1
    """OSDs on each host; the paper has one for each disk, which is 2."""
    store: ceph.Store = "bluestore"
    """Where OSDs keep objects: BlueStore in a sparse file, or memory (which has its own CPU cost)."""
    osd_size_bytes: Annotated[Bytes, Field(ge=ceph.SMALLEST_OSD_BYTES)] = 8 * 1024**3
    """Size of each OSD's store; less if the host's disk is smaller."""
    beneath: Disk | None = None
    """A dedicated file system beneath the stores of each host's OSDs, as in {kind = "xfs", block = "4 KiB"}; the host's own disk
    if omitted."""

    patience_s: Seconds = 60.0
    """Longest wait for a daemon and for health, at scale 1; slower testbeds get more."""

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up with a pool for each client, wait until it is healthy; take it down at the end."""
        cluster = Cluster(hosts, self.layout(hosts), patience_s=self.patience_s)
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """That of any client's pool."""
        return self.layout(hosts).pools[0].redundancy(self.store)

    def amplification(self, hosts: Hosts) -> Amplification:
        """That of any client's pool."""
        return self.layout(hosts).pools[0].amplification(self.store)

    def layout(self, hosts: Hosts) -> ceph.Layout:
        """Place all daemons. Raises CampaignError when these hosts can't carry the configured layout."""
        data = ceph.data_hosts(hosts, self.classes)
        code = ceph.code(
            "rados",
            len(data),
            copies_count=self.copies_count,
            acknowledged_count=self.acknowledged_count,
            erasure=self.erasure,
        )
        metadata = tuple(host for host in data if host.role == "metadata")
        return ceph.Layout(
            fsid=str(uuid.uuid4()),
            monitor=hosts.management.address,
            osds=ceph.osds(
                hosts.by_role("storage"),
                metadata,
                per_host_count=self.osds_per_host_count,
                metadata_count=self.osds_per_host_count,
            ),
            pools=tuple(
                ceph.Pool(client.name, "", "host", self.copies_count, code, client=client.name) for client in hosts.clients
            ),
            placement_groups_count=self.placement_groups_count,
            acknowledged_count=self.acknowledged_count,
            store=self.store,
            osd_size_bytes=self.osd_size_bytes,
            beneath=self.beneath,
        )

    def checks(self) -> tuple[Check, ...]:
        """What this machine needs for it."""
        return (*requirements(), *needs_beneath(self.beneath))
