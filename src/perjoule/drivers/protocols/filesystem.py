"""A file system before and after it is brought up."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Literal

from perjoule.drivers.protocols.checks import Check, Port
from perjoule.drivers.protocols.host import Host
from perjoule.drivers.protocols.hosts import Hosts
from perjoule.model import Aged, Amplification, Disk, Json, Reality, Redundancy

Access = Literal["folders", "pools", "buckets", "devices"]  # how a client gets at its data


@dataclass(frozen=True)
class Pool:
    """A client's own pool in an object store, or its own namespace in one of others."""

    name: str
    user: str  # who may use it: "client.client-1"
    configuration: Path  # file on the client that says where the store is and with which key
    keyring: Path | None = None  # file with the key; None: where the configuration says
    namespace: str = ""  # in which all objects of ours are; "": the pool is ours


@dataclass(frozen=True)
class Bucket:
    """What a client may use of a bucket in a store that speaks S3."""

    name: str
    endpoint: str  # "http://10.99.0.6:8333", of the gateway that this client uses
    region: str
    credentials: Path  # file on the client with the keys, in the form of AWS's tools
    prefix: str = ""  # of all names of ours, with a slash at its end; "": the bucket is ours


@dataclass(frozen=True)
class UnmappedImage:
    """A client's own image in a pool, a block device that no kernel has mapped."""

    name: str
    pool: Pool
    size_bytes: int


class Mounted(ABC):
    """A file system that is mounted on every client (and other user) and answers."""

    # by name of the client or other user: an empty folder in the file system, as it sees it
    directories: Mapping[str, Path]
    # the same for a store that offers pools, which has no folders
    pools: Mapping[str, Pool] = MappingProxyType({})
    devices: Mapping[str, Path] = MappingProxyType({})  # block devices by client name, without a file system
    facts: Mapping[str, Json]  # version, layout, settings, as the daemons report them
    # names of the hosts that hold users' data, clients with their own too; (): not known
    data_hosts: tuple[str, ...]
    logs: tuple[Path, ...]  # log files of daemons and clients on this machine, kept with the trial
    layout_name: str = (
        # of a trial's data, so that names of objects differ in a store without folders; "" for all trials
        # together
        ""
    )
    # caches that neither its `drop_caches` nor the hosts' drop, as words for a doubt; "": none is known
    undropped: str = ""
    logs_there: Sequence[tuple[Host, Path]] = ()  # the same for those that daemons write on their hosts

    @abstractmethod
    def locate(self, path: Path) -> tuple[str, ...]:
        """Return the names of the hosts that hold a file's data (by its path on the first client); () if
        that is not known.
        """

    @abstractmethod
    def drop_caches(self) -> None:
        """Drop the user-space caches of the file system's own clients and servers; the hosts drop the
        kernel's.
        """

    @abstractmethod
    def alive(self) -> None:
        """Check that every daemon still runs. Raises TransientError with the last output of one that died."""


class FileSystem(ABC):
    """A file system that can be brought up on hosts."""

    reality: ClassVar[Reality] = "real"
    offers: ClassVar[Access] = "folders"
    needs_root: ClassVar[bool] = True  # on its hosts
    # of memory that its daemons or its client take on one host, roughly
    host_bytes: ClassVar[int] = 64 * 1024**2
    # the same on the host on which they take most, if that is much more
    largest_host_bytes: ClassVar[int] = 0
    host_tasks_count: ClassVar[int] = 64  # processes and threads, roughly
    devices_at: ClassVar[str] = "storage"  # the hosts whose `devices` it overwrites, by `Hosts.at`
    # Of a file, that lie on one group of hosts as a whole: a chunk, hosts in turn; WHOLE_FILE, by a hash of
    # its name; inf: every file is spread over all.
    unit_bytes: ClassVar[float] = inf
    # After the loss of a server, as was seen, and says when it has: events can happen to its servers.
    heals: ClassVar[bool] = False
    # kinds of events that can't happen to it, each with the reason
    unable: ClassVar[Mapping[str, str]] = MappingProxyType({})
    # Programs that a site's own of this kind runs: on a host that has one, nothing is deployed unless the
    # user says so.
    daemons: ClassVar[tuple[str, ...]] = ()
    # A file that a site's own of this kind has on a host also while it does not run, where ours would be
    # mounted over it.
    state: ClassVar[str] = ""
    # Programs that it runs on hosts besides those of its `checks`, of the same packages, by the hosts that
    # run them (`Hosts.at`)
    tools: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    hides: ClassVar[tuple[str, ...]] = ()  # paths of a host over which it mounts folders of its own
    beneath: Disk | None = None  # made for the data of each host; None: they lie on the host's own disk
    aged: Aged | None = None  # what it has been through when the trials begin; None: it is new

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """Name the ports on which its servers listen, by the hosts that run them (`Hosts.at`)."""
        return {}

    @property
    def exporting(self) -> str:
        """The hosts (`Hosts.at`) whose kernel's NFS server gets an export, which must not be a site's own;
        "": none.
        """
        return ""

    def folder(self, hosts: Path | None) -> Path | None:
        """The folder on this machine with the data, if hosts keep their files below `hosts`; None without
        files here.
        """
        return hosts

    @property
    def devices(self) -> tuple[str, ...]:
        """The block devices that it overwrites, by their stable ids."""
        return (self.beneath.device,) if self.beneath and self.beneath.device else ()

    @property
    def legs_count(self) -> int:
        """Disks of each host that are to hold the same data: 2 with a mirror beneath, which
        `amplification` leaves out.
        """
        return self.beneath.legs_count if self.beneath else 1

    def require_fit(self, hosts: Hosts) -> None:
        """Check that its layout is possible on these hosts.

        Raises CampaignError, whose advice says what would fit.
        """
        return

    def require_growth(self, hosts: Hosts, joining_count: int) -> None:
        """Check that this many further storage hosts can join what began on these.

        Raises CampaignError with advice.
        """
        return

    def made_bytes(self, hosts: Hosts) -> int | None:
        """Return the size of all files and disks that are made for its data alone, so that it may fill them.

        None if data lie on a disk that others use, too. Devices that the campaign names count as nothing:
        they take no space.
        """
        return None

    @abstractmethod
    def mount(self, hosts: Hosts) -> AbstractContextManager[Mounted]:
        """Bring it up, mount it on all `hosts.users`, wait until it is healthy; take it down at the end.

        Raises:
            CampaignError: its layout is impossible on these hosts, as `require_fit` says.
            TransientError: a daemon failed or health was not reached in time, with the daemon's message.
        """

    @abstractmethod
    def checks(self) -> tuple[Check, ...]:
        """Check what this machine needs for it."""

    def redundancy(self, hosts: Hosts) -> Redundancy | None:
        """Return how user data are stored on the hosts; None if the layout is unknown."""
        return None

    def amplification(self, hosts: Hosts) -> Amplification | None:
        """Return which bytes move per user byte, from the layout alone; None if the layout is unknown."""
        return None

    def stored(self, hosts: Hosts) -> tuple[Redundancy, Amplification] | None:
        """Return `redundancy` and `amplification` with the mirrors beneath; None if the layout is unknown."""
        redundancy, amplification = self.redundancy(hosts), self.amplification(hosts)
        if redundancy is None or amplification is None:
            return None
        return replace(redundancy, beneath_count=self.legs_count), amplification.on_mirrors(self.legs_count)

    def data_hosts(self, hosts: Hosts) -> tuple[Host, ...] | None:
        """Return the hosts that would hold users' data; None if that is not known before it is mounted."""
        return None
