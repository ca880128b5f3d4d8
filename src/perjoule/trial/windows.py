"""The windows of a point's numbers: the headline of a write runs until the disks hold the data, and includes
its burst.

    headline   from the first client's start to the end of the write-back; of a read, or idle, to the last
               client's end
    burst      from the first client's start to the last client's end, when its last fsync has returned

The write-back follows the load, so it closes only the last write. See decision 14.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perjoule.model import WRITE_BACK, ClientResult, Record
from perjoule.model.doubts import IN_FLIGHT, Doubt

LATER_RATIO = 0.05  # of the burst, by which other loads may end later


@dataclass(frozen=True)
class Windows:
    """Moments of a point: `burst_s` is the last client's end, `ended_s` the headline's; `durable`: the
    write-back closed it.
    """

    began_s: float
    burst_s: float
    ended_s: float
    durable: bool = False
    doubts: tuple[Doubt, ...] = ()

    @property
    def length_s(self) -> float:
        """Length of the headline, wall time."""
        return self.ended_s - self.began_s


def windows(record: Record, results: Sequence[ClientResult]) -> Windows:
    """Return the windows of the results of one point in a valid trial."""
    assert record.outcome is not None
    began_s, burst_s = min(r.began_s for r in results), max(r.ended_s for r in results)
    plain = Windows(began_s, burst_s, burst_s)
    if all(r.direction != "write" for r in results) or record.outcome.sustained:
        return plain
    written_s = next((p.ended_s for p in record.phases if p.name == WRITE_BACK), None)
    later_s = record.outcome.ended_s - burst_s
    if written_s is None or later_s > LATER_RATIO * (burst_s - began_s):
        return Windows(began_s, burst_s, burst_s, doubts=(IN_FLIGHT.durable_unknown(),))
    return Windows(began_s, burst_s, max(burst_s, written_s), durable=True)
