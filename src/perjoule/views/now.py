"""A moment of a run, from which the live page draws a point of each line."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from perjoule.model import Channel
from perjoule.store.progress import RunningLoad

if TYPE_CHECKING:
    from perjoule.trial.live import LiveBoundary
    from perjoule.trial.reading import Dilation


@dataclass(frozen=True)
class Now:
    """What meters and counters say at a moment: powers, and rates of counters, in their unit per second of
    wall time.
    """

    load: RunningLoad
    values: Mapping[Channel, float]
    boundaries: "Mapping[str, LiveBoundary]"  # by their name in `BOUNDARIES`

    @cached_property
    def totals(self) -> Mapping[tuple[str, str], float]:
        """The values added up by host and quantity."""
        from perjoule.trial.live import totals

        return totals(self.values)

    @property
    def dilation(self) -> "Dilation":
        """How wall time becomes emulated time."""
        from perjoule.trial.reading import Dilation

        return Dilation(self.load.scale)
