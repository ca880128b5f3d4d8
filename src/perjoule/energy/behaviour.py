"""The real behaviour of a meter without outside changes: update period, noise, steps, gaps, agreement."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

from perjoule.energy.power import joules
from perjoule.model import Series

Floats = NDArray[np.float64]
LEAST_COUNT = 5  # samples, below which nothing is reported


@dataclass(frozen=True)
class MeterBehaviour:
    """The observed behaviour of one channel; NaN if undetermined."""

    samples_count: int
    asked_period_s: float  # median distance of the samples
    update_period_s: float  # median time between two different values: what the meter itself has
    failed_ratio: float  # of the samples that say nothing
    mean: float  # of the power, in watts
    # standard deviation of a single value, from the differences of neighbours (drift and steps left out)
    noise: float
    resolution: float  # the step of which all differences are multiples, as far as can be seen; 0: none seen
    longest_frozen_s: float  # the longest time without any change


def behaviour(series: Series) -> MeterBehaviour:
    """Describe a channel by its samples, a counter by its power from reading to reading."""
    t_s, value = powers(series)
    failed = int((~np.isfinite(series.value)).sum())
    if len(t_s) < LEAST_COUNT:
        return MeterBehaviour(len(series.t_s), nan, nan, failed / max(1, len(series.t_s)), nan, nan, nan, nan)
    raw = series.value[np.isfinite(series.value)]
    raw_s = series.t_s[np.isfinite(series.value)]
    changed_s = raw_s[1:][np.diff(raw) != 0]
    steps_s = np.diff(changed_s)
    still_s = np.diff(np.concatenate(([raw_s[0]], changed_s, [raw_s[-1]])))
    return MeterBehaviour(
        samples_count=len(series.t_s),
        asked_period_s=float(np.median(np.diff(raw_s))),
        update_period_s=float(np.median(steps_s)) if len(steps_s) else nan,
        failed_ratio=failed / len(series.t_s),
        mean=float(np.average(value)),
        noise=_noise(value),
        resolution=step(raw),
        longest_frozen_s=float(still_s.max()),
    )


def powers(series: Series) -> tuple[Floats, Floats]:
    """Return times and watts of a channel: as they are, or from differences of a counter.

    Failed reads are left out.
    """
    valid = np.isfinite(series.value)
    t_s, value = series.t_s[valid], series.value[valid]
    if series.channel.semantics != "counter":
        return t_s, value
    step_s, grown = np.diff(t_s), np.diff(value)
    good = (step_s > 0) & (grown >= 0)
    return t_s[1:][good], grown[good] / step_s[good]


def step(values: Floats) -> float:
    """Find the step of which all differences of neighbours are multiples, to 1 %; 0 if none exists."""
    differences = np.unique(np.round(np.abs(np.diff(values)), 9))
    differences = differences[differences > 0]
    if not len(differences):
        return 0.0
    least = float(differences[0])
    multiples = differences / least
    return (
        least
        if len(multiples) > 1 and bool((np.abs(multiples - np.round(multiples)) < 0.01 * multiples).all())
        else 0.0
    )


def _noise(value: Floats) -> float:
    """Return the median absolute difference of neighbours, as the standard deviation of a normal noise."""
    return float(np.median(np.abs(np.diff(value)))) / 0.6745 / sqrt(2)


@dataclass(frozen=True)
class Agreement:
    """The agreement of one meter's energy with another's over the same windows."""

    windows_count: int
    ratio: float  # of the energies over all windows
    scatter_ratio: float  # standard deviation of the windows' ratios


def _once(series: Sequence[Series]) -> list[Series]:
    """Leave out the power of channels that also have an energy counter: both are the same joules."""
    counted = {
        (s.channel.host, s.channel.component, s.channel.covers)
        for s in series
        if s.channel.quantity == "energy"
    }
    place = [(s.channel.host, s.channel.component, s.channel.covers) for s in series]
    return [
        s
        for s, key in zip(series, place, strict=True)
        if s.channel.quantity == "energy" or key not in counted
    ]


def agreement(first: Sequence[Series], second: Sequence[Series], windows_count: int = 10) -> Agreement | None:
    """Compare the sums of two meters' channels over equal windows of their common time; None if that is
    too short.
    """
    first, second = _once(first), _once(second)
    everything = (*first, *second)
    if not first or not second or any(len(s.t_s) < 2 for s in everything):
        return None
    began_s, ended_s = max(s.t_s[0] for s in everything), min(s.t_s[-1] for s in everything)
    if ended_s <= began_s:
        return None
    edges_s = [began_s + (ended_s - began_s) * n / windows_count for n in range(windows_count + 1)]
    ratios: list[float] = []
    sums = [0.0, 0.0]
    for low_s, high_s in pairwise(edges_s):
        first_j, second_j = (joules(tuple((1, s) for s in side), low_s, high_s) for side in (first, second))
        if first_j is not None and second_j:
            ratios.append(first_j / second_j)
            sums[0] += first_j
            sums[1] += second_j
    if len(ratios) < 2:
        return None
    return Agreement(len(ratios), sums[0] / sums[1], float(np.std(ratios, ddof=1)))
