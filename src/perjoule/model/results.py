"""Values derived from records: the numbers of a trial, intervals over repetitions, findings."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from math import ceil, inf, isfinite

from perjoule.model.campaign import Trial
from perjoule.model.doubts import Doubt
from perjoule.model.numbers import Numbers
from perjoule.model.records import Direction, Reality
from perjoule.model.redundancy import Redundancy
from perjoule.model.series import Grade


@dataclass(frozen=True)
class Point(Numbers):
    """The numbers of one valid trial, derived from its record and series; on an emulated testbed in
    emulated time.
    """

    _: KW_ONLY
    trial: Trial
    direction: Direction
    # of what was measured: where it is "simulated", so is the grade of every energy
    reality: Reality = "real"


@dataclass(frozen=True)
class Interval:
    """A metric over repetitions: the mean with its 95 % confidence interval (infinite when n = 1), and all
    values.
    """

    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    @property
    def maximum(self) -> float:
        """The largest value, which papers like to print: an order statistic that grows with n."""
        return max(self.values)


@dataclass(frozen=True)
class Ran:
    """The time at which a repetition was measured (UTC)."""

    repetition: int
    began_s: float
    ended_s: float


@dataclass(frozen=True)
class Cell:
    """All repetitions of one combination, summarised: a table's row, a figure's mark."""

    filesystem: str  # labels
    workload: str
    direction: Direction
    clients_count: int
    # the keys of Numbers.metrics, and "edp_ratio" (over the best of the same work)
    metrics: Mapping[str, Interval]
    failed_count: int = 0
    doubts: tuple[Doubt, ...] = ()
    # numbers that it lacks, with the reason; they say nothing against those that it has
    omitted: tuple[str, ...] = ()
    servers_count: int = 0  # storage hosts; 0 where none of its trials was measured
    # of its energy, "wall+PDU" where repetitions differ; two grades are never ranked against each other
    grade: str = ""
    # as of a Point, the mean
    shared: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])
    redundancy: Redundancy | None = None  # of user data; None where it is not known
    ran: tuple[Ran, ...] = ()  # each repetition, in the order of the values of a metric that all have
    widening: float = 1.0  # of its intervals, where they decided how often was repeated
    # as Numbers.grades, written like `grade`
    grades: Mapping[str, str] = field(default_factory=dict[str, str])
    unstated: tuple[str, ...] = ()  # as Numbers.unstated, of any repetition
    reality: Reality = "real"  # as Point.reality, the least real of the repetitions

    def grade_of(self, boundary: str) -> str:
        """Return the grade of a boundary's energy."""
        return self.grades.get(boundary, self.grade)

    @property
    def legend(self) -> str:
        """Return the file system's name for a legend, with its redundancy, so 1 copy is not ranked above 2
        unnoticed.
        """
        return f"{self.filesystem} ({self.redundancy.text})" if self.redundancy else self.filesystem


@dataclass(frozen=True)
class PartEnergy:
    """The energy of a part of one host in a window: a drive, a processor, a GPU, a board.

    Parts may overlap.
    """

    host: str
    part: str  # as channels name it: "drive-nvme0", "package-0"
    meter: str
    grade: Grade
    length_s: float
    energy_j: float | None  # None: refused, or only a bound
    most_j: float | None = None  # the bound, where only a state is known

    @property
    def mean_w(self) -> float | None:
        """Mean power."""
        return None if self.energy_j is None else self.energy_j / self.length_s


@dataclass(frozen=True)
class Worn:
    """An aged file system over the same one that is new, or least full, in one metric."""

    new: Cell
    aged: Cell
    metric: str
    ratio: Interval  # aged / new


@dataclass(frozen=True)
class Replacement:
    """How many low-power machines do a workload as fast as one server, and their power."""

    server: str  # label of what is replaced: "device on virtual pc-hdd1"
    low_power: str  # label of what would be in its place
    workload: str
    direction: Direction
    machines_ratio: Interval  # low-power machines for one server at the same throughput
    # their power over the server's, for as many as that, a fraction included; None if refused
    power_ratio: Interval | None
    whole_power_ratio: Interval | None  # the same for whole machines, as many as `machines_counts` may be
    refused: str = ""  # why power is not compared

    @property
    def machines_count(self) -> int:
        """The number of whole machines that one must buy, for the mean."""
        return int(_whole(self.machines_ratio.mean))

    @property
    def machines_counts(self) -> tuple[float, float]:
        """The fewest and the most whole machines that the interval of their number allows."""
        return _whole(self.machines_ratio.low), _whole(self.machines_ratio.high)

    @property
    def verdict(self) -> str:
        """The verdict on whole machines."""
        ratio = self.whole_power_ratio
        if ratio is None:
            return f"not compared: {self.refused}"
        if not isfinite(ratio.high):
            return "one repetition is not enough to tell"
        return (
            "less power"
            if ratio.high < 1
            else "more power"
            if ratio.low > 1
            else "not significantly different"
        )


def _whole(machines: float) -> float:
    return max(1.0, float(ceil(machines - 1e-9))) if isfinite(machines) else inf  # 3 of 3.0000000001 are 3
