"""All computers of a group of trials, and the machine on which they run."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, NoReturn

from perjoule.drivers.protocols.disks import HasDisks
from perjoule.drivers.protocols.host import Host
from perjoule.model import Json, Reality
from perjoule.model.hardware import Cluster


class Machine(ABC):
    """The machine on which all hosts of a testbed run, with other programs. CPU times are cumulative."""

    covers: tuple[str, ...]  # names of the hosts whose counters are those of the whole machine

    @abstractmethod
    def cpu_s(self) -> float:
        """Return the CPU time of all programs and kernel threads, without interrupts. Raises OSError."""

    @abstractmethod
    def own_cpu_s(self) -> float:
        """Return the CPU time of perjoule, and of its ended children on the hosts in `covers`."""

    @abstractmethod
    def kernel_cpu_s(self) -> float:
        """Return the CPU time of kernel threads; costs milliseconds."""


@dataclass(frozen=True)
class Lease:
    """For how long hosts are ours, where somebody lends them: a batch system."""

    name: str  # such as "Slurm job 12"
    ends_s: float  # monotonic; inf if it has no end
    over: Callable[[], str]  # how it has ended or paused, as in "was cancelled"; "" while it lasts


@dataclass(frozen=True)
class Hosts:
    """The hosts held for a group of trials.

    Their emulated time runs at `scale` times wall time (1: real time).
    """

    all: tuple[Host, ...]
    scale: float = 1.0
    cluster: Cluster | None = None
    # caps in force, calibration, kernel limits
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    using: tuple[str, ...] = ()  # roles of hosts, besides clients, that work on the file system
    # that they all run on; None: each is a machine of its own, or none is real
    machine: Machine | None = None
    lease: Lease | None = None  # None: they are ours for as long as we hold them
    # those that are emulated share CPUs and memory of one machine, and need settings for that
    reality: Reality = "real"
    switch: bool = False  # whether a meter reads the switch; a host alone has none otherwise

    def by_role(self, *roles: str) -> tuple[Host, ...]:
        """Return the hosts of these roles, in the order of the roles."""
        return tuple(h for role in roles for h in self.all if h.role == role)

    def without(self, names: Collection[str]) -> "Hosts":
        """Leave hosts of these names out."""
        return replace(self, all=tuple(host for host in self.all if host.name not in names))

    @property
    def clients(self) -> tuple[Host, ...]:
        """The hosts that load."""
        return self.by_role("client")

    @property
    def users(self) -> tuple[Host, ...]:
        """The hosts on which a file system is mounted: the clients, then hosts that also work on it."""
        return self.by_role("client", *self.using)

    @property
    def servers(self) -> tuple[Host, ...]:
        """All hosts inside the storage cluster, which a paper's power meter covers."""
        return self.by_role("storage", "metadata", "management")

    @property
    def bricks(self) -> tuple[Host, ...]:
        """The hosts with disks, storage hosts first, for a file system without separate metadata."""
        return self.by_role("storage", "metadata")

    def at(self, place: str) -> tuple[Host, ...]:
        """Return the hosts of a role (the chosen one for metadata and management), "all management",
        "bricks", "first storage", or "all".
        """
        by_place = {
            "metadata": (self.metadata,),
            "management": (self.management,),
            "all management": self.by_role("management"),
            "bricks": self.bricks,
            "all": self.all,
        }
        return (by_place | {"first storage": self.by_role("storage")[:1]}).get(place) or self.by_role(place)

    @property
    def metadata(self) -> Host:
        """The host for metadata services."""
        return next(iter(self.by_role("metadata", "management", "storage")), self.all[0])

    @property
    def management(self) -> Host:
        """The host for monitors and managers."""
        return next(iter(self.by_role("management", "metadata", "storage")), self.all[0])


class PlannedHost(Host, HasDisks):
    """A host that is not held: a layout can be planned on it, and nothing can run."""

    def __init__(self, name: str, role: str) -> None:
        self.name, self.role, self.address, self.node = name, role, "", None
        self.directory = Path("/planned", self.name)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{self.name} is only planned")

    run = spawn = put = read = tell = counters = disk = drop_caches = _refuse


def planned(roles: Iterable[str], names: Iterable[str] = ()) -> Hosts:
    """Return hosts of these roles to plan a layout on, before any is held; without `names` they are called
    "storage-1" etc.
    """
    hosts: list[Host] = []
    counts = Counter[str]()
    for role, name in zip_longest(roles, names, fillvalue=""):
        counts[role] += 1
        hosts.append(PlannedHost(name or f"{role}-{counts[role]}", role))
    return Hosts(tuple(hosts))
