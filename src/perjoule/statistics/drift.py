"""The effect of time on a metric over a campaign's trials: drift, and correlation of neighbours.

Both are determined from residuals: the logarithm of a value minus its cell's mean. Drift is their slope over
time with as many means as cells (time is also taken relative to its cell's mean). Autocorrelation is that of
lag 1 in running order without the slope, tested by von Neumann's ratio. Both weight a residual by its cell's
scatter about the slope. Residuals of few repetitions are correlated by themselves, so the ratio is compared
with its own distribution when values are permuted within cells, and the mean correlation of those is
subtracted.

    J. von Neumann, Distribution of the ratio of the mean square successive difference to the variance, Ann.
    Math. Statist. 12 (1941), https://doi.org/10.1214/aoms/1177731677
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import expm1, sqrt

import numpy as np
from numpy.typing import NDArray

from perjoule.statistics.distributions import student_p, student_quantile

LEAST_FREEDOM = 3  # residuals beyond the means, before which nothing is known
DOUBTED_FREEDOM = 5  # the same, below which nothing is reported
SIGNIFICANT = 0.01  # each metric is tested twice, and what is found by chance decides how pairs are compared
MOST_CORRELATION = 0.9  # beyond it a campaign has hardly more than one value
LEAST_SQUARE = 1e-18  # of a logarithm: rounding
DRAWN_FREEDOM = 2
_EXCHANGES_COUNT, _SEED = 999, 1941
_NEXT_GAP = 2


@dataclass(frozen=True)
class TimedValue:
    """A value of a cell, and when it was measured."""

    cell: Hashable
    t_s: float
    value: float


@dataclass(frozen=True)
class Trend:
    """Relative drift from the first trial to the last, with its 95 % interval; the correlation of lag 1."""

    drift_ratio: float
    drift_low_ratio: float
    drift_high_ratio: float
    drift_p: float
    correlation_ratio: float
    correlation_p: float
    error: float  # standard error of the drift's logarithm
    freedom: int
    span_s: float  # from the first trial to the last

    @property
    def drifts(self) -> bool:
        """Whether the drift is significant."""
        return self.drift_p < SIGNIFICANT

    @property
    def correlated(self) -> bool:
        """Whether neighbours are significantly correlated, which alone makes intervals too narrow."""
        return self.correlation_p < SIGNIFICANT and self.correlation_ratio > 0

    def between(self, gap: float) -> float:
        """Return the correlation of trials at this distance in running order: gap 1 is the next one.

        0 if it is not significant, except for adjacent trials: there even a small one counts, and few trials
        can't exclude it, so it is taken as found.
        """
        counts = self.correlated or (gap < _NEXT_GAP and self.correlation_ratio > 0)
        return min(self.correlation_ratio, MOST_CORRELATION) ** max(gap, 1.0) if counts else 0.0


def trend(timed: Sequence[TimedValue]) -> Trend | None:
    """Find the drift of a campaign's positive values; None with too few repetitions."""
    counts: dict[Hashable, int] = {}
    for trial in timed:
        counts[trial.cell] = counts.get(trial.cell, 0) + 1
    repeated = sorted((trial for trial in timed if counts[trial.cell] > 1), key=lambda trial: trial.t_s)
    cells = list(dict.fromkeys(trial.cell for trial in repeated))
    freedom = len(repeated) - len(cells) - 1
    if freedom < LEAST_FREEDOM or min(trial.value for trial in repeated) <= 0:
        return None
    members = [np.array([i for i, trial in enumerate(repeated) if trial.cell == cell]) for cell in cells]
    residual = _centred(np.log([trial.value for trial in repeated]), members)
    t_s = _centred(np.array([trial.t_s for trial in repeated]), members)
    span_s = repeated[-1].t_s - repeated[0].t_s
    if not t_s.any():
        return None
    weight = _weights(residual - t_s * (float(t_s @ residual) / float(t_s @ t_s)), members)
    residual, t_s = residual * weight, t_s * weight
    time_square = float(t_s @ t_s)
    slope = float(t_s @ residual) / time_square
    noise = residual - slope * t_s
    if not float(noise @ noise) > LEAST_SQUARE * float(weight @ weight):
        return None
    correlation, correlation_p = _correlation(noise, members)
    error = sqrt(float(noise @ noise) / freedom / time_square)
    if correlation_p < SIGNIFICANT and correlation > 0:
        error *= sqrt(inflation(min(correlation, MOST_CORRELATION)))
    half = student_quantile(freedom) * error
    low, mean, high = (expm1(span_s * log_ratio) for log_ratio in (slope - half, slope, slope + half))
    return Trend(
        mean,
        low,
        high,
        student_p(slope / error, freedom),
        correlation,
        correlation_p,
        span_s * error,
        freedom,
        span_s,
    )


def inflation(correlation: float) -> float:
    """Return the factor by which this correlation of successive values increases a mean's variance: n over
    the effective n.

    For an AR(1) process with many values: n_eff = n (1 - r) / (1 + r).
    """
    return (1 + correlation) / (1 - correlation)


def _centred(values: NDArray[np.float64], members: Sequence[NDArray[np.int_]]) -> NDArray[np.float64]:
    centred = values.copy()
    for member in members:
        centred[member] -= centred[member].mean()
    return centred


def _weights(residual: NDArray[np.float64], members: Sequence[NDArray[np.int_]]) -> NDArray[np.float64]:
    """Return 1 / scatter for each value, so a cell with much scatter does not hide a drift that the others
    show.

    Residuals are those without the unweighted slope: a cell that drifts more by chance would else weigh less,
    and the slope would be too small.

    The variance of a cell of few values is uncertain: it is shrunk towards the lower quartile of all cells,
    as if that were known with `DRAWN_FREEDOM` degrees of freedom.
    """
    variances = [float(residual[member] @ residual[member]) / (len(member) - 1) for member in members]
    quarter = max(sorted(variances)[len(variances) // 4], LEAST_SQUARE)
    weights = np.empty_like(residual)
    for member, variance in zip(members, variances, strict=True):
        freedom = len(member) - 1
        weights[member] = ((DRAWN_FREEDOM * quarter + freedom * variance) / (DRAWN_FREEDOM + freedom)) ** -0.5
    return weights


def _correlation(noise: NDArray[np.float64], members: Sequence[NDArray[np.int_]]) -> tuple[float, float]:
    """Return the correlation of lag 1 and the probability of von Neumann's ratio being as low by chance
    alone.
    """
    dice = np.random.default_rng(_SEED)
    exchanged = np.tile(noise, (_EXCHANGES_COUNT, 1))
    for member in members:
        exchanged[:, member] = dice.permuted(exchanged[:, member], axis=1)
    ratios = np.sum(np.diff(exchanged, axis=1) ** 2, axis=1)
    products = np.sum(exchanged[:, 1:] * exchanged[:, :-1], axis=1)
    square = float(noise @ noise)
    correlation = (float(noise[1:] @ noise[:-1]) - float(products.mean())) / square
    lower_count = int(np.sum(ratios <= float(np.sum(np.diff(noise) ** 2)) * (1 + 1e-12)))
    return correlation, (lower_count + 1) / (_EXCHANGES_COUNT + 1)
