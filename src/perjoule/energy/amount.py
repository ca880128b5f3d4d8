"""Energy, bytes or seconds over a window, by the meter's semantics. A gap is never a zero: an uncovered
window is refused.

`energy.integral` defines how a series is integrated, and `energy.faults` how samples of a failing meter look.
This module returns a window's amount with its doubts, or refuses it with the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from perjoule.energy import faults, standing
from perjoule.energy.integral import GAP_FACTOR, SPARSE_S, Integral, integral
from perjoule.energy.once import once
from perjoule.energy.samples import Floats
from perjoule.model import Channel, Series
from perjoule.model.doubts import METERS, Doubt

LEAST_COVERAGE_RATIO = 0.95  # of the window, below which an amount is refused
# range over mean, above which averages over an unknown time give no energy (the SNIA's 20 %)
UNSTEADY_RATIO = 0.2


@dataclass(frozen=True)
class Amount:
    """The integral of a series over a window: joules, bytes or seconds; None if it is refused, with the
    reason in `doubts`.
    """

    value: float | None
    coverage_ratio: float  # of the window, by valid samples
    doubts: tuple[Doubt, ...] = ()


@once
def amount(series: Series, began_s: float, ended_s: float) -> Amount:
    """Integrate a series over one window, and return its doubts.

    Args:
        series: watts or rates (integrated), or a counter (differences).
        began_s: start of the window, seconds.
        ended_s: its end.

    Up to 5 % of a window may lack samples; they count with the mean rate of the rest.
    """
    if not ended_s > began_s:
        return Amount(None, 0.0, (METERS.no_window(channel=series.channel.name),))
    if series.channel.semantics == "state":
        return Amount(None, 0.0, (METERS.bound_only(channel=series.channel.name),))
    curve = integral(series)
    value, covered_s = curve.within(began_s, ended_s)
    coverage = min(max(covered_s / (ended_s - began_s), 0.0), 1.0)
    objections = [*_objections(curve, began_s, ended_s, coverage)]
    doubts = tuple(dict.fromkeys([*(doubt for doubt, _ in objections), *_wraps(series, began_s, ended_s)]))
    if any(refuses for _, refuses in objections):
        return Amount(None, coverage, doubts)
    value /= coverage
    if (series.channel.semantics, series.channel.quantity) == ("counter", "energy"):
        value, coverage = _counted_j(series, began_s, ended_s)
    return Amount(value if isfinite(value) else None, coverage, doubts)


def _wraps(series: Series, began_s: float, ended_s: float) -> Iterator[Doubt]:
    if series.channel.semantics != "counter":
        return
    low, high = integral(series).span(began_s, ended_s)
    if count := np.count_nonzero(standing.unlike_j(series)[low : high + 1]):
        yield METERS.possible_resets(channel=series.channel.name, count=int(count))


def _counted_j(series: Series, began_s: float, ended_s: float) -> tuple[float, float]:
    """Return the energy that a counter shows, and the share of the window in which it does.

    Its readings are dated when they were new, unknown steps count with what is beside them, and the ends that
    it lacks with the mean of the rest.
    """
    curve = standing.updated(series, began_s, ended_s).curve
    (before_j, after_j), (before_s, after_s) = curve.until(np.array([began_s, ended_s]))
    lost = standing.unknown(curve, began_s, ended_s)
    known_s = float(after_s - before_s)
    share = (known_s + lost.length_s) / (ended_s - began_s)
    return (float(after_j - before_j) + lost.energy_j) / share if share > 0 else nan, known_s / (
        ended_s - began_s
    )


def most_j(series: Series, began_s: float, ended_s: float) -> float | None:
    """Return an upper bound of the energy of a window from states with their highest power: between samples
    the higher counts.

    During a request for the state, the highest of it and both its neighbours counts. None if samples do not
    cover the window.
    """
    samples = integral(series).samples
    half_s = 0.0 if samples.request_s is None else samples.request_s / 2
    asked_s, arrived_s = samples.t_s - half_s, samples.t_s + half_s
    if not len(asked_s) or arrived_s[0] > began_s or asked_s[-1] < ended_s:
        return None
    edges_s = np.clip(np.column_stack((asked_s, arrived_s)).ravel(), began_s, ended_s)
    between = np.maximum(samples.value[1:], samples.value[:-1])
    around = np.maximum(np.append(between, between[-1:]), np.append(between[:1], between))
    most = np.empty(len(edges_s) - 1)
    most[::2], most[1::2] = around, between
    return float(most @ np.maximum(np.diff(edges_s), 0.0))


def unsteady(value: Floats) -> bool:
    """Whether powers, of shape (N,), vary too much for averages over an unknown time to give an energy."""
    return len(value) < 2 or float(np.ptp(value)) > UNSTEADY_RATIO * float(value.mean())


def _period_s(t_s: Floats, began_s: float, ended_s: float) -> float:
    """Return the mean distance of the samples in and around a window."""
    if not len(t_s):
        return 0.0
    first = max(int(t_s.searchsorted(began_s, side="right")) - 1, 0)
    last = min(int(t_s.searchsorted(ended_s)), len(t_s) - 1)
    return float(t_s[last] - t_s[first]) / max(last - first, 1)


def _count(t_s: Floats, began_s: float, ended_s: float) -> int:
    """Return the number of samples in a window."""
    return int(t_s.searchsorted(ended_s, side="right") - t_s.searchsorted(began_s))


def _least_count(channel: Channel) -> int:
    """Return the number of samples that a window needs to show its activity: two instants, or one mean of
    power.
    """
    if channel.is_stated:
        return 0
    return (
        2
        if channel.semantics == "instantaneous"
        else int((channel.semantics, channel.quantity) == ("window mean", "power"))
    )


def _objections(
    curve: Integral, began_s: float, ended_s: float, coverage: float
) -> Iterator[tuple[Doubt, bool]]:
    """Return doubts about a window's amount, and whether each refuses it."""
    channel = curve.channel
    name, semantics = channel.name, channel.semantics
    yield from ((doubt, False) for fault in curve.faults if (doubt := fault.within(began_s, ended_s)))
    if coverage < LEAST_COVERAGE_RATIO:
        yield METERS.uncovered(channel=name, covered_ratio=coverage), True
    elif coverage < 1 - 1e-6:
        yield METERS.gap(channel=name, missing_ratio=1 - coverage), False
    if semantics == "average" and unsteady(curve.inside(began_s, ended_s)[1]):
        yield METERS.unsteady_averages(channel=name), True
    every_s, least_count, at_moments = curve.samples.t_s, _least_count(channel), semantics == "instantaneous"
    if (
        semantics in ("average", "instantaneous")
        and (period_s := _period_s(every_s, began_s, ended_s)) > SPARSE_S
    ):
        yield METERS.undersampled(channel=name, period_s=period_s, refused=at_moments), at_moments
    elif least_count and (count := _count(every_s, began_s, ended_s)) < least_count:
        few = METERS.too_few(channel=name, count=count, least_count=least_count, window_s=ended_s - began_s)
        yield few, True
    if semantics == "counter" and curve.longest_s > GAP_FACTOR * curve.usual_s:
        t_s, _ = curve.inside(began_s, ended_s)
        longest_s = float((t_s[1:] - t_s[:-1]).max(initial=0.0))
        if longest_s > GAP_FACTOR * curve.usual_s:
            yield METERS.unread(channel=name, longest_s=longest_s), False
    if (steps := standing.steps_count(curve, began_s, ended_s)) is not None and steps < standing.FEW_STEPS:
        refused = steps < standing.LEAST_STEPS
        yield METERS.few_steps(channel=name, count=steps, refused=refused), refused
    yield from ((doubt, False) for doubt in faults.of(curve, began_s, ended_s))
