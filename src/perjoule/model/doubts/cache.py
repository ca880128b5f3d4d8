"""Doubts that a cache, and not the disks, served a load."""

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.doubts.traffic import fewer


class CacheDoubts(Kind):
    """Doubts that a cache, and not the disks, served a load."""

    @doubt
    def above_network(self, *, host: str, times_ratio: float, direction: str) -> str:
        """A host moved more than its network carries. Move more data than caches hold, or drop caches."""
        return (
            f"{host} moved {times_ratio:.2f} times what its network can carry: a cache served the {direction}"
        )

    @doubt
    def above_peak(self, *, direction: str, times_ratio: float) -> str:
        """The load was faster than the hardware can be.

        Move more data than caches hold, or correct the catalogue.
        """
        return f"{direction}: {times_ratio:.2f} times the theoretical peak performance of the cluster"

    @doubt
    def above_disks(self, *, host: str, above_ratio: float, direction: str) -> str:
        """A host moved more than its disks can. Move more data than its memory holds."""
        more = f"{100 * above_ratio:.0f} % more than its disks can"
        return f"{host} moved {more}: a cache served the {direction}, or caps leaked"

    @doubt
    def of_clients(self, *, received_ratio: float) -> str:
        """Clients read from their own memory. Read more than it holds, or with direct I/O."""
        share = f"{100 * received_ratio:.0f} %"
        return f"the clients' page cache served reads: they received {share} of the bytes they read"

    @doubt
    def of_servers(self, *, fetched_ratio: float, servers: bool) -> str:
        """Disks read less than clients did. Read more than the memory of the servers holds."""
        whose = "the servers' page cache" if servers else "the page cache"
        return (
            f"{whose} served reads: the disks read {100 * fetched_ratio:.0f} % of the bytes that clients read"
        )

    @doubt
    def unread_servers(self) -> str:
        """Nobody reads counters of the servers, which may have had the data in memory.

        Read several times as much as that holds.
        """
        return (
            "reads may have been served by the servers' memory: nobody reads what their disks did (move several "
            "times as much as it holds)"
        )

    @doubt
    def read_too_little(self, *, direction: str, subject: str, derived_ratio: float, cause: str) -> str:
        """Hosts read fewer bytes than users. Read more than caches hold."""
        return fewer(direction, subject, derived_ratio, cause)

    @doubt
    def left(self, *, caches: str) -> str:
        """A cache was not dropped before the load. Read more than it holds."""
        return f"{caches} was not dropped"

    @doubt
    def not_dropped(self, *, error: str) -> str:
        """Page caches were not dropped before the load. The error says why."""
        return f"page caches were not dropped: {error}"


CACHE = CacheDoubts(
    "cache",
    "Caches and physical bounds",
    "throughput and efficiency may be those of a cache, and too high by any factor",
    disqualifies=True,
)
