"""The offset of a meter's clock from the hosts': found from a load that is switched on and off at known
times.

The pattern, averaged over the meter's own windows, is fitted to the samples by least squares for every
candidate offset (samples = low + step * pattern(t - offset)). With unknown noise, an offset is as probable as
its sum of squares to the power of -(n-2)/2; the mean and standard deviation of that are the offset and its
standard uncertainty.

    G. L. Bretthorst, Bayesian Spectrum Analysis and Parameter Estimation, Springer 1988, chapter 3

Two patterns, before and after, give the drift.
"""

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, hypot, sqrt

import numpy as np
from numpy.typing import NDArray

from perjoule.energy.integral import integral
from perjoule.energy.samples import Floats
from perjoule.model import Series

SHORTEST_S, LONGEST_S = 0.4, 2.6  # of one state of the load: edges at many phases of a meter's cycle
LEAST_SEEN_RATIO = 0.5  # of the samples' variance that the pattern explains, below which it was not seen
LEAST_COUNT = 8  # samples
QUIET_S = 2.0  # that no other load runs before and after a pattern; beyond may be anything
ROUGH_S = 0.1  # of offsets that are tried first
GRID_S = 0.01  # of those around the best of them
SWITCHED_S = 0.003  # standard uncertainty of when a load was really there: programs start, capacitors fill


@dataclass(frozen=True)
class Offset:
    """By how much a meter's clock is ahead of the hosts', at a moment of the hosts' clock."""

    at_s: float
    offset_s: float
    uncertainty_s: float  # standard uncertainty
    step_w: float  # what the load drew
    seen_ratio: float  # of the samples' variance that the pattern explains


@dataclass(frozen=True)
class Drift:
    """An offset at a moment and its rate of change; with a single pattern the drift is 0 and unknown."""

    at_s: float
    offset_s: float
    uncertainty_s: float
    drift_ratio: float = 0.0  # seconds per second
    drift_uncertainty_ratio: float | None = None  # None: not known


def pattern(duration_s: float, seed: int = 1) -> tuple[float, ...]:
    """Plan when a load is switched, in seconds from its start: on at the first, off at the last."""
    dice = random.Random(seed)
    states_count = ceil(duration_s / SHORTEST_S) + 2  # enough of the shortest
    states_s = (dice.uniform(SHORTEST_S, LONGEST_S) for _ in range(states_count))
    edges_s = tuple(accumulate(states_s, initial=0.0))
    count = bisect_left(edges_s, duration_s) + 1  # the last one when the duration is over
    return edges_s[: count + count % 2]


def offset(
    series: Series, edges_s: Sequence[float], *, most_s: float = 10.0, window_s: float = 0.0
) -> Offset | None:
    """Find a pattern in the samples of a meter of power.

    Args:
        series: with times by the meter's clock; "window mean" samples have their windows with them.
        edges_s: when the load was switched by the hosts' clock, on first.
        most_s: the largest candidate offset, either way.
        window_s: the averaging window of an "average" meter.

    None if the pattern is not visible: too few samples, no step, or other loads; and of states.
    """
    if series.channel.semantics == "state":
        return None
    edges = np.asarray(edges_s, dtype=np.float64)
    began_s, ended_s, watts = _windows(series, window_s)
    about_s = _roughly(began_s, ended_s, watts, edges, np.arange(-most_s, most_s + ROUGH_S, ROUGH_S))
    near = _near(began_s, ended_s, edges, about_s)
    began_s, ended_s, watts = began_s[near], ended_s[near], watts[near]
    if len(watts) < LEAST_COUNT or float(np.ptp(watts)) == 0:
        return None
    tried_s = np.arange(about_s - QUIET_S, about_s + QUIET_S, GRID_S)
    middle_s, spread_s = _likely(began_s, ended_s, watts, edges, tried_s)
    if spread_s > QUIET_S / 4:  # it could be anywhere
        return None
    reach_s = 8 * max(spread_s, GRID_S)  # what lies beyond is too improbable to count
    fine_s = np.arange(middle_s - reach_s, middle_s + reach_s, reach_s / 400)
    best_s, spread_s = _likely(began_s, ended_s, watts, edges, fine_s)
    squares, steps = _squares(began_s, ended_s, watts, edges, np.array([best_s]))
    seen_ratio = 1 - float(squares[0] / np.sum((watts - watts.mean()) ** 2))
    if steps[0] <= 0 or seen_ratio < LEAST_SEEN_RATIO:
        return None
    return Offset(float(edges.mean()), best_s, hypot(spread_s, SWITCHED_S), float(steps[0]), seen_ratio)


def drift(before: Offset, after: Offset | None = None) -> Drift:
    """Join the offsets of two patterns to a line over time; that of a single one is taken as constant."""
    if after is None or after.at_s <= before.at_s:
        return Drift(before.at_s, before.offset_s, before.uncertainty_s)
    apart_s = after.at_s - before.at_s
    ratio = (after.offset_s - before.offset_s) / apart_s
    spread_s = hypot(before.uncertainty_s, after.uncertainty_s)
    middle_s = (before.offset_s + after.offset_s) / 2
    return Drift((before.at_s + after.at_s) / 2, middle_s, spread_s / 2, ratio, spread_s / apart_s)


def expected(
    series: Series, edges_s: Sequence[float], offset: Offset, *, window_s: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Return the samples with their fit: times by the meter's clock, samples, and the fit (W)."""
    began_s, ended_s, watts = _windows(series, window_s)
    share = _shares(began_s, ended_s, np.asarray(edges_s, dtype=np.float64), np.array([offset.offset_s]))[0]
    return ended_s, watts, watts.mean() + offset.step_w * (share - share.mean())


def _windows(series: Series, window_s: float) -> tuple[Floats, Floats, Floats]:
    """Return each sample's window and mean: start, end, watts; an instant has no length, and a counter's
    steps are windows.
    """
    curve = integral(series)
    t_s, value = curve.samples.t_s, curve.samples.value
    if series.channel.semantics == "counter":
        pieces = curve.pieces(np.arange(1, len(t_s)))
        covered = pieces.length_s > 0
        return (
            pieces.began_s[covered],
            (pieces.began_s + pieces.length_s)[covered],
            pieces.first_rate[covered],
        )
    if series.channel.semantics == "window mean":
        return t_s - curve.samples.duration_s, t_s, value
    return t_s - (window_s if series.channel.semantics == "average" else 0.0), t_s, value


def _shares(began_s: Floats, ended_s: Floats, edges_s: Floats, offsets_s: Floats) -> Floats:
    """Return the share of each window in which the load was on (0 or 1 for an instant).

    Shape (offsets, windows).
    """
    on_s = np.cumsum(np.diff(edges_s, prepend=edges_s[:1]) * (np.arange(len(edges_s)) % 2 == 1))
    length_s = ended_s - began_s
    before_s, after_s = (np.interp(t_s - offsets_s[:, None], edges_s, on_s) for t_s in (began_s, ended_s))
    on = np.searchsorted(edges_s, ended_s - offsets_s[:, None], side="right") % 2 == 1
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(length_s > 0, (after_s - before_s) / length_s, on)


def _near(began_s: Floats, ended_s: Floats, edges_s: Floats, offset_s: float) -> NDArray[np.bool_]:
    """Return which samples are of the time of the pattern, or of the quiet time around it, if the clock is
    ahead by this.
    """
    return (began_s > edges_s[0] + offset_s - QUIET_S) & (ended_s < edges_s[-1] + offset_s + QUIET_S)


def _roughly(began_s: Floats, ended_s: Floats, watts: Floats, edges_s: Floats, offsets_s: Floats) -> float:
    """Return the offset for which the pattern explains most of the samples that would then be around it."""

    def explained_ratio(offset_s: float) -> float:
        inside = _near(began_s, ended_s, edges_s, offset_s)
        if int(inside.sum()) < LEAST_COUNT or not float(np.ptp(watts[inside])):
            return 0.0
        squares, _ = _squares(began_s[inside], ended_s[inside], watts[inside], edges_s, np.array([offset_s]))
        return 1 - float(squares[0]) / float(((watts[inside] - watts[inside].mean()) ** 2).sum())

    return max(offsets_s.tolist(), key=explained_ratio)


def _squares(
    began_s: Floats, ended_s: Floats, watts: Floats, edges_s: Floats, offsets_s: Floats
) -> tuple[Floats, Floats]:
    """Return the residual sum of squares of the fit, and the step, for each offset; a fall explains
    nothing.
    """
    share = _shares(began_s, ended_s, edges_s, offsets_s)
    x, y = share - share.mean(axis=1, keepdims=True), watts - watts.mean()
    sxx, sxy = np.einsum("ij,ij->i", x, x), x @ y
    step = np.divide(sxy, sxx, out=np.zeros_like(sxy), where=sxx > 1e-12)
    return float(y @ y) - np.maximum(step, 0.0) * sxy, step


def _likely(
    began_s: Floats, ended_s: Floats, watts: Floats, edges_s: Floats, offsets_s: Floats
) -> tuple[float, float]:
    """Return the mean and standard deviation of the offset, weighted by probability."""
    squares, _ = _squares(began_s, ended_s, watts, edges_s, offsets_s)
    logarithm = -(len(watts) - 2) / 2 * np.log(np.maximum(squares, 1e-9 * float(squares.max())))
    weight = np.exp(logarithm - logarithm.max())
    weight /= weight.sum()
    middle_s = float(weight @ offsets_s)
    return middle_s, sqrt(float(weight @ (offsets_s - middle_s) ** 2))
