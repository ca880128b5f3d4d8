"""The results of a load, and the record of a trial, which has them and all that was observed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, get_args

from perjoule.model.campaign import Trial
from perjoule.model.cluster_state import ClusterState
from perjoule.model.doubts import Doubt
from perjoule.model.events import Happened, Health
from perjoule.model.hardware import Cluster
from perjoule.model.options import Json
from perjoule.model.redundancy import Amplification, Redundancy
from perjoule.model.series import Series
from perjoule.model.units import bytes_text

# Of results folders, records and tables. Whoever changes what is kept raises it, and has `perjoule verify`
# take older ones by what they had: docs/reference/results-folder.md describes each, and
# tests/unit/store/formats.json has what is kept.
FORMAT = 3
WRITE_BACK = "write-back"  # the phase at whose end the disks hold what was written
REBUILT = "rebuilt"  # the phase at whose end the disks hold what was rebuilt


@dataclass(frozen=True)
class Phase:
    """A named window of a trial ("baseline", "measure", ...)."""

    name: str
    began_s: float
    ended_s: float
    note: str = ""  # its activity: "scrub of 2 placement groups; data written back"


# "mixed": of several users' trial in which some read and some write; "idle": nothing was loaded, and clients
# have only a window.
Direction = Literal["write", "read", "mixed", "idle"]


@dataclass(frozen=True)
class ClientResult:
    """The result of one client in one direction, fsync included; of an idle one only the window, without
    bytes and operations.
    """

    host: str
    direction: Literal["write", "read", "idle"]
    began_s: float
    ended_s: float
    moved_bytes: int
    operations_count: int
    # "mean", "p50", "p95", "p99", "p99.9", "max"
    latency_s: Mapping[str, float] = field(default_factory=dict[str, float])
    user: str = ""  # whose load it was, where several users load at once

    def __post_init__(self) -> None:
        """Refuse impossible values, such as those of a damaged file. Raises ValueError."""
        numbers = {"began_s": self.began_s, "ended_s": self.ended_s, **self.latency_s}
        numbers |= {"moved_bytes": self.moved_bytes, "operations_count": self.operations_count}
        for name, value in numbers.items():
            count = name in ("moved_bytes", "operations_count")
            # a file may hold anything
            if not isinstance(value, int | float) or not isfinite(value) or (count and value < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"{name} of {self.host} is {value!r}, which is impossible")


def covered_s(users: Sequence[Sequence[ClientResult]], least_count: int) -> float:
    """Return the time in which at least this many users load, from the results of each."""
    steps: list[tuple[float, int, int]] = []
    for number, user_results in enumerate(users):
        steps += [step for r in user_results for step in ((r.began_s, 1, number), (r.ended_s, -1, number))]
    under_way = [0] * len(users)
    found_s, before_s = 0.0, 0.0
    for t_s, change, number in sorted(steps):
        if sum(count > 0 for count in under_way) >= least_count:
            found_s += t_s - before_s
        under_way[number] += change
        before_s = t_s
    return found_s


@dataclass(frozen=True)
class Outcome:
    """A workload's results for its measured window."""

    engine: str  # tool and version, as it says itself
    results: tuple[ClientResult, ...]
    doubts: tuple[Doubt, ...] = ()
    # goodput per client over time; stored with the other series, not in the record
    series: tuple[Series, ...] = ()
    # what else was, by names that end in a unit
    measured: Mapping[str, float] = field(default_factory=dict[str, float])
    note: str = ""  # information that is not an objection: "ended by duration"
    sustained: bool = False  # the window is a part of a longer load, whose rate the disks keep up with

    @property
    def began_s(self) -> float:
        """The first client's start."""
        return min(r.began_s for r in self.results)

    @property
    def ended_s(self) -> float:
        """The last client's end."""
        return max(r.ended_s for r in self.results)


@dataclass(frozen=True)
class Clock:
    """One moment on both clocks."""

    monotonic_s: float
    utc_s: float


IMPORTED_BY = "imported by"  # in the environment of a trial that another program ran


@dataclass(frozen=True)
class HostFact:
    """A host of the trial: its role and the catalogue's node that it emulates ("" for none)."""

    name: str
    role: str
    node: str
    address: str = ""
    # CPU seconds per second that count as 100 % of its hardware; None: not known
    cpu_capacity_cores: float | None = None


# of a trial's hosts and file system: the least real counts
Reality = Literal["real", "emulated", "simulated"]


def least_real(parts: Iterable[Reality]) -> Reality:
    """Return the reality of a whole from those of its parts; of nothing, "real"."""
    order: Sequence[Reality] = get_args(Reality)
    return order[max(map(order.index, parts), default=0)]


@dataclass(frozen=True)
class Pattern:
    """How a load gets at its data."""

    transfer_bytes: int | None = None  # of one request; None where that is not known, or differs
    access: Literal["sequential", "random", ""] = ""
    direct: bool | None = None  # whether it passes by the page cache

    @property
    def calls_text(self) -> str:
        """A short form: "calls of 4 MiB by direct I/O"."""
        size = "unknown size" if self.transfer_bytes is None else bytes_text(self.transfer_bytes)
        return f"calls of {size}" + (" by direct I/O" if self.direct else "")


@dataclass(frozen=True)
class Traits:
    """What the drivers of a trial declared of themselves, for analysis, which knows no driver."""

    reality: Reality = "real"
    directions: tuple[Direction, ...] = ("write",)  # measured; a failed trial has no other word of them
    pattern: Pattern = Pattern()
    beneath: str = ""  # file system that was made for the data of each host; "": none was
    beneath_block_bytes: int | None = None  # its block size; None: as its tool chooses


@dataclass(frozen=True)
class Record:
    """One attempt at a trial, as stored: the request, the outcome, the environment, and the doubts."""

    trial: Trial
    status: Literal["valid", "failed"]
    reason: str  # why it failed; "" when valid
    attempt: int
    clock: Clock
    scale: float  # time dilation of the testbed: 1 on real hosts
    cluster: str  # name in the catalogue, or ""
    hosts: tuple[HostFact, ...]
    phases: tuple[Phase, ...]
    outcome: Outcome | None
    facts: Mapping[str, Json]  # of the deployment, as the daemons report them
    environment: Mapping[str, Json]
    doubts: tuple[Doubt, ...] = ()
    hardware: Cluster | None = None  # the catalogue's, as it was when watts were modelled of it
    # of the file system, derived; None where its layout is not known
    amplification: Amplification | None = None
    redundancy: Redundancy | None = None  # of user data; None where the layout is not known
    # names of the hosts that held users' data, as the file system declares; (): not known
    data_hosts: tuple[str, ...] = ()
    traits: Traits = Traits()
    events: tuple[Happened, ...] = ()  # that came about, in the order of time
    health: tuple[Health, ...] = ()  # the file system's answers from the first event on
    # of a cluster that others run: before the load, and after it; (): it is ours, or nothing tells
    states: tuple[ClusterState, ...] = ()
    reason_id: str = ""  # of the error; "" when valid, or where an older record has none
    version: int = FORMAT

    @property
    def imported(self) -> bool:
        """Whether another program ran it, and `perjoule import` kept its output."""
        return IMPORTED_BY in self.environment
