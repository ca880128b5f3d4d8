"""Steps in a metric over campaigns: the levels of a series of means, with a stated rate of false alarms.

The observations are logarithms of the campaigns' means, one each: what differs from campaign to campaign (the
state of the machine, a reboot) counts as scatter, which the repetitions within a campaign do not show. A
series of m observations is divided where Student's t between the two sides, with a common scatter, is
largest; p is that of t with m - 2 degrees of freedom, times the m - 1 possible places, times the number of
series that are looked at together (Bonferroni). If p is at most 5 %, the series has a step there, and each
side is looked at likewise. So over independent, normal observations without any step, the chance of one or
more steps anywhere in all series is at most 5 %.

    K. J. Worsley, On the likelihood ratio test for a shift in location of normal populations, J. Am. Stat.
    Assoc. 74 (1979), https://doi.org/10.1080/01621459.1979.10482519 (the largest t, and Bonferroni's bound of
    its distribution)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import fmean

from perjoule.model import Interval
from perjoule.statistics.distributions import student_p, student_quantile

FALSE_ALARM_RATIO = 0.05  # of all series together
LEAST_COUNT = 4  # campaigns, below which no step is sought
LEAST_SCATTER = 1e-9  # of a logarithm: rounding


@dataclass(frozen=True)
class Step:
    """A change of level: at this observation (numbered from 0), as a ratio of levels with its 95 % interval,
    after over before.

    The interval is of two levels whose border is known; the search for it is in p alone.
    """

    at: int
    ratio: Interval
    p: float  # corrected


@dataclass(frozen=True)
class StepLevel:
    """Observations between steps: first and last (included), geometric mean with its 95 % interval."""

    first: int
    last: int
    mean: Interval


def steps(values: Sequence[float], series_count: int) -> tuple[Step, ...]:
    """Find the steps in a series of positive values, in order.

    Args:
        values: one per campaign, in order of time.
        series_count: how many series are looked at together.

    Raises:
        ValueError: a value is not positive.
    """
    if min(values, default=inf) <= 0:
        raise ValueError("levels need positive values")
    logs = [log(value) for value in values]
    borders = sorted(_borders(logs, 0, len(logs), series_count))
    ends = [0, *(at for at, _ in borders), len(logs)]
    return tuple(
        Step(at, _ratio(logs[ends[n] : at], logs[at : ends[n + 2]]), p) for n, (at, p) in enumerate(borders)
    )


def levels(values: Sequence[float], between: Sequence[Step]) -> tuple[StepLevel, ...]:
    """Return the levels between steps."""
    ends = [0, *(step.at for step in between), len(values)]
    return tuple(
        StepLevel(first, end - 1, _mean([log(v) for v in values[first:end]])) for first, end in pairwise(ends)
    )


def _borders(logs: Sequence[float], first: int, end: int, series_count: int) -> list[tuple[int, float]]:
    count = end - first
    if count < LEAST_COUNT:
        return []
    places = range(first + 1, end)
    at = max(places, key=lambda place: _t(logs[first:place], logs[place:end]))
    t = _t(logs[first:at], logs[at:end])
    p = min(1.0, student_p(t, count - 2) * len(places) * series_count)
    if p > FALSE_ALARM_RATIO:
        return []
    return [(at, p), *_borders(logs, first, at, series_count), *_borders(logs, at, end, series_count)]


def _t(before: Sequence[float], after: Sequence[float]) -> float:
    difference, error = _difference(before, after)
    return abs(difference) / error


def _difference(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """Return the difference of means and its standard error, with a common scatter."""
    means = fmean(before), fmean(after)
    squares = sum((x - mean) ** 2 for side, mean in zip((before, after), means, strict=True) for x in side)
    freedom = len(before) + len(after) - 2
    scatter = max(sqrt(squares / freedom) if freedom else inf, LEAST_SCATTER)
    return means[1] - means[0], scatter * sqrt(1 / len(before) + 1 / len(after))


def _ratio(before: Sequence[float], after: Sequence[float]) -> Interval:
    difference, error = _difference(before, after)
    freedom = len(before) + len(after) - 2
    half = student_quantile(freedom) * error if freedom else inf
    return Interval(
        exp(difference),
        exp(difference - half),
        exp(difference + half) if half < inf else inf,
        (exp(difference),),
    )


def _mean(logs: Sequence[float]) -> Interval:
    mean = fmean(logs)
    freedom = len(logs) - 1
    values = tuple(map(exp, logs))
    if not freedom:
        return Interval(exp(mean), 0.0, inf, values)
    half = student_quantile(freedom) * sqrt(sum((x - mean) ** 2 for x in logs) / freedom / len(logs))
    return Interval(exp(mean), exp(mean - half), exp(mean + half), values)
