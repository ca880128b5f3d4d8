"""A Ceph cluster on paper: who gets which daemon, and which pool lies on what. Impossible ones are refused here."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from perjoule.drivers.protocols import Host, Hosts
from perjoule.filesystems._flows import explained
from perjoule.model import Amplification, Disk, Redundancy
from perjoule.model.errors import CampaignError

SMALLEST_OSD_BYTES = 1024**3
HOST_BYTES = 384 * 1024**2  # an OSD at 120 MB and 56 threads, two on a host, were measured
HOST_TASKS_COUNT = 192

Store = Literal["bluestore", "memstore"]
Classes = Literal["apart", "together"]


@dataclass(frozen=True)
class Osd:
    """An object storage daemon: `device_class` decides which pool it serves."""

    id: int
    host: str
    device_class: Literal["hdd", "ssd"]
    uuid: str

    @property
    def name(self) -> str:
        """As Ceph calls it."""
        return f"osd.{self.id}"


@dataclass(frozen=True)
class Pool:
    """A pool: `copies_count` whole copies, or with a code of (k, m) each object in k parts and m more, any k of which suffice."""

    name: str
    device_class: Literal["hdd", "ssd", ""]  # of the OSDs that it lies on; "": all
    apart: Literal["host", "osd"]  # of which each part or copy has one to itself
    copies_count: int
    code: tuple[int, int] | None = None
    client: str = ""  # whose it is; "": all clients'

    def redundancy(self, store: Store) -> Redundancy:
        """A write is acknowledged when all OSDs of its placement group that are up have committed it to their store."""
        acknowledged = "on disk" if store == "bluestore" else "in memory"
        if self.code:
            return Redundancy(data_count=self.code[0], parity_count=self.code[1], acknowledged=acknowledged)
        return Redundancy(self.copies_count, acknowledged=acknowledged)

    def amplification(self, store: Store) -> Amplification:
        """A client speaks to one OSD, which copies or codes, and gathers the parts that are read."""
        found = explained(self.redundancy(store), by_client=False)
        if store == "bluestore":
            return found
        return Amplification(replace(found.write, disk_written_ratio=0.0), replace(found.read, disk_read_ratio=0.0))


@dataclass(frozen=True)
class Layout:
    """A whole cluster."""

    fsid: str
    monitor: str  # address
    osds: tuple[Osd, ...]
    pools: tuple[Pool, ...]
    placement_groups_count: int  # of each pool
    acknowledged_count: int
    store: Store
    osd_size_bytes: int
    mds: str = ""  # host of the metadata server; "": no file system
    client_cache_bytes: int = 0
    beneath: Disk | None = None  # of the OSDs' stores

    def __post_init__(self) -> None:
        if self.beneath and self.store == "memstore":
            what = 'store = "memstore" keeps nothing on disk, so beneath does not apply'
            raise CampaignError(what, where="ceph", next='remove beneath, or set store = "bluestore"')

    def hosts(self, device_class: str = "") -> tuple[str, ...]:
        """The hosts with OSDs of this class ("": of any), in order, each once."""
        return tuple(dict.fromkeys(osd.host for osd in self.osds if device_class in ("", osd.device_class)))


def osds(data: Sequence[Host], metadata: Sequence[Host], *, per_host_count: int, metadata_count: int) -> tuple[Osd, ...]:
    """Number the OSDs: class "hdd" on storage hosts, "ssd" on the metadata host, which has SSDs in the papers' clusters."""
    names = [host.name for host in data for _ in range(per_host_count)]
    hdds = [Osd(n, name, "hdd", str(uuid.uuid4())) for n, name in enumerate(names)]
    names = [host.name for host in metadata for _ in range(metadata_count)]
    return (*hdds, *(Osd(n, name, "ssd", str(uuid.uuid4())) for n, name in enumerate(names, start=len(hdds))))


def data_hosts(hosts: Hosts, classes: Classes) -> tuple[Host, ...]:
    """The hosts whose OSDs carry data."""
    return hosts.by_role("storage") + (hosts.by_role("metadata")[:1] if classes == "together" else ())


def code(where: str, hosts_count: int, *, copies_count: int, acknowledged_count: int, erasure: str) -> tuple[int, int] | None:
    """Read `erasure` ("4+1" or ""). Raises CampaignError when this number of hosts can't carry the configured layout."""
    wrong, then = "", ""
    split = tuple(int(part) for part in erasure.split("+")) if erasure else ()
    needed_count, option = (sum(split), f'erasure = "{erasure}"') if split else (copies_count, f"copies = {copies_count}")
    if acknowledged_count > copies_count:
        wrong = f"acknowledged = {acknowledged_count} is more than copies = {copies_count}"
        then = f"set acknowledged to {copies_count} or less"
    elif needed_count > hosts_count:
        wrong = f"{option} needs {needed_count} hosts with data, but there are {hosts_count}"
        then = "use a testbed with storage hosts"
        if hosts_count and not split:
            then = f"set copies to {hosts_count} or less"
        elif hosts_count:
            then = 'use fewer parts, or set classes = "together" to let the metadata host store data too'
    if wrong:
        raise CampaignError(wrong, where=where, next=then)
    return (split[0], split[1]) if split else None
