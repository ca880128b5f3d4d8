"""A Ceph cluster on paper: its options, the hosts of daemons, the OSDs of pools.

Impossible layouts are refused here.
"""

import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass as options_dataclass

from perjoule.drivers.protocols import Check, ComputesBesides, Host, Hosts, Port, Tunable
from perjoule.filesystems._ceph.tuning import require_permitted
from perjoule.filesystems._flows import NO_HOPS, Hops
from perjoule.filesystems._options import Deployed
from perjoule.machine.programs import programs
from perjoule.model import OPTIONS, Amplification, Redundancy, passed_on
from perjoule.model.errors import CampaignError
from perjoule.model.units import Bytes

SMALLEST_OSD_BYTES = 1024**3
# the others' first and last, of which they choose free ones
MONITOR_PORT, FIRST_PORT, LAST_PORT = 3300, 6800, 7568
MONITORS = "all management"  # where several monitors run, as `Hosts.at` has it
PYTHON = "/usr/bin/python3"  # the system's, which has librados

DeviceClass = Literal["hdd", "ssd"]
Store = Literal["bluestore", "memstore"]
IN_MEMORY = "all objects of an OSD that ends"
UNSEEN = "data that disks damage, without notice"
Conf = Annotated[
    Mapping[str, str],
    passed_on(require_permitted),
    Tunable(("1", "2", "5"), scale=True, key="osd_op_num_shards"),
    Tunable(("1", "2"), scale=True, key="osd_op_num_threads_per_shard"),
    Tunable(("1", "3"), scale=True, key="ms_async_op_threads", otherwise="3"),
    Tunable(("65536", "524288"), scale=True, key="bluestore_max_blob_size", otherwise="65536"),
    Tunable(("0", "65536"), key="bluestore_prefer_deferred_size_hdd", otherwise="65536"),
    Tunable(("crc32c", "none"), key="bluestore_csum_type", otherwise="crc32c", less_durable={"none": UNSEEN}),
]  # options of ceph.conf, and those of them that `perjoule tune` tries


@dataclass(frozen=True)
class Osd:
    """An object storage daemon; its `device_class` decides which pool it serves."""

    id: int
    host: str
    device_class: DeviceClass
    uuid: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def name(self) -> str:
        """Its name in Ceph."""
        return f"osd.{self.id}"


@dataclass(frozen=True)
class Monitor:
    """A monitor; the first one's host also runs the manager."""

    id: str
    host: str
    address: str

    @property
    def name(self) -> str:
        """Its name in Ceph."""
        return f"mon.{self.id}"


@dataclass(frozen=True)
class CephPool:
    """A pool: each part or whole copy of an object is on another host or OSD."""

    name: str
    device_class: DeviceClass | Literal[""]  # of the OSDs that it lies on; "": all
    apart: Literal["host", "osd"]  # of which each part or copy has one to itself
    redundancy: Redundancy
    client: str = ""  # whose it is; "": all clients'
    application: str = "perjoule"  # that Ceph takes it to be for
    groups_count: int | None = None  # placement groups; None: those of the campaign


@dataclass(frozen=True)
class Striping:
    """How a file's data are dealt to objects: units in turn to a set of objects, until they are full.

    https://docs.ceph.com/en/pacific/cephfs/file-layouts/
    """

    object_bytes: int = 4 * 1024**2
    unit_bytes: int = 4 * 1024**2
    objects_count: int = 1

    @property
    def text(self) -> str:
        """As the attribute `ceph.dir.layout` has it."""
        return (
            f"stripe_unit={self.unit_bytes} stripe_count={self.objects_count} object_size={self.object_bytes}"
        )


@dataclass(frozen=True)
class CephLayout:
    """A whole cluster."""

    options: "Ceph"
    monitors: tuple[Monitor, ...]
    osds: tuple[Osd, ...]
    pools: tuple[CephPool, ...]
    mds: str = ""  # host of the metadata server; "": no file system
    standby: str = ""  # host of one that takes over if that ends; "": none
    # object cache of each client of the file system; None: as the hosts have it
    client_cache_bytes: int | None = None
    striping: Striping = Striping()  # of its files
    gateways: tuple[str, ...] = ()  # hosts of gateways, which alone use the pools
    fsid: str = field(default_factory=lambda: str(uuid.uuid4()))

    def hosts(self, device_class: str = "") -> tuple[str, ...]:
        """Return the hosts with OSDs of this class ("": any), in order, each once."""
        return tuple(dict.fromkeys(osd.host for osd in self.osds if device_class in ("", osd.device_class)))

    def groups_count(self, pool: CephPool) -> int:
        """Return the number of a pool's placement groups."""
        return self.options.placement_groups_count if pool.groups_count is None else pool.groups_count


@options_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Ceph(Deployed, ComputesBesides):
    """The part that CephFS, RADOS, RBD and RGW share."""

    runs: ClassVar = {
        "management": {"ceph-mon": "ceph-mon", "monmaptool": "ceph-base", "ceph-mgr": "ceph-mgr"},
        "bricks": {"ceph-osd": "ceph-osd"},
    }
    heals: ClassVar[bool] = True
    in_user_space: ClassVar = False
    daemons: ClassVar = ("ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds")
    # a client speaks to one OSD, which copies or codes, and gathers the parts that are read
    copied_by_client: ClassVar = False
    host_bytes: ClassVar[int] = 384 * 1024**2  # an OSD at 120 MB and 56 threads, two on a host, were measured
    host_tasks_count: ClassVar[int] = 192
    trial_mips_s: ClassVar[float] = 1500.0  # 860 to 1000 of it after the tail; of 4 to 12 OSDs
    pool_made_mips_s: ClassVar[float] = 1300.0  # of 12 OSDs
    pool_deleted_mips_s: ClassVar[float] = 560.0

    placement_groups_count: Annotated[
        int, Field(ge=1, le=1024), Tunable((16, 32, 64, 128, 256), scale=True)
    ] = 64
    """Placement groups (PGs) of each pool."""
    copies_count: Annotated[int, Field(ge=1, le=8)] = 2
    """Copies of each object (`size` of the pool), each on another host; with `erasure`, of CephFS's
    metadata only.
    """
    acknowledged_count: Annotated[int, Field(ge=1, le=8)] = 1
    """Copies that must be up for a placement group to accept writes (`min_size`). Ceph acknowledges a write
    only once all copies that are up have it, so with every host up it always waits for `copies`; 1 means that
    writes continue with a single copy left.
    """
    erasure: Annotated[str, Field(pattern=r"^$|^([2-9]|1\d)\+[1-8]$")] = ""
    """Erasure coding of data instead of copies, as in "4+1": each object in 4 parts and 1 more, each on
    another host.
    """
    classes: Literal["apart", "together"] = "apart"
    """"apart": data only on the OSDs of storage hosts (device class hdd), CephFS's metadata on those of the
    metadata host (class
    ssd); "together": both on all of them."""
    osds_per_host_count: Annotated[int, Field(ge=1, le=16), Tunable((1, 2), scale=True)] = 1
    """OSDs on each storage host; the paper has one per disk, which is 2."""
    store: Annotated[Store, Tunable(("bluestore", "memstore"), less_durable={"memstore": IN_MEMORY})] = (
        "bluestore"
    )
    """Where OSDs keep objects: BlueStore in a sparse file, or memory (which has its own CPU cost)."""
    osd_size_bytes: Annotated[Bytes, Field(ge=SMALLEST_OSD_BYTES)] = 8 * 1024**3
    """Size of each OSD's store; less if the host's disk is smaller."""
    monitors_count: Annotated[int, Field(ge=1, le=7)] = 1
    """Monitors, each on a management host of its own; they agree by majority, so an even number adds no
    safety.
    """
    conf: Conf = field(default_factory=dict[str, str])
    """Further options of ceph.conf, for all daemons and clients ({"osd_op_num_shards" = "5"}); those that
    tune
    (`perjoule docs permitted`). Redundancy, addresses, keys and paths are the driver's."""

    @model_validator(mode="after")
    def _ages_on_disk(self) -> Self:
        if self.aged and self.store == "memstore":
            raise ValueError('aged fills disks, not memory; remove aged, or set store = "bluestore"')
        return self

    def made_bytes(self, hosts: Hosts) -> int | None:
        """Return the size of the files of OSDs: BlueStore never takes more, on whichever disk it lies."""
        if self.store == "memstore":
            return super().made_bytes(hosts)
        return self.osd_size_bytes * len(self.layout(hosts).osds)

    @abstractmethod
    def layout(self, hosts: Hosts) -> CephLayout:
        """Place all daemons. Raises CampaignError if these hosts can't carry the configured layout."""

    def monitors(self, hosts: Hosts) -> tuple[Monitor, ...]:
        """Place the monitors. Raises CampaignError if there are too few hosts for several."""
        places = hosts.by_role("management") if self.monitors_count > 1 else (hosts.management,)
        if len(places) < self.monitors_count:
            problem = f"monitors = {self.monitors_count} needs as many management hosts, but there are {len(places)}"
            then = "remove monitors, or use a testbed with more management hosts"
            raise CampaignError(problem, where="ceph", next=then)
        return tuple(
            Monitor(chr(ord("a") + n), host.name, host.address)
            for n, host in enumerate(places[: self.monitors_count])
        )

    def explained(self, hosts: Hosts, hops: Hops = NO_HOPS) -> Amplification:
        """Return that of the data pool, or of any client's; objects in memory have no disk."""
        ratios = super().explained(hosts, hops)
        if self.store == "bluestore":
            return ratios
        return Amplification(
            replace(ratios.write, disk_written_ratio=0.0), replace(ratios.read, disk_read_ratio=0.0)
        )

    def checks(self) -> tuple[Check, ...]:
        """Check for its programs, and librados for the system's Python."""
        module = next(Path("/usr/lib/python3/dist-packages").glob("rados*.so"), None)
        fix, look = "apt install python3-rados", f"library rados {PYTHON}"
        rados = Check(
            "python3-rados",
            module is not None,
            str(module or "not installed"),
            fix,
            look=look,
            on="management",
        )
        others = {"ceph-mon": "ceph-mon", "monmaptool": "ceph-base"} if self.monitors_count > 1 else {}
        return (*super().checks(), *programs(others, MONITORS), rados)

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """The monitor's, and those among which managers, OSDs and metadata servers choose."""

        def choosing(program: str) -> Port:
            return Port(FIRST_PORT, program, last=LAST_PORT)

        mds = {
            place: (choosing(program),)
            for place, names in self.runs.items()
            for program in names
            if program == "ceph-mds"
        }
        others = {MONITORS: (Port(MONITOR_PORT, "ceph-mon"),)} if self.monitors_count > 1 else {}
        return {
            **others,
            "management": (Port(MONITOR_PORT, "ceph-mon"), choosing("ceph-mgr")),
            "bricks": (choosing("ceph-osd"),),
            **mds,
        }

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """The redundancy of data. All OSDs of a placement group commit a write to their stores before it is
        acknowledged.

        Raises:
            CampaignError: these hosts can't carry as many copies or parts.
        """
        wrong, then = "", ""
        hosts_count = len(self.data_hosts(hosts))
        split = tuple(int(part) for part in self.erasure.split("+")) if self.erasure else ()
        option = f'erasure = "{self.erasure}"' if split else f"copies = {self.copies_count}"
        needed_count = sum(split) or self.copies_count
        if self.beneath and self.store == "memstore":
            wrong = 'store = "memstore" keeps nothing on disk, so beneath does not apply'
            then = 'remove beneath, or set store = "bluestore"'
        elif self.acknowledged_count > self.copies_count:
            wrong = f"acknowledged = {self.acknowledged_count} is more than copies = {self.copies_count}"
            then = f"set acknowledged to {self.copies_count} or less"
        elif needed_count > hosts_count:
            wrong = f"{option} needs {needed_count} hosts with data, but there are {hosts_count}"
            then = "use a testbed with storage hosts"
            if hosts_count and not split:
                then = f"set copies to {hosts_count} or less"
            elif hosts_count:
                then = 'use fewer parts, or set classes = "together" to let the metadata host store data too'
        if wrong:
            raise CampaignError(wrong, where="ceph", next=then)
        acknowledged = "on disk" if self.store == "bluestore" else "in memory"
        if split:
            return Redundancy(data_count=split[0], parity_count=split[1], acknowledged=acknowledged)
        return Redundancy(self.copies_count, acknowledged=acknowledged)

    def data_hosts(self, hosts: Hosts) -> tuple[Host, ...]:
        """Return the hosts whose OSDs carry data."""
        return hosts.by_role("storage") + (
            hosts.by_role("metadata")[:1] if self.classes == "together" else ()
        )

    def osds(self, on: Sequence[Host], *, metadata_count: int) -> tuple[Osd, ...]:
        """Number the OSDs: class "hdd" on storage hosts, "ssd" on the metadata host, which has SSDs in the
        papers' clusters.
        """
        counts = {"storage": self.osds_per_host_count, "metadata": metadata_count}
        places = [host for host in on for _ in range(counts[host.role])]
        return tuple(
            Osd(n, host.name, "ssd" if host.role == "metadata" else "hdd") for n, host in enumerate(places)
        )
