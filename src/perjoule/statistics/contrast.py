"""A weighted sum of mean logarithms of samples (a ratio, an average over workloads) with all its
uncertainties.

The variance has three parts:

- scatter: the sum of w² s² / n of the samples after Welch, each inflated by the correlation of neighbours in
  time. If all samples were measured in the same blocks of time and the campaign drifts or its neighbours are
  correlated, it is that of the blocks' own sums; without drift, blocks cost more degrees of freedom than they
  save (`benchmarks/better.py`).
- drift: the possible effect of the campaign's drift: d² (b² + u²(b)), d the distance of the samples' mean
  times, b the slope. It is an allowance, not a correction: a drift that starts over with each deployment
  would be corrected in the wrong direction.
- shared: errors that all repetitions share, such as the coefficients of modelled power. If two samples share
  a source of error, its difference between them counts; of what a meter
  shows in steps, each sample has its own.

Half the width of an interval is the root of t² x scatter + u² x drift + z² x shared: t by Welch's and
Satterthwaite's degrees of freedom, truncated to an integer (GUM, G.4.1: otherwise few values of unequal
scatter differ falsely in more than 5 %), u by those of the slope, z of the normal distribution, each for the
requested level.

    B. L. Welch, The generalization of "Student's" problem, Biometrika 34 (1947),
    https://doi.org/10.1093/biomet/34.1-2.28
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, floor, inf, log, log1p, sqrt
from statistics import fmean, variance
from typing import Literal

from perjoule.model import OF_ROW, Cell, Interval, Ran
from perjoule.statistics.distributions import CONFIDENCE_RATIO, student_p, student_quantile
from perjoule.statistics.drift import Trend, inflation

_HIGHEST_LOG = 700.0  # beyond it a ratio is not a finite float
_LEAST_P, _STEPS_COUNT = 1e-15, 50
_ROUNDING_STEP = 1e-13  # of the logarithm of a p
_ROUNDING = 1e-9  # of degrees of freedom that are an integer
Method = Literal["Welch", "paired"]


@dataclass(frozen=True)
class Sample:
    """Positive values of a metric, with their times and shared errors."""

    values: tuple[float, ...]
    ran: tuple[Ran, ...] = ()  # when each was measured; () where that is not known
    # source -> signed relative standard uncertainty
    shared: Mapping[str, float] = field(default_factory=dict[str, float])
    widening: float = 1.0  # of the standard error, where it decided how often was repeated
    trend: Trend | None = None  # of its campaign
    gap: float = 1.0  # trials from one repetition to the next


Term = tuple[float, Sample]  # a weight and what it weighs


@dataclass(frozen=True)
class Estimate:
    """A difference of mean logarithms; without degrees of freedom (one repetition) its error is unknown."""

    value: float
    scatter: float  # variances
    freedom: float
    drift: float = 0.0
    drift_freedom: float = inf
    shared: float = 0.0
    source: str = ""  # the largest of what is shared
    count: int = 0  # repetitions of the smallest sample
    method: Method = "Welch"

    @property
    def error(self) -> float:
        """The standard error."""
        return sqrt(self.scatter + self.drift + self.shared) if self.freedom else inf

    @property
    def p(self) -> float:
        """The probability of a difference at least as large by chance alone; 1 if no error is known.

        It is the level at which the interval ends at a ratio of 1.
        """
        size = abs(self.value)
        if not self.freedom or not size:
            return 1.0
        if not self.error:
            return 0.0
        if not (self.drift or self.shared):
            return student_p(size / self.error, self.freedom)
        # between those of all parts without and with the fewest degrees of freedom: regula falsi, in which an
        # end that stays counts half (Illinois)
        least_freedom = min(self.freedom, self.drift_freedom)
        ps = (student_p(size / self.error, freedom) for freedom in (inf, least_freedom))
        kept, last = (log(min(max(p, _LEAST_P), 1 - _LEAST_P)) for p in ps)
        kept_excess, excess = (log(self.half(exp(level)) / size) for level in (kept, last))
        if kept_excess <= 0 or excess >= 0:
            return exp(kept if kept_excess <= 0 else last)
        for _ in range(_STEPS_COUNT):
            level = last - excess * (last - kept) / (excess - kept_excess)
            level_excess = log(self.half(exp(level)) / size)
            if (excess > 0) == (level_excess > 0):
                kept_excess /= 2
            else:
                kept, kept_excess = last, excess
            step, last, excess = level - last, level, level_excess
            if abs(step) < _ROUNDING_STEP or not excess:
                break
        return exp(last)

    @property
    def ratio(self) -> Interval:
        """The ratio with its 95 % interval."""
        return self.interval(1)

    def half(self, beyond: float) -> float:
        """Return half the width of an interval that leaves this share outside: expanded uncertainties, added
        in quadrature.

        A single quantile, with the degrees of freedom of the sum, would be too small if a few values scatter
        little by chance: other terms would make them look certain.
        """
        if not self.freedom:
            return inf
        parts = ((self.scatter, self.freedom), (self.drift, self.drift_freedom), (self.shared, inf))
        return sqrt(sum(student_quantile(freedom, beyond) ** 2 * part for part, freedom in parts if part))

    def interval(self, count: int) -> Interval:
        """Return the ratio with an interval that holds together with those of all `count` comparisons, in
        95 % (Bonferroni).
        """
        mean, half = exp(self.value), self.half((1 - CONFIDENCE_RATIO) / count)
        if half == inf:
            return Interval(mean, 0.0, inf, (mean,))
        low, high = self.value - half, self.value + half
        return Interval(
            mean, exp(max(low, -_HIGHEST_LOG)), exp(high) if high < _HIGHEST_LOG else inf, (mean,)
        )


def contrast(terms: Sequence[Term]) -> Estimate:
    """Estimate the sum of weight x mean logarithm over samples of at least one positive value each."""
    logs = [[log(v) for v in sample.values] for _, sample in terms]
    weights = [weight for weight, _ in terms]
    value = sum(weight * fmean(sample_logs) for weight, sample_logs in zip(weights, logs, strict=True))
    count = min(map(len, logs))
    if count < 2:
        return Estimate(value, inf, 0.0, count=count)
    widening = max(sample.widening for _, sample in terms) ** 2
    trends = list({id(sample.trend): sample.trend for _, sample in terms if sample.trend}.values())
    sums = _block_sums(terms, logs)
    drift, drift_freedom = _drift(terms, trends, in_turns=bool(sums))
    shared = _shared(terms)
    source, _ = max(shared, key=lambda of: abs(shared[of]), default=("", 0))
    shared_square = sum(error**2 for error in shared.values())
    if len(sums) > 1 and any(trend.drifts or trend.correlated for trend in trends):
        scatter, freedom = widening * variance(sums) / len(sums), len(sums) - 1.0
        return Estimate(
            fmean(sums), scatter, freedom, drift, drift_freedom, shared_square, source, len(sums), "paired"
        )
    scatter, freedom = _welch(terms, logs)
    return Estimate(value, widening * scatter, freedom, drift, drift_freedom, shared_square, source, count)


def _welch(terms: Sequence[Term], logs: Sequence[Sequence[float]]) -> tuple[float, float]:
    parts: list[tuple[float, float]] = []
    for (weight, sample), sample_logs in zip(terms, logs, strict=True):
        grown = inflation(sample.trend.between(sample.gap)) if sample.trend else 1.0
        parts.append(
            (
                weight**2 * variance(sample_logs) / len(sample_logs) * grown,
                max(len(sample_logs) / grown - 1, 1.0),
            )
        )
    total = sum(part for part, _ in parts)
    freedom = (
        total**2 / sum(part**2 / size for part, size in parts) if total else sum(size for _, size in parts)
    )
    return total, float(floor(freedom + _ROUNDING))


def _block_sums(terms: Sequence[Term], logs: Sequence[Sequence[float]]) -> list[float]:
    """Return the weighted sum in each block of time that has all samples; empty if repetitions are not
    such blocks.
    """
    if any(len(sample.ran) != len(sample.values) for _, sample in terms):
        return []
    positions = [{ran.repetition: n for n, ran in enumerate(sample.ran)} for _, sample in terms]
    return [
        sum(
            weight * values[position[r]]
            for (weight, _), values, position in zip(terms, logs, positions, strict=True)
        )
        for r in _blocks([sample.ran for _, sample in terms])
    ]


def in_turns(cells: Sequence[Cell]) -> bool:
    """Return whether repetitions of cells were measured in blocks of time that have all of them."""
    return len(_blocks([cell.ran for cell in cells])) > 1


def _blocks(several: Sequence[Sequence[Ran]]) -> list[int]:
    """List the repetitions that all have, if each is a separate block of time; else nothing."""
    by_repetition = [{ran.repetition: ran for ran in ran_of} for ran_of in several]
    common = set[int].intersection(*(set(ran_of) for ran_of in by_repetition))
    blocks = sorted(
        (
            min(ran_of[r].began_s for ran_of in by_repetition),
            max(ran_of[r].ended_s for ran_of in by_repetition),
            r,
        )
        for r in common
    )
    if any(ended_s > began_s for (_, ended_s, _), (began_s, _, _) in pairwise(blocks)):
        return []
    return [r for _, _, r in blocks]


def _drift(terms: Sequence[Term], trends: Sequence[Trend], *, in_turns: bool) -> tuple[float, float]:
    """Return the variance from a possible drift, and its degrees of freedom.

    Within one campaign by the distance in time. Between campaigns, whose distance in time is unknown, the
    whole drift of each in which it is significant, unless they were measured in turns.
    """
    if (
        trends
        and len({id(sample.trend) for _, sample in terms}) == 1
        and all(sample.ran for _, sample in terms)
    ):
        distance_s = sum(
            weight * fmean((ran.began_s + ran.ended_s) / 2 for ran in sample.ran) for weight, sample in terms
        )
        share = distance_s / trends[0].span_s
        return share**2 * (log1p(trends[0].drift_ratio) ** 2 + trends[0].error ** 2), trends[0].freedom
    significant = [trend for trend in trends if trend.drifts and not in_turns]
    total = sum(log1p(trend.drift_ratio) ** 2 + trend.error**2 for trend in significant)
    return total, min((trend.freedom for trend in significant), default=inf)


def _shared(terms: Sequence[Term]) -> Mapping[tuple[str, int], float]:
    """Return the effect of each source of error on the sum, signed: by its name, and by which sample's it is
    where each has its own.
    """
    effects: dict[tuple[str, int], float] = {}
    for weight, sample in terms:
        for name, error in sample.shared.items():
            source = name, id(sample.values) if name.endswith(OF_ROW) else 0
            effects[source] = effects.get(source, 0.0) + weight * error
    return effects
