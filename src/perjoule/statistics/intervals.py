"""Intervals of repeated measurements: Student's t, and on logarithms where ratios are compared."""

from collections.abc import Sequence
from functools import cache
from math import exp, inf, log, nan, sqrt
from statistics import fmean

import numpy as np

from perjoule.model import Interval
from perjoule.statistics.distributions import CONFIDENCE_RATIO, student_quantile


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of independent values with its 95 % confidence interval (Student's t; infinite for one
    value).

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    mean, half = _mean_and_half_width(values)
    return Interval(mean, mean - half, mean + half, tuple(values))


def ratio_interval(values: Sequence[float], references: Sequence[float], widening: float = 1.0) -> Interval:
    """Return the geometric mean of values[i] / references[i] with its 95 % interval, for paired trials.

    What both of a pair share (the state of the machine, the gain of the meter) cancels. The logarithms of the
    ratios are taken as normal, so a/b and b/a agree; for one pair the interval is (0, infinity). `widening`
    is that of the half width on logarithms.

    Raises:
        ValueError: the sequences differ in length, are empty, or hold a value that is not positive.
    """
    if not values or len(values) != len(references):
        raise ValueError("ratios need as many references as values, and at least one")
    if min(*values, *references) <= 0:
        raise ValueError("ratios need positive values")
    ratios = tuple(value / reference for value, reference in zip(values, references, strict=True))
    mean, half = _mean_and_half_width([log(r) for r in ratios])
    half *= widening
    return Interval(exp(mean), exp(mean - half), exp(mean + half) if half < inf else inf, ratios)


def half_width_ratio(interval: Interval) -> float:
    """Return half the width of an interval over the mean; NaN for a mean of 0."""
    return (interval.high - interval.low) / 2 / abs(interval.mean) if interval.mean else nan


@cache
def student_factor(count: int) -> float:
    """Return the factor that widens the standard error of `count` values to 95 %: 12.7 for 2, 4.30 for 3,
    ...
    """
    return student_quantile(count - 1) if count > 1 else inf


def holm_counts(ps: Sequence[float]) -> list[int]:
    """Return as how many comparisons each counts: all for the smallest p, one less for each after it while
    they are significant.

    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979),
    https://www.jstor.org/stable/4615733
    """
    counts, count, significant = [0] * len(ps), len(ps), True
    for n in sorted(range(len(ps)), key=lambda n: ps[n]):
        counts[n] = count
        significant = significant and ps[n] * count <= 1 - CONFIDENCE_RATIO
        count -= significant
    return counts


def hedges_g(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the second's difference from the first in standard deviations of logarithms, corrected for few
    values.

    L. V. Hedges, Distribution theory for Glass's estimator of effect size, J. Educ. Statist. 6 (1981),
    https://doi.org/10.3102/10769986006002107
    """
    both = [[log(v) for v in values] for values in (first, second)]
    freedom = len(first) + len(second) - 2
    if min(map(len, both)) < 2:
        return nan
    square = sum((v - fmean(group)) ** 2 for group in both for v in group) / freedom
    return (fmean(both[1]) - fmean(both[0])) / sqrt(square) * (1 - 3 / (4 * freedom - 1)) if square else nan


def _mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    mean = float(np.mean(values))
    if len(values) == 1:
        return mean, inf
    return mean, student_factor(len(values)) * float(np.std(values, ddof=1)) / sqrt(len(values))
