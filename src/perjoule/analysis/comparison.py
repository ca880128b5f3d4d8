"""Whether one sample is higher than another: by a relevant factor, significantly, and not by a drift alone.

All on logarithms, so that a/b and b/a tell the same. Samples whose repetitions were measured in the same blocks of time are
compared in pairs, so that what a block has in common cancels; others by Welch's test, whose variances grow where successive
repetitions are correlated. Values too skewed for either are bootstrapped.

    L. V. Hedges, Distribution theory for Glass's estimator of effect size, J. Educ. Statist. 6 (1981),
    https://doi.org/10.3102/10769986006002107
    B. Iglewicz, D. C. Hoaglin, How to Detect and Handle Outliers (1993): 0.6745 |x - median| / MAD above 3.5
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log, log1p, nan, sqrt
from statistics import fmean, median, variance
from typing import Literal

from perjoule.analysis import bootstrap
from perjoule.analysis.drift import inflation
from perjoule.analysis.statistics import CONFIDENCE_RATIO, student_p, student_quantile
from perjoule.analysis.winners import RELEVANT_RATIO
from perjoule.model import Interval

MOST_COUNT = 1000  # more repetitions than this are not proposed
OUTLYING, OUTLIERS_LEAST_COUNT = 3.5, 5
_RELEVANT = log(1 + RELEVANT_RATIO)
Verdict = Literal["higher", "lower", "no relevant difference", "can't tell", "may be drift", "one repetition can't tell"]


@dataclass(frozen=True)
class Sample:
    """Positive values of a metric, each of a repetition that ran from then to then (UTC)."""

    values: tuple[float, ...]
    repetitions: tuple[int, ...]
    began_s: tuple[float, ...]
    ended_s: tuple[float, ...]
    correlation_ratio: float = 0.0  # of successive repetitions, where significant
    drift_ratio: float = 0.0  # differences up to this may be a drift of its campaign
    widening: float = 1.0  # of intervals that decided how often was repeated


@dataclass(frozen=True)
class Difference:
    """How the second sample differs from the first: a difference of mean logarithms."""

    value: float
    low: float
    high: float
    error: float
    freedom: float  # 0: no error can be told
    p: float
    effect: float  # Hedges' g
    count: int  # repetitions of the smaller sample
    method: Literal["paired", "Welch", "paired, bootstrap", "bootstrap"]
    drift_ratio: float = 0.0  # up to this it may be a drift: 0 for pairs

    @property
    def ratio(self) -> Interval:
        """Second over first, with its 95 % interval."""
        mean = exp(self.value)
        return Interval(mean, exp(max(self.low, -700.0)), exp(self.high) if self.high < 700 else inf, (mean,))

    def verdict(self, p: float) -> Verdict:
        """Judge by a p-value that is corrected for the number of comparisons."""
        if not self.freedom:
            return "one repetition can't tell"
        if p < 1 - CONFIDENCE_RATIO and abs(self.value) >= _RELEVANT:
            if min(abs(self.low), abs(self.high)) <= log1p(self.drift_ratio):  # the near end: a drift and chance may add up
                return "may be drift"
            return "higher" if self.value > 0 else "lower"
        return "no relevant difference" if max(abs(self.low), abs(self.high)) <= _RELEVANT else "can't tell"

    def more_count(self, p: float) -> float:
        """How many more repetitions of each would settle it, should mean and scatter stay; infinite above MOST_COUNT.

        Settled is: the interval is apart from 0 for a relevant difference, at the level that is left of 5 % when `p` is corrected
        for the number of comparisons; or it is within what is irrelevant for another difference.
        """
        if not self.freedom:
            return nan
        size = abs(self.value)
        relevant = size >= _RELEVANT
        wanted = size if relevant else _RELEVANT - size
        level = (1 - CONFIDENCE_RATIO) * (min(self.p / p, 1.0) if relevant and p > 0 else 1.0)
        for count in range(self.count + 1, MOST_COUNT + 1):
            freedom = self.freedom * (count - 1) / max(self.count - 1, 1)
            reach = wanted / (self.error * sqrt(self.count / count)) if self.error else inf
            if student_p(reach, freedom) < level:
                return count - self.count
        return inf


def compared(first: Sample, second: Sample) -> Difference:
    """Compare two samples of at least one value each."""
    pairs = list(_pairs(first, second))
    widening = max(first.widening, second.widening)
    one, other = [log(v) for v in first.values], [log(v) for v in second.values]
    if len(pairs) > 1:
        differences = [log(b / a) for a, b in pairs]
        value, error, freedom = fmean(differences), sqrt(variance(differences) / len(pairs)), float(len(pairs) - 1)
        drawn = bootstrap.difference(differences) if bootstrap.skewed(differences) else None
        method, count, drift_ratio = "paired", len(pairs), 0.0
    else:
        value, error, freedom = _welch(first, second)
        drawn = None
        if not (first.correlation_ratio or second.correlation_ratio) and min(len(one), len(other)) >= bootstrap.LEAST_COUNT:
            drawn = bootstrap.difference(other, one) if bootstrap.skewed(one) or bootstrap.skewed(other) else None
        method, count, drift_ratio = "Welch", min(len(one), len(other)), max(first.drift_ratio, second.drift_ratio)
    error *= widening
    effect = _hedges(one, other, value)
    if not freedom:
        return Difference(value, -inf, inf, inf, 0.0, 1.0, effect, count, method, drift_ratio)
    if drawn is not None:
        low, high = (value + (end - value) * widening for end in (drawn.low, drawn.high))
        called = "paired, bootstrap" if method == "paired" else "bootstrap"
        return Difference(value, low, high, error, freedom, drawn.p, effect, count, called, drift_ratio)
    half = student_quantile(freedom) * error
    p = 1.0 if value == 0 else student_p(value / error, freedom) if error else 0.0
    return Difference(value, value - half, value + half, error, freedom, p, effect, count, method, drift_ratio)


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Find values far from the others by the median and the median deviation of logarithms; to be shown, never dropped.

    None among fewer than five values, or where more than half are the same.
    """
    if len(values) < OUTLIERS_LEAST_COUNT or min(values) <= 0:
        return ()
    logs = [log(v) for v in values]
    middle = median(logs)
    deviation = median(abs(v - middle) for v in logs)
    return tuple(n for n, v in enumerate(logs) if deviation and 0.6745 * abs(v - middle) / deviation > OUTLYING)


def _pairs(first: Sample, second: Sample) -> Iterator[tuple[float, float]]:
    """Pair values by repetition where each repetition of both is a block of time of its own; nothing otherwise."""
    where = {repetition: n for n, repetition in enumerate(second.repetitions)}
    both = [(m, where[repetition]) for m, repetition in enumerate(first.repetitions) if repetition in where]
    both.sort(key=lambda pair: first.began_s[pair[0]])
    for (a, b), (after_a, after_b) in pairwise(both):
        if max(first.ended_s[a], second.ended_s[b]) > min(first.began_s[after_a], second.began_s[after_b]):
            return
    yield from ((first.values[a], second.values[b]) for a, b in both)


def _welch(first: Sample, second: Sample) -> tuple[float, float, float]:
    """Difference of mean logarithms, its standard error, and degrees of freedom; both of as many values as are effective."""
    parts: list[tuple[float, float]] = []
    means: list[float] = []
    for sample in (first, second):
        logs = [log(v) for v in sample.values]
        means.append(fmean(logs))
        grown = inflation(sample.correlation_ratio)
        if len(logs) > 1:
            parts.append((variance(logs) / len(logs) * grown, max(len(logs) / grown - 1, 1.0)))
    value = means[1] - means[0]
    if len(parts) < 2:
        return value, inf, 0.0
    whole = sum(part for part, _ in parts)
    freedom = whole**2 / sum(part**2 / own for part, own in parts) if whole else sum(own for _, own in parts)
    return value, sqrt(whole), freedom


def _hedges(one: Sequence[float], other: Sequence[float], value: float) -> float:
    freedom = len(one) + len(other) - 2
    if min(len(one), len(other)) < 2:
        return nan
    pooled = ((len(one) - 1) * variance(one) + (len(other) - 1) * variance(other)) / freedom
    return value / sqrt(pooled) * (1 - 3 / (4 * freedom - 1)) if pooled else nan
