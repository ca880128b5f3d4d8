"""How far a meter's clock is from the hosts': a load that goes on and off at known moments, found again in what the meter says.

The pattern, averaged over the meter's own windows, is fitted to the samples by least squares for every offset in question
(samples = low + step * pattern(t - offset)); the best offset is where the residual is least, and its standard uncertainty is how
far it can be moved until the sum of squares has grown by one residual variance (the likelihood of normal noise, one standard
deviation). Two patterns, before and after, give the drift.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from perjoule.model import Series

Floats = NDArray[np.float64]

SHORTEST_S, LONGEST_S = 0.4, 2.6  # of one state of the load: edges at many phases of a meter's cycle
LEAST_SEEN_RATIO = 0.5  # of the samples' variance that the pattern explains, below which it was not seen
LEAST_COUNT = 8  # samples
GRID_S = 0.02  # of offsets that are tried first


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
    """An offset at a moment and how it changes; of one pattern alone the drift is 0 and not known."""

    at_s: float
    offset_s: float
    uncertainty_s: float
    drift_ratio: float = 0.0  # seconds per second
    drift_uncertainty_ratio: float | None = None  # None: not known


def pattern(duration_s: float, seed: int = 1) -> tuple[float, ...]:
    """Plan the moments at which a load is switched, in seconds from its begin: on at the first, off at the last."""
    dice = random.Random(seed)
    edges_s = [0.0]
    while edges_s[-1] < duration_s or len(edges_s) % 2:
        edges_s.append(edges_s[-1] + dice.uniform(SHORTEST_S, LONGEST_S))
    return tuple(edges_s)


def offset(series: Series, edges_s: Sequence[float], *, most_s: float = 10.0, window_s: float = 0.0) -> Offset | None:
    """Find a pattern in the samples of a meter of power.

    Args:
        series: with times by the meter's clock; "window mean" samples have their windows with them.
        edges_s: when the load was switched by the hosts' clock, on first.
        most_s: the largest offset in question, either way.
        window_s: over which an "average" meter averages.

    None where the pattern is not seen: too few samples, no step, or other loads.
    """
    edges = np.asarray(edges_s, dtype=np.float64)
    near = (series.t_s > edges[0] - 2 * most_s) & (series.t_s < edges[-1] + 2 * most_s) & np.isfinite(series.value)
    t_s, watts, widths_s = series.t_s[near], series.value[near], series.duration_s[near]
    if series.channel.semantics in ("counter", "state") or len(t_s) < LEAST_COUNT or float(np.ptp(watts)) == 0:
        return None
    widths_s = np.where(widths_s > 0, widths_s, window_s) if series.channel.semantics != "instantaneous" else np.zeros_like(t_s)

    def residuals(offsets_s: Floats) -> Floats:
        return np.array([_residual(_expected(t_s - one, widths_s, edges), watts)[0] for one in offsets_s])

    coarse_s = np.arange(-most_s, most_s + GRID_S, GRID_S)
    coarse = residuals(coarse_s)
    middle_s = _middle(coarse_s, coarse)
    fine_s = middle_s + np.arange(-3 * GRID_S, 3 * GRID_S, GRID_S / 40)
    found = residuals(fine_s)
    variance = float(found.min()) / (len(t_s) - 3)
    best_s = _middle(fine_s, found)
    # Out from the best until the likelihood has fallen by one standard deviation: on the fine grid, or on the coarse one.
    wide_s = np.concatenate((fine_s, coarse_s))
    rise = np.concatenate((found, coarse)) - float(found.min())
    beyond_s = np.abs(wide_s - best_s)[rise > variance]
    uncertainty_s = float(beyond_s.min()) if len(beyond_s) else most_s
    _, step_w, seen_ratio = _residual(_expected(t_s - best_s, widths_s, edges), watts)
    if step_w <= 0 or seen_ratio < LEAST_SEEN_RATIO:
        return None
    return Offset(float(edges.mean()), best_s, max(uncertainty_s, GRID_S / 40), step_w, seen_ratio)


def drift(before: Offset, after: Offset | None = None) -> Drift:
    """Join the offsets of two patterns to a line over time; with one alone the offset is taken to stay."""
    if after is None or after.at_s <= before.at_s:
        return Drift(before.at_s, before.offset_s, before.uncertainty_s)
    apart_s = after.at_s - before.at_s
    ratio = (after.offset_s - before.offset_s) / apart_s
    spread_s = hypot(before.uncertainty_s, after.uncertainty_s)
    middle_s = (before.offset_s + after.offset_s) / 2
    return Drift((before.at_s + after.at_s) / 2, middle_s, spread_s / 2, ratio, spread_s / apart_s)


def _expected(end_s: Floats, widths_s: Floats, edges_s: Floats) -> Floats:
    """The share of each window in which the load was on; of a moment, whether it was."""
    on_s = np.concatenate(([0.0], np.cumsum(np.diff(edges_s) * (np.arange(len(edges_s) - 1) % 2 == 0))))
    shares = (np.interp(end_s, edges_s, on_s) - np.interp(end_s - widths_s, edges_s, on_s)) / np.where(
        widths_s > 0, widths_s, 1.0
    )
    moments = (np.searchsorted(edges_s, end_s, side="right") % 2 == 1).astype(np.float64)
    return np.where(widths_s > 0, shares, moments)


def _residual(expected: Floats, watts: Floats) -> tuple[float, float, float]:
    """The sum of squares that is left when low and step are fitted; the step; the share of the variance explained."""
    x, y = expected - expected.mean(), watts - watts.mean()
    sxx, syy = float(x @ x), float(y @ y)
    if sxx == 0:
        return syy, 0.0, 0.0
    step = float(x @ y) / sxx
    left = max(syy - step * float(x @ y), 0.0) if step > 0 else syy
    return left, step, 1 - left / syy


def _middle(offsets_s: Floats, residuals: Floats) -> float:
    """The offset of the least residual: the middle of it where it is flat, as for samples of moments."""
    least = int(residuals.argmin())
    flat = np.flatnonzero(residuals <= residuals[least] + 1e-12)
    return float(offsets_s[flat].mean()) if flat[-1] - flat[0] == len(flat) - 1 else float(offsets_s[least])
