"""CephFS: a parallel file system on RADOS objects. https://docs.ceph.com/en/pacific/cephfs/

The monitor and the manager run on the management host, the metadata server (MDS) on the metadata host, object storage daemons
(OSDs) for data on all storage hosts. A metadata host of its own carries OSDs for the metadata pool alone, as in the paper. All
daemons run as user `ceph`, authenticate with cephx and speak protocol msgr2; clients mount with ceph-fuse, each with its own key.
"""

import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.errors import CampaignError
from perjoule.filesystems import _ceph_layout as ceph
from perjoule.filesystems._ceph_cluster import Cluster
from perjoule.filesystems._daemons import fuse, programs
from perjoule.model import OPTIONS
from perjoule.protocols import Check, FileSystem, Hosts, Mounted
from perjoule.units import Bytes, Seconds

EXAMPLE = """\
[[filesystem]]
kind = "cephfs"
placement_groups = 64
copies = 2
acknowledged = 1
"""

PACKAGES = {
    "ceph-mon": "ceph-mon",
    "monmaptool": "ceph-base",
    "ceph-mgr": "ceph-mgr",
    "ceph-osd": "ceph-osd",
    "ceph-mds": "ceph-mds",
    "ceph-fuse": "ceph-fuse",
}


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class CephFs(FileSystem):
    """CephFS on the hosts of a testbed."""

    placement_groups_count: Annotated[int, Field(ge=1, le=1024)] = 64
    """Placement groups (PGs) of each of the two pools."""
    copies_count: Annotated[int, Field(ge=1, le=8)] = 2
    """Copies of each object (`size` of the pool), each on another storage host."""
    acknowledged_count: Annotated[int, Field(ge=1, le=8)] = 1
    """Copies that must be up for a placement group to take writes (`min_size`). Ceph has no earlier acknowledgement: a write is
    acknowledged once all copies that are up have it, so with every host up it always waits for `copies`; 1 means that writing
    goes on when only one copy is left."""
    osds_per_host_count: Annotated[int, Field(ge=1, le=16)] = 1
    """OSDs on each storage host; the paper has one for each disk, which is 2."""
    metadata_osds_count: Annotated[int, Field(ge=1, le=16)] = 2
    """OSDs for the metadata pool on a metadata host of its own; it has at most as many copies."""
    store: Literal["bluestore", "memstore"] = "bluestore"
    """Where OSDs keep objects: BlueStore in a sparse file, or memory (which costs CPU time of its own)."""
    osd_size_bytes: Annotated[Bytes, Field(ge=ceph.SMALLEST_OSD_BYTES)] = 8 * 1024**3
    """Size of each OSD's store; less where the host's disk has less."""
    client_cache_bytes: Bytes = 32 * 1024**2
    """Object cache of each client, half of which may be dirty. Files not much larger are read back from it."""

    patience_s: Seconds = 60.0
    """Longest wait for a daemon, for health and for each mount, at scale 1; slower testbeds get more."""

    @contextmanager
    def mount(self, hosts: Hosts) -> Generator[Mounted]:
        """Bring it up, mount it on all clients, wait until it is healthy; take it down at the end."""
        cluster = Cluster(hosts, self.layout(hosts), patience_s=self.patience_s)
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()

    def layout(self, hosts: Hosts) -> ceph.Layout:
        """Place all daemons. Raises CampaignError when these hosts can't carry what was asked for."""
        storage = hosts.by_role("storage")
        if self.acknowledged_count > self.copies_count:
            raise CampaignError(
                f"acknowledged = {self.acknowledged_count} is more than copies = {self.copies_count}",
                where="cephfs",
                next=f"set acknowledged to {self.copies_count} or less",
            )
        if self.copies_count > len(storage):
            raise CampaignError(
                f"copies = {self.copies_count} needs as many storage hosts, and there are {len(storage)}",
                where="cephfs",
                next=f"set copies to {len(storage)} or less" if storage else "take a testbed with storage hosts",
            )
        places = [(host.name, "hdd") for host in storage for _ in range(self.osds_per_host_count)]
        places += [(host.name, "ssd") for host in hosts.by_role("metadata")[:1] for _ in range(self.metadata_osds_count)]
        return ceph.Layout(
            fsid=str(uuid.uuid4()),
            monitor=hosts.management.address,
            osds=tuple(
                ceph.Osd(n, host, "ssd" if device_class == "ssd" else "hdd", str(uuid.uuid4()))
                for n, (host, device_class) in enumerate(places)
            ),
            placement_groups_count=self.placement_groups_count,
            copies_count=self.copies_count,
            acknowledged_count=self.acknowledged_count,
            store=self.store,
            osd_size_bytes=self.osd_size_bytes,
            client_cache_bytes=self.client_cache_bytes,
        )

    def checks(self) -> tuple[Check, ...]:
        """What this machine needs for it."""
        module = list(Path("/usr/lib/python3/dist-packages").glob("rados*.so"))
        fix = "" if module else "apt install python3-rados"
        rados = Check("python3-rados", bool(module), str(module[0]) if module else "not installed", fix)
        return (*programs(PACKAGES), rados, fuse())
