"""Doubts about change over a campaign."""

from collections.abc import Sequence

from perjoule.model.doubts.kind import Kind, doubt
from perjoule.model.units import seconds_text


class ChangeDoubts(Kind):
    """Doubts about change over a campaign."""

    @doubt
    def drifts(
        self,
        *,
        metric: str,
        drift_ratio: float,
        low_ratio: float,
        high_ratio: float,
        p: float,
        others: Sequence[str] = (),
    ) -> str:
        """Results changed from the first trial to the last.

        Find the cause, or compare rows that were measured in turns.
        """
        drift, low, high = (f"{100 * ratio:+.1f} %" for ratio in (drift_ratio, low_ratio, high_ratio))
        return (
            f"{metric} drifts by {drift} from the first trial to the last ({low} to {high}, p = "
            f"{p:.2g}){_so_do(others)}"
        )

    @doubt
    def correlated(self, *, metric: str, r: float, p: float, others: Sequence[str] = ()) -> str:
        """Neighbouring trials resemble each other. Intervals are too narrow; repeat at other times."""
        return (
            f"{metric} of neighbouring trials is correlated (r = {r:.2f}, p = {p:.2g}): they carry less "
            f"information than their number suggests{_so_do(others)}"
        )

    @doubt
    def clock_set(self, *, set_s: float) -> str:
        """The clock was set between two trials, so their order in time is not known.

        Leave it to chrony, which slews.
        """
        direction = "back" if set_s < 0 else "forward"
        return f"since the trial before this one the clock was set {direction} by {seconds_text(abs(set_s))}"

    @doubt
    def set_aside(self, *, attempt: str, count: int) -> str:
        """The journal does not list measured attempts, so they are in no number.

        Look at why it was changed.
        """
        which = f"attempt {attempt} was" if count == 1 else f"{count} attempts were"
        return f"{which} set aside because the journal does not list {'it' if count == 1 else 'them'}"


def _so_do(metrics: Sequence[str]) -> str:
    return f"; so {'do' if len(metrics) > 1 else 'does'} {', '.join(metrics)}" if metrics else ""


CHANGE = ChangeDoubts(
    "change",
    "Change over the campaign",
    "differences between rows may come from the time at which they were measured",
)
