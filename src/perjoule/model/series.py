"""Channels, which say what a meter reads, and the series of their samples."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Index = NDArray[np.int64] | NDArray[np.bool_] | slice
else:  # commands that compute nothing end before numpy would be imported
    Floats = Index = Any

Quantity = Literal[
    "power",
    "energy",
    "cpu",
    "switches",
    "network_received",
    "network_sent",
    "disk_read",
    "disk_written",
    "disk_busy",
    "goodput",
    "latency",
    "calls",
]
Semantics = Literal["counter", "window mean", "instantaneous", "average", "state"]
DRIVE = "drive-"  # begins the component of a channel of a single drive: "drive-nvme0"
INLET = "inlet-"  # begins the component of a channel of one of the supplies of what it covers
_INLET = re.compile(rf"{INLET}([1-9])-of-([2-9])")
SAMPLE = ("t_s", "duration_s", "value", "asked_s", "arrived_s")  # the numbers of a sample, as files keep them
Grade = Literal["wall", "PDU", "BMC", "component", "modelled", "nameplate", "counter", "simulated"]
UNMEASURED: frozenset[Grade] = frozenset({"modelled", "nameplate"})
UNMETERED: frozenset[Grade] = frozenset({*UNMEASURED, "simulated"})  # of watts that no meter read


@dataclass(frozen=True)
class Specification:
    """A meter's specification, as stated by the meter or its manufacturer; None is unknown. Amounts are in
    the channel's unit.

    An error of the reading P on a range R is at most `gain_ratio` * P + `offset`, with `offset` = b * R.
    """

    gain_ratio: float | None = None
    offset: float | None = None
    resolution: float | None = None  # the smallest step of a value
    period_s: float | None = None  # how often the meter itself has something new
    latency_s: float | None = None  # how much older than its moment a value may be
    range_value: float | None = None  # where a counter falls back to 0
    most_w: float | None = None  # the highest power that it can show or that can flow
    clock_s: float | None = None  # standard uncertainty of the times of its samples
    sigma: float | None = None  # standard uncertainty of its values, the same error in all of them


@dataclass(frozen=True)
class Channel:
    """One quantity that a meter reads.

    Its boundary: `host` is one host's name, or "" for a device without a host (a switch); `component` is
    "board", "disks", "switch", "supply" (conversion loss), "drive-nvme0" (a single drive), "inlet-1-of-2" (what
    one of two power supplies takes; only both are the whole), "all" (the whole host) or "total" (the whole
    cluster). CPU time of the machine that all hosts share has no host, and the
    component "machine", "perjoule" (its part) or "kernel" (threads). Latencies and calls of a load have its
    direction, "write" or "read". A meter that covers several hosts, or hosts and the switch, names them in
    `covers`: its `host` is "", its component "group".
    """

    meter: str
    host: str
    component: str
    quantity: Quantity
    unit: Literal["W", "J", "s", "B", "B/s", "1"]
    semantics: Semantics
    grade: Grade
    covers: tuple[str, ...] = ()  # host names, "switch"; of a "group"
    specification: Specification = Specification()

    # quick: samples are filed by their channel, thousands a second; what is left out hardly differs
    def __hash__(self) -> int:
        return hash((self.meter, self.host, self.component, self.quantity))

    @cached_property
    def name(self) -> str:
        """A short unique name within a trial."""
        return f"{self.meter}:{self.host or '+'.join(self.covers)}/{self.component}/{self.quantity}"

    @property
    def is_stated(self) -> bool:
        """Whether it is a number that was measured once, not read: equal samples are no fault, and few are
        enough.
        """
        return self.specification.sigma is not None


def inlet(component: str) -> tuple[int, int] | None:
    """Return which of how many power supplies a component is: "inlet-1-of-2" is (1, 2); None for any other."""
    match = _INLET.fullmatch(component)
    return (int(match[1]), int(match[2])) if match and int(match[1]) <= int(match[2]) else None


@dataclass(frozen=True, eq=False)
class Series:
    """The readings of one channel: N samples in order of time, as they came. A failed read is a gap, never a
    zero.

    No two series are equal: results computed from one are looked up by the object itself
    (`perjoule.energy.once`).

    Shapes: all are float64 of shape (N,). `t_s` is the END of the sample's window; `duration_s` is the
        window's length for
    "window mean" (0 otherwise). A counter's values are cumulative.

    `asked_s` and `arrived_s` are the times of request and answer: a polled sample was taken at some moment
    between them, and `t_s` is the middle. `asked_s` is NaN if another clock dated the sample, and `arrived_s`
    if its arrival is unknown (a log that was read afterwards); both are None if no sample has them.
    """

    channel: Channel
    t_s: Floats
    duration_s: Floats
    value: Floats
    asked_s: Floats | None = None
    arrived_s: Floats | None = None

    @classmethod
    def of_rows(cls, channel: Channel, rows: Floats) -> "Series":
        """Make a series from a table of samples, shape (N, 5), in the order of SAMPLE."""
        import numpy as np

        asked_s, arrived_s = (None if np.isnan(rows[:, n]).all() else rows[:, n].copy() for n in (3, 4))
        return cls(channel, rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy(), asked_s, arrived_s)

    @classmethod
    def joined(cls, parts: "Iterable[Series]") -> "tuple[Series, ...]":
        """Join the series of each channel, in this order."""
        import numpy as np

        rows_of: dict[Channel, list[Floats]] = {}
        for part in parts:
            rows_of.setdefault(part.channel, []).append(part.rows())
        return tuple(cls.of_rows(channel, np.concatenate(rows)) for channel, rows in rows_of.items())

    def rows(self) -> Floats:
        """Return its samples as a table, shape (N, 5), in the order of SAMPLE; NaN is unknown."""
        import numpy as np

        unknown = np.full(len(self.t_s), np.nan)
        times = (unknown if t_s is None else t_s for t_s in (self.asked_s, self.arrived_s))
        return np.column_stack((self.t_s, self.duration_s, self.value, *times))

    def at(self, index: Index, later_s: Floats | float = 0.0) -> "Series":
        """Return only these samples, in this order, on a clock that is ahead of theirs by `later_s`, shape
        () or (N,).
        """
        # a slice of a sum would keep all of it in memory
        own_later_s = later_s if isinstance(later_s, float | int) else later_s[index]
        times = (None if t_s is None else t_s[index] + own_later_s for t_s in (self.asked_s, self.arrived_s))
        return Series(
            self.channel, self.t_s[index] + own_later_s, self.duration_s[index], self.value[index], *times
        )
