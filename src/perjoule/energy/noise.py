"""The scatter of a meter's samples by themselves, as distinct from changes of the load."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from perjoule.energy.integral import Integral
from perjoule.energy.once import once
from perjoule.energy.samples import Floats

TRIMMED_RATIO = 0.8  # of second differences that count for the noise: the largest are jumps of the load
TRIMMED_VARIANCE = 0.4377  # of a normal whose largest fifth is left out
LEAST_COUNT = 4  # samples in idle time that determine a noise
LEAST_CORRELATED_COUNT = 8  # that determine its correlation
JUMP_FACTOR = 6.0  # times the usual difference of neighbours, above which the load has jumped
RESTLESS_FACTOR = 3.0  # times the scatter of idle time, above which a load changes, though without jumps
MOST_CORRELATION = 0.99
LEAST_WORTH = 1.5  # independent samples, whatever the correlation


def noise(t_s: Floats, value: Floats) -> tuple[float, int]:
    """Estimate the standard deviation of a sample's own noise, and the number of samples used.

    From what each sample is beside the straight line through its neighbours, at its own time: nothing for a
    steady or linearly rising power, however irregular the samples. Jumps are among those left out.
    """
    # the weight of the sample before, 1/2 if samples are regular
    before = (t_s[2:] - t_s[1:-1]) / (t_s[2:] - t_s[:-2])
    residual = value[1:-1] - before * value[:-2] - (1 - before) * value[2:]
    variance, count = _trimmed(residual / np.sqrt(1 + before**2 + (1 - before) ** 2))
    return sqrt(variance), count


def _trimmed(differences: Floats) -> tuple[float, int]:
    """Return the variance of normal differences about 0 without their largest fifth, and the number of
    those used.
    """
    squares = np.sort(differences**2)
    smallest = squares[: max(1, round(TRIMMED_RATIO * len(squares)))]
    return (float(smallest.mean()) / TRIMMED_VARIANCE if len(smallest) else 0.0), len(smallest)


@dataclass(frozen=True)
class Correlation:
    """The correlation of lag 1 of samples in stretches of steady power, about means and a common slope."""

    ratio: float  # from 0 to MOST_CORRELATION
    count: int  # samples
    stretches_count: int
    squares: float  # the sum of the squares of the residuals

    @property
    def freedom(self) -> float:
        """Degrees of freedom of what these samples say of their scatter: as little as of their mean."""
        return max(self.count / self.length - self.stretches_count, 1.0)

    @property
    def length(self) -> float:
        """The number of samples that are worth an independent one, for their mean."""
        return (1 + self.ratio) / (1 - self.ratio)

    @property
    def scatter(self) -> float:
        """The root mean square of the residuals."""
        return sqrt(self.squares / self.count)

    @property
    def most(self) -> float:
        """The largest ratio that is not contradicted: r of which this is 2 sqrt((1 - r^2) / n) less (M. S.

        Bartlett 1946).
        """
        four = 4 / self.count
        return (self.ratio + sqrt(four * (1 - self.ratio**2 + four))) / (1 + four)

    def worth(self, count: float) -> float:
        """Return the number of independent samples that a number of them is worth, for their mean."""
        return max(count / self.length, LEAST_WORTH)


def correlation(stretches: Sequence[Floats]) -> Correlation:
    """Estimate the correlation of the noise of neighbouring samples."""
    count, number = sum(map(len, stretches)), len(stretches)
    places = [np.arange(len(stretch)) - (len(stretch) - 1) / 2 for stretch in stretches]
    moved = [stretch - stretch[0] for stretch in stretches]  # so that the mean of equal samples is exact
    residuals = [stretch - stretch.mean() for stretch in moved]
    steepness = sum(float(place @ residual) for place, residual in zip(places, residuals, strict=True))
    slope = steepness / (sum(float(place @ place) for place in places) or inf)
    residuals = [residual - slope * place for place, residual in zip(places, residuals, strict=True)]
    squares = sum(float(residual @ residual) for residual in residuals)
    if count < LEAST_COUNT or not squares:
        return Correlation(0.0, count, number, squares)
    r = sum(float(residual[1:] @ residual[:-1]) for residual in residuals) / squares
    # About what was fitted to few samples it is too small: F. H. C. Marriott, J. A. Pope 1954, M. G. Kendall
    # 1954
    r += ((1 + 3 * r) * number + 1 + 2 * r) / count
    return Correlation(min(max(r, 0.0), MOST_CORRELATION), count, number, squares)


def neighbours(value: Floats, idle: Sequence[Floats]) -> Correlation:
    """Return the correlation of the noise in a window, or of more samples in idle time, where no load
    changes.

    Args:
        value: samples of the window, cut where the load jumps.
        idle: those of each idle window. A load that changes without jumps, which is seen by its scatter, has
            at most the correlation that they leave possible.
    """
    step = np.diff(value)
    jumps: NDArray[np.intp] = np.flatnonzero(np.abs(step) > JUMP_FACTOR * sqrt(_trimmed(step)[0]))
    loaded = correlation(np.split(value, jumps + 1))
    if not (usable := [samples for samples in idle if len(samples) >= LEAST_CORRELATED_COUNT]):
        return loaded
    calm = correlation(usable)
    if calm.count > loaded.count:
        return calm
    # The calmest: a window that the load's last sample reaches into, by its latency, isn't calm.
    if loaded.scatter <= RESTLESS_FACTOR * min(correlation([samples]).scatter for samples in usable):
        return loaded
    return replace(loaded, ratio=min(loaded.ratio, calm.most))


def independent(value: Floats) -> tuple[float, float, float]:
    """Return standard deviation, number of independent ones and degrees of freedom of correlated samples
    about their line.

    The number, for the mean, is n (1-r)/(1+r); the degrees of freedom are one less: correlated samples tell
    as little of their scatter as of their mean.
    """
    count = len(value)
    if count < LEAST_COUNT:
        return float(np.std(value, ddof=1)) if count > 1 else 0.0, float(count), float(max(count - 1, 1))
    estimate = correlation([value])
    worth = estimate.worth(count)
    return sqrt(estimate.squares / count / max(1 - 2 / worth, 0.3)), worth, estimate.freedom


@once
def idle(curve: Integral, quiet: tuple[tuple[float, float], ...]) -> Sequence[Floats]:
    """Return the samples that lie wholly within each window of idle time."""
    t_s, began_s = curve.samples.t_s, curve.samples.t_s - curve.samples.duration_s
    return [curve.samples.value[(began_s >= low_s) & (t_s <= high_s)] for low_s, high_s in quiet]


@once
def calm_idle(curve: Integral, quiet: tuple[tuple[float, float], ...]) -> tuple[float, float] | None:
    """Return the same as `calm`, of independent samples in each window of idle time."""
    return calm(idle(curve, quiet))


def calm(idle: Sequence[Floats], r: float = 0.0) -> tuple[float, float] | None:
    """Return the noise of a sample in idle time, and its degrees of freedom; None if no window has enough
    samples.

    About the mean of each window, which follows samples of the correlation r.
    """
    if not (usable := [value for value in idle if len(value) >= LEAST_COUNT]):
        return None
    squares, length = sum(float(((v - v.mean()) ** 2).sum()) for v in usable), (1 + r) / (1 - r)
    degrees = sum(len(v) - length + 2 * r * (1 - r ** len(v)) / (len(v) * (1 - r) ** 2) for v in usable)
    return sqrt(squares / degrees), max(sum(len(v) / length - 1 for v in usable), 1.0)
