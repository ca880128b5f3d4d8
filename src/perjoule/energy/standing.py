"""An energy counter at its updates: some plugs update theirs once a second or once a minute, others count
whole watt-hours.

A counter that is updated every p is up to p old when it is read, p / 2 on average, so its readings are dated
p / 2 earlier. If it stands between its steps, only the readings with a new count tell of an update: at any
time since the reading before, so it is dated in the middle of that time, and the energy of a step was drawn
at any time since the step before. A counter that moves with every reading does not stand, however seldom it
is read.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from perjoule.energy.integral import Integral, integral
from perjoule.energy.once import once
from perjoule.energy.samples import Floats
from perjoule.model import Series

LEAST_STEPS = 3  # in a window: with less, one step at either end is more than 20 % of the energy
FEW_STEPS = 5  # below which it is doubted
SINGLE_FACTOR = 1.5  # times the resolution, below which an update is a single step


@dataclass(frozen=True)
class Updated:
    """A series with its samples at the middle of the times in which they can have been new.

    Shape of `spread_s`: (N,).
    """

    curve: Integral
    spread_s: Floats | None = None  # how long those times are; None: no longer than a request
    # whether it stands because it counts in large steps: at each update it has just reached one
    single: bool = False
    wraps_j: float = 0.0  # the energy in the window that is wrong if a wrap that looks like none was a reset


def stands(curve: Integral, began_s: float, ended_s: float) -> bool:
    """Return whether an energy counter has equal readings in or beside a window."""
    if curve.channel.semantics != "counter" or curve.channel.quantity != "energy":
        return False
    first, last = curve.span(began_s, ended_s)
    low, high = max(first - 1, 1), min(last + 2, len(curve.samples.t_s))
    return not np.diff(curve.samples.value[low - 1 : high]).all()


def steps_count(curve: Integral, began_s: float, ended_s: float) -> int | None:
    """Return the steps in a window of an energy counter that stands in it; None if it does not stand, or
    is no counter.
    """
    if not stands(curve, began_s, ended_s):
        return None
    stepped_s = curve.samples.t_s[curve.steps]
    return int(((stepped_s > began_s) & (stepped_s <= ended_s)).sum())


def updated(series: Series, began_s: float, ended_s: float) -> Updated:
    """Return a series as its meter updated it around a window; other than energy counters of real meters
    as they were read.
    """
    curve, of = integral(series), series.channel
    if of.semantics != "counter" or of.quantity != "energy" or of.grade in ("modelled", "nameplate"):
        return Updated(curve)
    stepped = stands(curve, began_s, ended_s)
    dated = _dated(series, stepped) if stepped or of.specification.period_s else Updated(curve)
    low, high = curve.span(began_s, ended_s)
    return replace(dated, wraps_j=float(np.sum(unlike_j(series)[low : high + 1])))


def _expected(rate: Floats, length_s: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what the rates on both sides of each piece say of it: their mean, their difference, and its
    error (J).

    Args:
        rate: of consecutive pieces, NaN if unknown, shape (N,).
        length_s: their lengths.

    NaN beside unknown pieces; the third is the energy of each piece less what is expected of it, NaN of those
    that are unknown.
    """
    mean_w, apart_w = np.full((2, len(rate)), np.nan)
    mean_w[1:-1] = (rate[2:] + rate[:-2]) / 2
    apart_w[1:-1] = np.abs(rate[2:] - rate[:-2])
    return mean_w, apart_w, (rate - mean_w) * length_s


@once
def unlike_j(series: Series) -> Floats:
    """Return by how much the energy of each wrap of a counter is further from what is beside it than that of
    any other step.

    It may have been a reset. Shape (N,) of the samples, 0 of all others.
    """
    curve = integral(series)
    t_s, value = curve.samples.t_s, curve.samples.value
    excess_j = np.zeros(len(t_s))
    fell = np.flatnonzero(np.diff(value) < 0) + 1
    if series.channel.semantics != "counter" or not len(fell):
        return excess_j
    pieces, length_s = curve.pieces(np.arange(1, len(t_s))), np.diff(t_s)
    rate = np.where(pieces.length_s > 0, pieces.first_rate, np.nan)
    unwrapped = rate.copy()
    unwrapped[fell - 1] = np.nan
    mean_w, apart_w, errors_j = _expected(unwrapped, length_s)
    beside_j = np.abs(rate - mean_w) * length_s
    most_j = float(np.nanmax(np.abs(errors_j))) if np.isfinite(errors_j).any() else np.inf
    excess_j[1:] = np.where(
        np.nan_to_num(beside_j - apart_w * length_s / 2) > most_j, np.nan_to_num(beside_j), 0.0
    )
    return excess_j


@dataclass(frozen=True)
class Unknown:
    """The steps in a window that a counter does not show: how long they are, and what those beside them
    say, with its error.
    """

    length_s: float = 0.0
    energy_j: float = 0.0
    standard_j: float = 0.0


def unknown(
    curve: Integral, began_s: float, ended_s: float, reading_j: Callable[[float], float] = lambda watts: 0.0
) -> Unknown:
    """Return what the power before and after says of steps that are not known (a reset, a wrap that was not
    seen).

    It went from the one to the other at any moment, and is as unlike both as that of other steps in the
    window, and no better known than the readings around: `reading_j` is the standard uncertainty of one at a
    power.
    """
    t_s = curve.samples.t_s
    if curve.channel.semantics != "counter" or len(t_s) < 3:
        return Unknown()
    low, high = curve.span(began_s, ended_s)
    index = np.arange(max(low - 1, 1), min(high + 2, len(t_s)))
    pieces = curve.pieces(index)
    lost = pieces.length_s == 0
    if not lost.any():
        return Unknown()
    length_s = t_s[index] - t_s[index - 1]
    mean_w, apart_w, errors_j = _expected(np.where(lost, np.nan, pieces.first_rate), length_s)
    errors_j = errors_j[np.isfinite(errors_j)]
    error_j = float(np.sqrt((errors_j**2).mean())) if len(errors_j) else 0.0
    lost &= np.isfinite(mean_w)
    inside_s = np.maximum(np.minimum(t_s[index], ended_s) - np.maximum(t_s[index - 1], began_s), 0.0)[lost]
    at = np.flatnonzero(lost)
    before, after = length_s[at] / length_s[at - 1] / 2, length_s[at] / length_s[at + 1] / 2
    weight = np.sqrt(
        (1 + before) ** 2 + before**2 + (1 + after) ** 2 + after**2
    )  # of the readings at both ends of both neighbours
    errors_j = np.maximum(error_j, weight * np.array([reading_j(watts) for watts in mean_w[at]]))
    variance = (apart_w[at] * inside_s) ** 2 / 12 + (errors_j * inside_s / length_s[at]) ** 2
    return Unknown(float(inside_s.sum()), float(mean_w[lost] @ inside_s), float(np.sqrt(variance.sum())))


@once
def _dated(series: Series, stepped: bool) -> Updated:
    """Date the readings of a counter that is updated now and then; of one that stands only those with a
    new count.
    """
    curve, specification = integral(series), series.channel.specification
    samples = curve.samples
    index = curve.steps if stepped else np.arange(len(samples.t_s))
    pieces = curve.pieces(np.arange(len(samples.t_s)))
    counted_j = np.cumsum(pieces.first_rate * pieces.length_s)[index]
    unknown_count = np.cumsum(pieces.length_s == 0)[index]
    single = (
        stepped
        and len(index) > 1
        and float(np.median(np.diff(counted_j))) < SINGLE_FACTOR * (specification.resolution or 0.0)
    )
    since_s = np.minimum(
        np.diff(samples.t_s, prepend=samples.t_s[:1] - curve.usual_s)[index], 2 * curve.usual_s
    )
    spread_s = (
        since_s if single or not specification.period_s else np.minimum(since_s, specification.period_s)
    )
    t_s = samples.t_s[index] - spread_s / 2
    rates = np.where(np.diff(unknown_count) == 0, np.diff(counted_j) / np.diff(t_s), np.nan)
    request_s = None if samples.request_s is None else samples.request_s[index]
    dated = replace(
        samples,
        t_s=t_s,
        duration_s=samples.duration_s[index],
        value=samples.value[index],
        request_s=request_s,
        broken=None,
    )
    return Updated(Integral(series, dated, np.concatenate(([np.nan], rates))), spread_s, single)
