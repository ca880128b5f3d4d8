"""Doubts about failures and other events."""

from perjoule.model.doubts.kind import Kind, doubt


class EventDoubts(Kind):
    """Doubts about failures and other events."""

    @doubt
    def late(self, *, event: str, late_s: float) -> str:
        """An event was done late. Its times count from when it was done."""
        return f"{event} was done {late_s * 1e3:.0f} ms late"

    @doubt
    def missed(self, *, event: str) -> str:
        """The load ended before an event. Lengthen the load, or have it earlier."""
        return f"{event} did not happen: the load ended before"

    @doubt
    def gain_unknown(self, *, host: str, error: str) -> str:
        """A host that joined did not say what it holds. The error says why."""
        return f"can't tell what {host} has got: {error}"

    @doubt
    def not_healthy(self, *, state: str) -> str:
        """Healing lasted longer than the trial. Raise `quiet`, or lengthen the load."""
        unknown = "so the time and the joules until then are not known"
        return f"it was not healthy by the end of the trial, {unknown}: {state}"

    @doubt
    def pauses(self) -> str:
        """The load stalls without an event, too. Compare it with a trial without events."""
        return "the load pauses by itself, also before the first event: its stalls are not all due to events"

    @doubt
    def both_directions(self) -> str:
        """Clients read and wrote at once. Measure one direction for rates and stalls."""
        return (
            "rates and stalls are left out: clients read and wrote at once, and their logs have the bytes "
            "of both"
        )

    @doubt
    def latencies_too_long(self, *, metrics: str) -> str:
        """Calls took longer than the log can say. Look at the stalls instead."""
        too_long = "calls took longer than the load generator's log of latencies can tell"
        return f"{too_long}, so these are left out: {metrics}"

    @doubt
    def rebuild_beside(self, *, events: str, count: int) -> str:
        """Another event may have moved bytes, too. Have the disk fail alone."""
        beside = f"{'another event' if count == 1 else 'other events'} ({events})"
        verb = "was" if count == 1 else "were"
        why = f"{beside} {verb} in the trial, which may move bytes too"
        return f"the rebuild has no numbers of its own: {why}"

    @doubt
    def nothing_before_rebuild(self) -> str:
        """What hosts do without a rebuild was not measured. Have the disk fail later."""
        return "the rebuild is not compared with the redundancy: less than a second was measured before it"

    @doubt
    def nothing_to_rebuild(self) -> str:
        """The failed disk was empty. Write more data before."""
        return "the rebuild is not compared with the redundancy: the disk held nothing"


EVENTS = EventDoubts(
    "events",
    "Failures that went otherwise",
    "times, joules and stalls of failures may be missing, or have another cause; those of the whole load "
    "stand",
)
