"""An energy counter at its updates: some plugs update theirs once a second or once a minute, others count whole watt-hours.

A counter that is updated every p is up to p old when it is read, p / 2 on average, so its readings are dated p / 2 earlier. If
it stands between its steps, only the readings with a new count tell of an update: at any time since the reading before, so it is
dated in the middle of that time, and the energy of a step was drawn at any time since the step before. A counter that moves with
every reading does not stand, however seldom it is read.
"""

from dataclasses import dataclass, replace

import numpy as np

from perjoule.analysis.integral import Integral, integral
from perjoule.analysis.once import once
from perjoule.analysis.samples import Floats
from perjoule.model import Series

LEAST_STEPS = 3  # in a window: with less, one step at either end is more than 20 % of the energy
FEW_STEPS = 5  # below which it is doubted
SINGLE_FACTOR = 1.5  # times the resolution, below which an update is a single step
GLANCE_COUNT = 8  # readings at the begin of a window that show whether it steps at all


@dataclass(frozen=True)
class Updated:
    """A series with its samples at the middle of the times in which they can have been new. Shape of `spread_s`: (N,)."""

    whole: Integral
    spread_s: Floats | None = None  # how long those times are; None: no longer than a request
    single: bool = False  # whether it stands because it counts in large steps: at each update it has just reached one


def stands(whole: Integral, began_s: float, ended_s: float) -> bool:
    """Return whether an energy counter has equal readings in or beside a window."""
    if whole.channel.semantics != "counter" or whole.channel.quantity != "energy":
        return False
    first, last = (int(i) for i in np.searchsorted(whole.samples.t_s, [began_s, ended_s], side="left"))
    low, high = max(first - 1, 1), min(last + 2, len(whole.samples.t_s))
    return not np.diff(whole.samples.value[low - 1 : high]).all()


def steps_count(whole: Integral, began_s: float, ended_s: float) -> int | None:
    """Return the steps in a window of an energy counter that stands in it; None if it does not stand, or is no counter."""
    if not stands(whole, began_s, ended_s):
        return None
    stepped_s = whole.samples.t_s[whole.steps]
    return int(((stepped_s > began_s) & (stepped_s <= ended_s)).sum())


def refused(whole: Integral, began_s: float, ended_s: float) -> bool:
    """Return whether a counter steps too rarely in a window to determine its energy."""
    t_s, value = whole.samples.t_s, whole.samples.value
    low, high = np.searchsorted(t_s, [began_s, ended_s], side="left")
    if np.count_nonzero(np.diff(value[low : min(low + GLANCE_COUNT, high)])) >= LEAST_STEPS:
        return False
    count = steps_count(whole, began_s, ended_s)
    return count is not None and count < LEAST_STEPS


def updated(series: Series, began_s: float, ended_s: float) -> Updated:
    """Return a series as its meter updated it around a window; other than energy counters of real meters as they were read."""
    whole, of = integral(series), series.channel
    if of.semantics != "counter" or of.quantity != "energy" or of.grade in ("modelled", "nameplate"):
        return Updated(whole)
    stepped = stands(whole, began_s, ended_s)
    return _dated(series, stepped) if stepped or of.specification.period_s else Updated(whole)


@once
def _dated(series: Series, stepped: bool) -> Updated:
    """Date the readings of a counter that is updated now and then; of one that stands only those with a new count."""
    whole, stated = integral(series), series.channel.specification
    samples = whole.samples
    kept = whole.steps if stepped else np.arange(len(samples.t_s))
    pieces = whole.pieces(np.arange(1, len(samples.t_s)))
    counted_j = np.concatenate(([0.0], np.cumsum(pieces.first_rate * pieces.length_s)))[kept]
    unknown_count = np.concatenate(([0], np.cumsum(pieces.length_s == 0)))[kept]
    single = stepped and len(kept) > 1 and float(np.median(np.diff(counted_j))) < SINGLE_FACTOR * (stated.resolution or 0.0)
    since_s = np.minimum(np.diff(samples.t_s, prepend=samples.t_s[:1] - whole.usual_s)[kept], 2 * whole.usual_s)
    spread_s = since_s if single or not stated.period_s else np.minimum(since_s, stated.period_s)
    t_s = samples.t_s[kept] - spread_s / 2
    rates = np.where(np.diff(unknown_count) == 0, np.diff(counted_j) / np.diff(t_s), np.nan)
    request_s = None if samples.request_s is None else samples.request_s[kept]
    dated = replace(
        samples, t_s=t_s, duration_s=samples.duration_s[kept], value=samples.value[kept], request_s=request_s, broken=None
    )
    return Updated(Integral(series, dated, np.concatenate(([np.nan], rates))), spread_s, single)
