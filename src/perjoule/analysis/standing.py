"""An energy counter that stands between its steps: some plugs update theirs once a minute, others count whole watt-hours.

The energy of a step was drawn at any time since the step before. So if an end of a window lies between two steps, an unknown
share of the later one, d, is wrong: d / sqrt(12), and on average d / 2, which cancels as far as the steps at both ends are equal.
A counter that moves with every reading does not stand, however seldom it is read.
"""

from dataclasses import dataclass
from math import hypot, sqrt

import numpy as np

from perjoule.analysis.integral import Integral

LEAST_STEPS = 3  # in a window: with less, one step at either end is more than 20 % of the energy
FEW_STEPS = 5  # below which it is doubted
GLANCE_COUNT = 8  # readings at the begin of a window that show whether it steps at all


@dataclass(frozen=True)
class Standing:
    """How a counter stands in a window: its steps inside, and the step (J) that spans either end, 0 if it does not stand."""

    steps_count: int
    began_j: float
    ended_j: float

    @property
    def standard_j(self) -> float:
        """The resulting standard uncertainty."""
        return hypot(self.began_j / sqrt(12), self.ended_j / sqrt(12), (self.began_j - self.ended_j) / 2)


def standing(whole: Integral, began_s: float, ended_s: float) -> Standing | None:
    """Return how an energy counter stands in a window; None if each reading is a new one, or the series is not a counter."""
    if whole.channel.semantics != "counter" or whole.channel.quantity != "energy":
        return None
    t_s = whole.samples.t_s
    first, last = (int(i) for i in np.searchsorted(t_s, [began_s, ended_s], side="left"))  # the pieces that the ends cut
    low, high = max(first - 1, 1), min(last + 2, len(t_s))
    if np.diff(whole.samples.value[low - 1 : high]).all():
        return None
    steps = whole.steps
    within = steps[(t_s[steps] > began_s) & (t_s[steps] <= ended_s)]
    return Standing(len(within), _spanning_j(whole, first), _spanning_j(whole, last))


def refused(whole: Integral, began_s: float, ended_s: float) -> bool:
    """Return whether a counter steps too rarely in a window to determine its energy."""
    t_s, value = whole.samples.t_s, whole.samples.value
    low, high = np.searchsorted(t_s, [began_s, ended_s], side="left")
    if np.count_nonzero(np.diff(value[low : min(low + GLANCE_COUNT, high)])) >= LEAST_STEPS:
        return False
    found = standing(whole, began_s, ended_s)
    return found is not None and found.steps_count < LEAST_STEPS


def _spanning_j(whole: Integral, piece: int) -> float:
    """The step that was going on in a piece; the largest one where none follows."""
    steps = whole.steps
    if not len(steps):
        return 0.0
    after = int(np.searchsorted(steps, piece))
    if after and after < len(steps) and steps[after] - steps[after - 1] == 1:
        return 0.0  # it moved from one reading to the next
    pieces = whole.pieces(steps[after : after + 1] if after < len(steps) else steps)
    return float((pieces.first_rate * pieces.length_s).max())
