"""Doubts about a cluster that others run and use."""

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.units import bytes_text


class SharedDoubts(Kind):
    """Doubts about a cluster that others run and use."""

    @doubt
    def degraded(self, *, lacks: str) -> str:
        """The campaign allows a cluster that lacks something (`while_degraded`). Compare it with no whole
        one.
        """
        return f"the cluster was degraded when the trial began: {lacks}"

    @doubt
    def health_changed(self, *, before: str, after: str) -> str:
        """The cluster lost or regained something. Repeat the trial once it has healed."""
        return (
            f"the cluster's health changed during the trial: {before or 'whole'}; later: {after or 'whole'}"
        )

    @doubt
    def changed(self, *, changes: str) -> str:
        """Somebody or something changed the cluster. Repeat the trial."""
        return f"the cluster changed during the trial: {changes}"

    @doubt
    def working(self, *, work: str) -> str:
        """The cluster worked by itself, at this load's expense, or does not say so. Repeat it at a quieter
        time.
        """
        return f"the cluster had, or may have had, work of its own: {work}"

    @doubt
    def others(self, *, others_bytes: int, share_ratio: float) -> str:
        """Others used the cluster, whose idle and busy watts are in the joules. Repeat it at a quieter
        time.
        """
        return (
            f"other clients moved {bytes_text(others_bytes)} meanwhile, {100 * share_ratio:.0f} % of all: "
            "joules and throughput are not this load's alone"
        )

    @doubt
    def idle_watts(self) -> str:
        """All that the cluster draws idle is in the joules, although it also serves others. Compare dynamic
        ones.
        """
        return (
            "the joules have all idle watts of a cluster that serves others, too; dynamic ones leave them out"
        )

    @doubt
    def others_unknown(self) -> str:
        """The cluster counts no bytes of clients. Ask its administrator who used it."""
        return "what other clients of the cluster moved meanwhile is unknown: the joules may be theirs, too"

    @doubt
    def state_unknown(self, *, error: str) -> str:
        """The cluster did not answer after the load. The error says why; repeat the trial."""
        return f"the cluster's state after the load is unknown: {error}"

    @doubt
    def unwatched(self, *, mount: str) -> str:
        """Nothing says whether the cluster was whole. Name it (`ceph`, `lustre` and others)."""
        return f"whether the cluster behind {mount} was whole, and who else used it, is unknown"


SHARED = SharedDoubts(
    "shared cluster",
    "A cluster that others run",
    "it may be degraded, at work for itself or for others: the numbers may not be this load's",
    disqualifies=True,
    spared=("idle_watts", "others_unknown", "unwatched"),
)
