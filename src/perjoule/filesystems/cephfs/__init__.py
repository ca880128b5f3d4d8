"""CephFS: a parallel file system on RADOS objects. https://docs.ceph.com/en/pacific/cephfs/

The monitor and the manager run on the management host, the metadata server (MDS) on the metadata host, object storage daemons
(OSDs) for data on all storage hosts. A metadata host of its own carries OSDs for the metadata pool alone, as in the paper. All
daemons run as user `ceph`, authenticate with cephx and speak protocol msgr2; clients mount with ceph-fuse, each with its own key.
"""

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, FileSystem, Hosts, Mounted
from perjoule.filesystems._beneath import needs_beneath
from perjoule.filesystems._ceph import layout as ceph
from perjoule.filesystems._ceph.cluster import requirements
from perjoule.filesystems._ceph.commands import DATA_POOL, METADATA_POOL
from perjoule.filesystems._daemons import fuse, programs
from perjoule.filesystems.cephfs.mount import Mount
from perjoule.model import OPTIONS, Amplification, Disk, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.units import Bytes, Seconds

EXAMPLE = """\
[[filesystem]]
kind = "cephfs"
placement_groups = 64
copies = 2
acknowledged = 1
"""


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class CephFs(FileSystem):
    """CephFS on the hosts of a testbed."""

    host_bytes: ClassVar[int] = ceph.HOST_BYTES
    host_tasks_count: ClassVar[int] = ceph.HOST_TASKS_COUNT

    placement_groups_count: Annotated[int, Field(ge=1, le=1024)] = 64
    """Placement groups (PGs) of each of the two pools."""
    copies_count: Annotated[int, Field(ge=1, le=8)] = 2
    """Copies of each object (`size` of the pool), each on another storage host; with `erasure`, of metadata only."""
    acknowledged_count: Annotated[int, Field(ge=1, le=8)] = 1
    """Copies that must be up for a placement group to take writes (`min_size`). Ceph has no earlier acknowledgement: a write is
    acknowledged once all copies that are up have it, so with every host up it always waits for `copies`; 1 means that writing
    continues when only one copy is left."""
    erasure: Annotated[str, Field(pattern=r"^$|^([2-9]|1\d)\+[1-8]$")] = ""
    """Erasure coding of data instead of copies, as in "4+1": each object in 4 parts and 1 more, each on another host."""
    classes: ceph.Classes = "apart"
    """"apart": data on the OSDs of storage hosts (device class hdd), metadata on those of the metadata host (class ssd);
    "together": both on all of them."""
    osds_per_host_count: Annotated[int, Field(ge=1, le=16)] = 1
    """OSDs on each storage host; the paper has one for each disk, which is 2."""
    metadata_osds_count: Annotated[int, Field(ge=1, le=16)] = 2
    """OSDs on a dedicated metadata host; with classes = "apart", metadata have at most as many copies."""
    store: ceph.Store = "bluestore"
    """Where OSDs keep objects: BlueStore in a sparse file, or memory (which has its own CPU cost)."""
    osd_size_bytes: Annotated[Bytes, Field(ge=ceph.SMALLEST_OSD_BYTES)] = 8 * 1024**3
    """Size of each OSD's store; less if the host's disk is smaller."""
    beneath: Disk | None = None
    """A dedicated file system beneath the stores of each host's OSDs, as in {kind = "xfs", block = "4 KiB"}; the host's own disk
    if omitted."""
    client_cache_bytes: Bytes = 32 * 1024**2
    """Object cache of each client, half of which may be dirty. Files not much larger are read back from it."""

    patience_s: Seconds = 60.0
    """Longest wait for a daemon, for health and for each mount, at scale 1; slower testbeds get more."""

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up, mount it on all clients, wait until it is healthy; take it down at the end."""
        cluster = Mount(hosts, self.layout(hosts), patience_s=self.patience_s)
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """That of the data pool."""
        return self.layout(hosts).pools[0].redundancy(self.store)

    def amplification(self, hosts: Hosts) -> Amplification:
        """That of the data pool."""
        return self.layout(hosts).pools[0].amplification(self.store)

    def layout(self, hosts: Hosts) -> ceph.Layout:
        """Place all daemons. Raises CampaignError when these hosts can't carry the configured layout."""
        data = ceph.data_hosts(hosts, self.classes)
        code = ceph.code(
            "cephfs",
            len(data),
            copies_count=self.copies_count,
            acknowledged_count=self.acknowledged_count,
            erasure=self.erasure,
        )
        if code and self.store == "memstore":
            what = f'erasure = "{self.erasure}" needs BlueStore: objects in memory can\'t be overwritten in part'
            raise CampaignError(what, where="cephfs", next='set store = "bluestore"')
        metadata = hosts.by_role("metadata")[:1]
        apart = bool(metadata) and self.classes == "apart"
        places_count = self.metadata_osds_count if apart else len(data)
        kind = "" if self.classes == "together" else "hdd"
        copies_count = min(self.copies_count, places_count)
        return ceph.Layout(
            fsid=str(uuid.uuid4()),
            monitor=hosts.management.address,
            osds=ceph.osds(
                hosts.by_role("storage"),
                metadata,
                per_host_count=self.osds_per_host_count,
                metadata_count=self.metadata_osds_count,
            ),
            pools=(
                ceph.Pool(DATA_POOL, kind, "host", self.copies_count, code),
                ceph.Pool(METADATA_POOL, "ssd" if apart else kind, "osd" if apart else "host", copies_count),
            ),
            placement_groups_count=self.placement_groups_count,
            acknowledged_count=self.acknowledged_count,
            store=self.store,
            osd_size_bytes=self.osd_size_bytes,
            beneath=self.beneath,
            mds=hosts.metadata.name,
            client_cache_bytes=self.client_cache_bytes,
        )

    def checks(self) -> tuple[Check, ...]:
        """What this machine needs for it."""
        return (
            *requirements(),
            *programs({"ceph-mds": "ceph-mds", "ceph-fuse": "ceph-fuse"}),
            fuse(),
            *needs_beneath(self.beneath),
        )
