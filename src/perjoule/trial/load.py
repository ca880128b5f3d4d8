"""One load of a trial: all that moved in one direction, or all users together.

It is what everything is measured of.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from perjoule.energy.hosts import roles
from perjoule.model import ClientResult, Direction, Numbers, Quantity, Record
from perjoule.trial.counters import Total, window
from perjoule.trial.reading import Reading
from perjoule.trial.windows import Windows

# of its window, in which all clients must run for a rate of all of them to mean something
REFUSED_RATIO = 0.1

Measure = Callable[["Load"], Numbers]


def overlap_ratio(results: Sequence[ClientResult]) -> float:
    """Return the share of the time from the first start to the last end in which all load."""
    began_s, ended_s = min(r.began_s for r in results), max(r.ended_s for r in results)
    shared_s = min(r.ended_s for r in results) - max(r.began_s for r in results)
    return max(0.0, shared_s) / (ended_s - began_s)


@dataclass(frozen=True, eq=False)
class Load:
    """The load of a point: its reading, and its direction there.

    Times are those of the wall clock, unless they say otherwise.
    """

    reading: Reading
    direction: Direction
    _measured: dict[Measure, Numbers] = field(default_factory=dict[Measure, Numbers])

    def numbers(self, measure: Measure) -> Numbers:
        """Return the numbers of a measure, computed once."""
        if measure not in self._measured:
            self._measured[measure] = measure(self)
        return self._measured[measure]

    @property
    def record(self) -> Record:
        """Return the trial's record."""
        return self.reading.record

    @property
    def workload_numbers(self) -> Mapping[str, float]:
        """Return what its workload measured by itself, by keys."""
        return self.record.outcome.measured if self.record.outcome else {}

    @property
    def results(self) -> Sequence[ClientResult]:
        """Return the results of its clients."""
        return self.reading.loads[self.direction]

    @property
    def span(self) -> Windows:
        """Return its windows."""
        return self.reading.windows[self.direction]

    @property
    def window(self) -> tuple[float, float]:
        """Return the begin and the end of its headline window, seconds."""
        return self.span.began_s, self.span.ended_s

    @property
    def idle(self) -> bool:
        """Whether it is the absence of a load."""
        return self.direction == "idle"

    @cached_property
    def moved_bytes(self) -> int:
        """Return the users' bytes."""
        return sum(r.moved_bytes for r in self.results)

    @cached_property
    def operations_count(self) -> int:
        """Return the users' operations."""
        return sum(r.operations_count for r in self.results)

    @property
    def duration_s(self) -> float:
        """Return the length of its headline window in emulated time."""
        return self.emulated(self.span.length_s)

    @property
    def together(self) -> bool:
        """Whether its clients ran together long enough for rates of all of them; several users need not."""
        return any(r.user for r in self.results) or overlap_ratio(self.results) >= REFUSED_RATIO

    @cached_property
    def roles(self) -> Mapping[str, frozenset[str]]:
        """Return the hosts of each role, and all but clients as "servers"."""
        return roles(self.record)

    def emulated(self, wall: float) -> float:
        """Return seconds or joules of the emulated cluster."""
        return self.reading.dilation.emulated(wall)

    def total(self, quantity: Quantity, hosts: frozenset[str], began_s: float, ended_s: float) -> Total:
        """Add up a counter over hosts in a window; None (without a doubt) if one of them lacks it."""
        return self.reading.total(quantity, hosts, began_s, ended_s)

    def around(self, began_s: float, ended_s: float) -> tuple[float, float]:
        """Extend a window over the idle ones around the load, for counts per byte."""
        return window(self.record, began_s, ended_s)
