"""Doubts that disks held the data when the load ended."""

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.doubts.traffic import fewer


class InFlightDoubts(Kind):
    """Doubts that disks held the data when the load ended."""

    @doubt
    def durable_unknown(self) -> str:
        """Servers did not say when their disks held the data. Compare the window with the tail."""
        return (
            "it is not known when the servers' disks held the data: the headline window ends with the last "
            "client's program"
        )

    @doubt
    def not_flushed(self, *, program: str) -> str:
        """The program flushes nothing before its time ends. Measure with direct I/O, or with fsync at its
        end.
        """
        return f"{program} wrote to the page cache, and its time ends without a flush to the disks"

    @doubt
    def quiet_unknown(self, *, error: str) -> str:
        """The file system did not say whether it is quiet. The next trial may have had company."""
        return f"can't tell whether the file system is quiet: {error}"

    @doubt
    def still_busy(self, *, waited_s: float, activity: str) -> str:
        """Servers were busy when the next trial began. Raise `quiet`."""
        return f"still busy {waited_s:g} s after the load, gave up waiting: {activity}"

    @doubt
    def not_written_back(self, *, error: str) -> str:
        """A sync failed, so data may be in memory. The error says why; repeat the trial."""
        return f"data were not written back: {error}"

    @doubt
    def written_too_little(self, *, direction: str, subject: str, derived_ratio: float, cause: str) -> str:
        """Hosts wrote fewer bytes than redundancy needs. Write more than caches hold."""
        return fewer(direction, subject, derived_ratio, cause)


IN_FLIGHT = InFlightDoubts(
    "in flight",
    "Data still in flight",
    "the load may have ended before the disks held the data: throughput and efficiency may be too high",
    disqualifies=True,
    spared=("durable_unknown",),
)
