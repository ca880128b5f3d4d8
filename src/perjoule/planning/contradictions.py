"""What papers measured on the servers of a candidate, with its file system, where a plan predicts
something else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from perjoule.model.format import number
from perjoule.planning.candidates import Choice
from perjoule.planning.measures import READ, WRITE, Measure
from perjoule.prediction.published import Published, compared


@dataclass(frozen=True)
class Measurement:
    """A printed throughput that the prediction for its own cluster did not hold, beside what is predicted
    of a candidate; another machine than those emulated is no excuse, for this one was measured.
    """

    published: Published
    # what is predicted here: as many servers or more had this redundancy, and were slower than its band by
    # emulation begins
    contradicts: bool

    @property
    def measure(self) -> Measure:
        """Which rate of a candidate it is about."""
        return READ if self.published.direction == "read" else WRITE

    @property
    def text(self) -> str:
        """Say what was measured, on what, and what had been predicted for it."""
        published = self.published
        assert published.emulated_bytes_per_s is not None
        low, high = map(self.measure.number, published.emulated_bytes_per_s)
        printed = number(published.printed_bytes_per_s / self.measure.unit.per)
        conditions = (
            f"{published.servers_count:g} x {published.cluster}, {published.filesystem} "
            f"{published.redundancy}, {published.clients} clients"
        )
        rate = f"{printed} {self.measure.unit.symbol} {published.direction}"
        measured = f"{published.paper} measured {rate} ({conditions})"
        return f"{measured} against {low} to {high} predicted for it"


@cache
def _missed() -> tuple[Published, ...]:
    """Return what papers printed outside the 90 % band of its prediction by emulation."""
    return tuple(published for published in compared() if published.emulated_held is False)


def measurements(
    cluster: str, choice: Choice, servers_count: int, promised: Mapping[Measure, float]
) -> Iterator[Measurement]:
    """Find what contradicts a candidate, or what makes it doubtful, because the same profile was wrong about
    the same servers.

    Args:
        cluster: of the catalogue, that has the candidate's servers; "" for none.
        choice: its file system.
        servers_count: its servers.
        promised: its READ and WRITE, in B/s.
    """
    for published in _missed() if cluster else ():
        if (published.cluster, published.filesystem) == (cluster, choice.filesystem):
            alike = published.redundancy == choice.redundancy.text and servers_count <= (
                published.servers_count or 0
            )
            measure = READ if published.direction == "read" else WRITE
            least_bytes_per_s = promised[measure] * published.least_ratio
            yield Measurement(published, alike and published.printed_bytes_per_s < least_bytes_per_s)
