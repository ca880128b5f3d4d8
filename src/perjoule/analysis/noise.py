"""The scatter of a meter's samples by themselves, as distinct from changes of the load."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from perjoule.analysis.integral import Integral
from perjoule.analysis.samples import Floats

TRIMMED_RATIO = 0.8  # of second differences that count for the noise: the largest are jumps of the load
TRIMMED_VARIANCE = 0.4377  # of a normal whose largest fifth is left out
LEAST_COUNT = 4  # samples in idle time that determine a noise


def noise(value: Floats) -> tuple[float, int]:
    """Estimate the standard deviation of a sample's own noise, and the number of differences used.

    From second differences, which vanish for a steady or linearly rising power; its jumps are among those left out.
    """
    bends = np.sort(np.diff(value, 2) ** 2)
    if not len(bends):
        return 0.0, 0
    kept = bends[: max(1, round(TRIMMED_RATIO * len(bends)))]
    return sqrt(float(kept.mean()) / TRIMMED_VARIANCE / 6), len(kept)


def independent(value: Floats) -> tuple[float, float, float]:
    """Return standard deviation, number of independent ones and degrees of freedom of correlated samples about their line.

    The number, for the mean, is n (1-r)/(1+r); the degrees of freedom are one less: correlated samples tell as little of their
    scatter as of their mean.
    """
    count = len(value)
    if count < 4:
        return float(np.std(value, ddof=1)) if count > 1 else 0.0, float(count), float(max(count - 1, 1))
    place = np.arange(count) - (count - 1) / 2
    rest = value - value.mean() - place * (place @ value) / (place @ place)
    variance = float(rest @ rest)
    if not variance:
        return 0.0, float(count), float(count - 1)
    r = float(rest[1:] @ rest[:-1]) / variance
    # About a line that was fitted to few samples, both are too small: (M. G. Kendall 1954; F. H. C. Marriott, J. A. Pope 1954)
    r = min(max(r + (2 + 5 * r) / count, 0.0), 0.99)
    effective = max(count * (1 - r) / (1 + r), 1.5)
    spread = sqrt(variance / count / max(1 - 2 / effective, 0.3))
    return spread, effective, max(effective - 1, 1.0)


def idle(whole: Integral, quiet: Sequence[tuple[float, float]]) -> list[Floats]:
    """Return the samples that lie wholly within each window of idle time."""
    t_s, began_s = whole.samples.t_s, whole.samples.t_s - whole.samples.duration_s
    return [whole.samples.value[(began_s >= low_s) & (t_s <= high_s)] for low_s, high_s in quiet]


def calm(whole: Integral, quiet: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the noise of a sample in idle time, and its degrees of freedom; None if no window has enough samples.

    About the mean of each window.
    """
    known = [value for value in idle(whole, quiet) if len(value) >= LEAST_COUNT]
    freedom = sum(len(value) - 1 for value in known)
    return (sqrt(sum(float(((v - v.mean()) ** 2).sum()) for v in known) / freedom), float(freedom)) if freedom else None
