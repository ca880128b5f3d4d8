"""Whether meters see the same watts: whether their samples are equal to within their resolution wherever they
move.

Machines of one model under one load draw alike, and their noise differs. So only moves count: values that
differ from the one before. Most moves must be met at their own time, and most must be missed at other times;
samples that are constant, coarse, or of a few levels show nothing.
"""

from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from perjoule.energy.behaviour import step
from perjoule.energy.integral import integral
from perjoule.energy.samples import Floats
from perjoule.model import Series

LEAST_COUNT = 20  # moves
MET_RATIO = 0.95  # of the moves, and of all samples, that are met
ELSEWHERE_RATIO = 0.4  # of the moves that may be met at other times
ROUNDING_RATIO = 1e-6  # of the median, by which numbers of two programs differ
FINE_RATIO = 0.005  # of the median, that half a step may be at most: machines of one model differ by more
SHIFTS_COUNT = (-17, -11, -7, 7, 11, 17)  # samples, by which another time is away
AROUND_PERIODS = 1.5  # in which a sample is looked for


@dataclass(frozen=True)
class AlikeSamples:
    """How many moves of one power others show too, and to within which watts."""

    moves_count: int
    within_w: float


@dataclass(frozen=True)
class _Watts:
    """Samples of a power in order, shapes (N,), half of the smallest step between them, and their usual
    distance.
    """

    t_s: Floats
    value: Floats
    half_w: float
    period_s: float

    @classmethod
    def of(cls, series: Series) -> "_Watts":
        samples = integral(series).samples
        steps_w = (step(samples.value), series.channel.specification.resolution or 0.0)
        period_s = float(np.median(np.diff(samples.t_s))) if len(samples.t_s) > 1 else 0.0
        return cls(samples.t_s, samples.value, max(steps_w) / 2, period_s)

    def around(self, t_s: Floats, within_s: float) -> Floats:
        """Return the samples around moments: shape (4, N), NaN for those that are too far away."""
        index = np.searchsorted(self.t_s, t_s) + np.array([[-2], [-1], [0], [1]])
        inside = np.clip(index, 0, len(self.t_s) - 1)
        near = (inside == index) & (np.abs(self.t_s[inside] - t_s) <= within_s)
        return np.where(near, self.value[inside], np.nan)


def alike(total: Series, *parts: Series) -> AlikeSamples | None:
    """Compare a power with another, or with the sum of others; None if nothing shows that they are the same
    watts.
    """
    reference, *summands = map(_Watts.of, (total, *parts))
    # the slower one can't show what the other shows between
    if len(summands) == 1 and len(reference.t_s) > len(summands[0].t_s):
        reference, summands = summands[0], [reference]
    halves_w = [watts.half_w for watts in (reference, *summands)]
    half_w = hypot(*halves_w) if len(summands) > 1 else max(halves_w)
    if min(len(watts.t_s) for watts in (reference, *summands)) <= LEAST_COUNT:
        return None
    median_w = float(np.median(reference.value))
    if half_w > FINE_RATIO * median_w:
        return None
    within_w = half_w + ROUNDING_RATIO * median_w
    period_s = max(watts.period_s for watts in (reference, *summands))
    moved = np.concatenate(([False], np.abs(np.diff(reference.value)) > within_w))

    def met(shift_s: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which of the samples that others can show this much later they do show, and which moved."""
        t_s = reference.t_s + shift_s
        inside = (t_s >= max(watts.t_s[0] for watts in summands)) & (
            t_s <= min(watts.t_s[-1] for watts in summands)
        )
        sums_w = sum(watts.around(t_s[inside], AROUND_PERIODS * period_s) for watts in summands)
        equal = np.any(np.abs(sums_w - reference.value[inside]) <= within_w, axis=0)
        return equal, moved[inside]

    equal, moves = met(0.0)
    moves_count = int(moves.sum())
    if moves_count < LEAST_COUNT or min(equal.mean(), equal[moves].mean()) < MET_RATIO:
        return None
    elsewhere = [equal[moves] for equal, moves in (met(count * period_s) for count in SHIFTS_COUNT)]
    elsewhere_ratio = np.mean([of_moves.mean() if len(of_moves) else 0.0 for of_moves in elsewhere])
    return AlikeSamples(moves_count, within_w) if elsewhere_ratio <= ELSEWHERE_RATIO else None
