"""A trial on a cluster that others run: it begins only on a whole one, and what changed meanwhile, or others
moved, is doubted.
"""

import time

from perjoule import drivers
from perjoule.drivers.protocols import Check, Mounted, NamesCluster, OfOthers, StandsReady, TellsState
from perjoule.model import Campaign, ClusterState, Outcome, Trial
from perjoule.model.cluster_state import changes
from perjoule.model.doubts import SHARED, Doubt
from perjoule.model.errors import ClusterDegraded, WorkloadError

# Of others, below which they are not doubted: attributes and journals of our own files count as theirs.
LEAST_BYTES = 1024**2
LEAST_SHARE_RATIO = 0.02

HEAL = "wait until it has healed, or set while_degraded = true in the table that names it"


def beforehand(campaign: Campaign) -> tuple[Check, ...]:
    """Ask the clusters that others run how they are, where a testbed's first client can be asked before it is
    held.
    """
    trials = {(trial.testbed.label, trial.filesystem.label): trial for trial in campaign.trials}
    return tuple(check for trial in trials.values() for check in _asked(trial))


def _asked(trial: Trial) -> tuple[Check, ...]:
    testbed, filesystem = drivers.testbed(trial.testbed), drivers.filesystem(trial.filesystem)
    name = f"cluster of {trial.filesystem.label}"
    if not (isinstance(testbed, StandsReady) and isinstance(filesystem, NamesCluster)):
        return ()
    cluster = filesystem.cluster(testbed.first_client())
    if cluster is None or not all(check.ok for check in filesystem.checks()):
        return ()  # it names none, or lacks a tool, as another check says
    try:
        state = cluster.state()
    except WorkloadError as error:
        return (Check(name, False, error.what, error.next),)
    redundancy = state.redundancy.text if state.redundancy else ""
    detail = "; ".join(filter(None, (state.lacks, state.health, state.version, redundancy, state.work)))
    return (Check(name, not state.lacks, detail, HEAL, needed=not cluster.while_degraded),)


class ClusterWatch:
    """Asks the cluster before and after a load; of one that is perjoule's own it asks nothing."""

    def __init__(self, mounted: Mounted) -> None:
        self._cluster = mounted if isinstance(mounted, TellsState) else None
        self._unwatched = mounted.unwatched if isinstance(mounted, OfOthers) else ""
        self.states: tuple[ClusterState, ...] = ()

    def require_whole(self) -> None:
        """Refuse a cluster that lacks something, unless the campaign allows it.

        Raises WorkloadError: it does, or it does not answer.
        """
        if self._cluster:
            state = self._cluster.state()
            if state.lacks and not self._cluster.while_degraded:
                raise ClusterDegraded(
                    f"the cluster is degraded: {state.lacks}",
                    next=HEAL,
                )

    def begin(self, *, prepared: bool) -> None:
        """Ask before the load; later if data have been prepared, so that they are in the counts by then.

        Raises WorkloadError.
        """
        if self._cluster:
            time.sleep(self._cluster.late_s if prepared else 0.0)
            self.states = (self._cluster.state(),)

    def end(self, loaded: Outcome, quiet_since_s: float, *, checked: bool = False) -> list[Doubt]:
        """Ask after the load, once its last bytes are in the counts, and return what is doubted; it is `checked` if
        what it wrote may have been read since.
        """
        if self._cluster is None or not self.states:
            return [SHARED.unwatched(mount=self._unwatched)] if self._unwatched else []
        time.sleep(max(0.0, quiet_since_s + self._cluster.late_s - time.monotonic()))
        try:
            self.states = (self.states[0], self._cluster.state())
        except WorkloadError as error:
            return [SHARED.state_unknown(error=str(error))]
        return doubts(*self.states, loaded, checked=checked)


def doubts(
    before: ClusterState, after: ClusterState, loaded: Outcome, *, checked: bool = False
) -> list[Doubt]:
    """Doubt a load by what its cluster said before and after it."""
    causes = [SHARED.degraded(lacks=before.lacks)] if before.lacks else []
    if before.lacks != after.lacks:
        causes.append(SHARED.health_changed(before=before.lacks, after=after.lacks))
    if changed := changes(before, after):
        causes.append(SHARED.changed(changes="; ".join(changed)))
    if work := "; ".join(dict.fromkeys(filter(None, (before.work, after.work)))):
        causes.append(SHARED.working(work=work))
    others_bytes = moved_by_others(before, after, loaded, checked=checked)
    if others_bytes is None:
        return [*causes, SHARED.others_unknown()]
    ours_bytes = sum(result.moved_bytes for result in loaded.results)
    share_ratio = others_bytes / max(1, others_bytes + ours_bytes)
    if others_bytes >= LEAST_BYTES and share_ratio >= LEAST_SHARE_RATIO:
        causes.append(SHARED.others(others_bytes=others_bytes, share_ratio=share_ratio))
    return causes


def moved_by_others(
    before: ClusterState, after: ClusterState, loaded: Outcome, *, checked: bool = False
) -> int | None:
    """Return what clients have moved between two states beyond a load; None: it is not counted.

    Reads that caches of the load's own clients served are not in the cluster's counts: others' reads may be
    more by as much. A load that is `checked` may have read all that it wrote once more.
    """
    others_bytes = 0
    results = () if after.of_others else loaded.results
    ours_bytes = {way: sum(r.moved_bytes for r in results if r.direction == way) for way in ("write", "read")}
    for direction, first, then in (
        ("write", before.written_bytes, after.written_bytes),
        ("read", before.read_bytes, after.read_bytes),
    ):
        if first is None or then is None or then < first:  # a pool was removed
            return None
        beyond_bytes = max(0, then - first - ours_bytes[direction])
        if direction == "read" and checked and beyond_bytes >= (1 - LEAST_SHARE_RATIO) * ours_bytes["write"]:
            beyond_bytes = max(0, beyond_bytes - ours_bytes["write"])
        others_bytes += beyond_bytes
    return others_bytes
