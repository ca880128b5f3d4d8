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
    of a candidate.
    """

    published: Published
    # what is predicted here: as many servers or more had this redundancy, and were slower than the band
    contradicts: bool

    @property
    def what(self) -> Measure:
        """Which rate of a candidate it is about."""
        return READ if self.published.direction == "read" else WRITE

    @property
    def text(self) -> str:
        """Say what was measured, on what, and what had been predicted for it."""
        one = self.published
        assert one.range_bytes_per_s is not None
        low, high = map(self.what.number, one.range_bytes_per_s)
        printed = number(one.printed_bytes_per_s / self.what.unit.per)
        where = (
            f"{one.servers_count:g} x {one.cluster}, {one.filesystem} {one.redundancy}, {one.clients} clients"
        )
        measured = f"{one.paper} measured {printed} {self.what.unit.symbol} {one.direction} ({where})"
        return f"{measured} against {low} to {high} predicted for it"


@cache
def _missed() -> tuple[Published, ...]:
    """Return what papers printed outside the 90 % band of its prediction."""
    return tuple(one for one in compared() if one.held is False and one.basis == "profile")


def measurements(
    cluster: str, choice: Choice, servers_count: int, lows: Mapping[Measure, float]
) -> Iterator[Measurement]:
    """Find what contradicts a candidate, or what makes it doubtful, because the same profile was wrong about
    the same servers.

    Args:
        cluster: of the catalogue, that has the candidate's servers; "" for none.
        choice: its file system.
        servers_count: its servers.
        lows: of READ and WRITE, the lower ends of its bands, in B/s.
    """
    for one in _missed() if cluster else ():
        if (one.cluster, one.filesystem) == (cluster, choice.filesystem):
            alike = one.redundancy == choice.redundancy.text and servers_count <= (one.servers_count or 0)
            what = READ if one.direction == "read" else WRITE
            yield Measurement(one, alike and one.printed_bytes_per_s < lows[what])
