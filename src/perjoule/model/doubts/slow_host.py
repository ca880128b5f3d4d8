"""Doubts about a host that was slower than the others."""

from perjoule.model.doubts.kind import Kind, doubt


class SlowHostDoubts(Kind):
    """Doubts about a host that was slower than the others."""

    @doubt
    def straggler(self, *, host: str, signs: str) -> str:
        """One data host held back the others. Check its disks, CPU and network."""
        return f"{host} was slower than the other data hosts ({signs}): check its disks, CPU and network"


SLOW_HOST = SlowHostDoubts(
    "slow host",
    "One host as the limit",
    "all hosts kept the pace of the slowest: throughput and efficiency may be too low",
    disqualifies=True,
)
