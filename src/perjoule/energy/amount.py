"""Energy, bytes or seconds over a window, by the meter's semantics. A gap is never a zero: an uncovered
window is refused.

`energy.integral` defines how a series is integrated, and `energy.faults` how samples of a failing meter look.
This module returns a window's amount with its doubts, or refuses it with the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


@dataclass(frozen=True)
class Amounts:
    """The same for many windows. Shapes (W,); NaN if refused. `amount` returns the doubts of one of them."""

    value: Floats
    coverage_ratio: Floats


def amounts(series: Series, began_s: ArrayLike, ended_s: ArrayLike) -> Amounts:
    """Integrate a series over windows.

    Args:
        series: watts or rates (integrated), or a counter (differences).
        began_s: start of each window, seconds, shape (W,).
        ended_s: their ends.

    Up to 5 % of a window may lack samples; they count with the mean rate of the rest.
    """
    curve, channel = integral(series), series.channel
    edges_s = np.vstack((began_s, ended_s)).astype(np.float64)
    length_s = edges_s[1] - edges_s[0]
    upto, covered_s = (a.reshape(edges_s.shape) for a in curve.until(edges_s.ravel()))
    with np.errstate(divide="ignore", invalid="ignore"):
        coverage = np.where(length_s > 0, np.clip((covered_s[1] - covered_s[0]) / length_s, 0.0, 1.0), 0.0)
        value = (upto[1] - upto[0]) / np.where(coverage > 0, coverage, np.nan)
    refused = (coverage < LEAST_COVERAGE_RATIO) | (channel.semantics == "state")
    if channel.semantics == "average":
        refused |= np.array([_unsteady(curve, *edges) for edges in edges_s.T], dtype=bool)
    if channel.semantics == "instantaneous":
        refused |= _period_s(curve, edges_s[0], edges_s[1]) > SPARSE_S
    refused |= _count(curve, edges_s[0], edges_s[1]) < _least_count(channel)
    if channel.semantics == "counter" and channel.quantity == "energy":
        refused |= np.array([standing.refused(curve, *edges) for edges in edges_s.T], dtype=bool)
    return Amounts(np.where(refused, np.nan, value), coverage)


@once
def amount(series: Series, began_s: float, ended_s: float) -> Amount:
    """Integrate a series over one window, and return its doubts; see `amounts`."""
    name = series.channel.name
    if not ended_s > began_s:
        return Amount(None, 0.0, (METERS.no_window(channel=name),))
    if series.channel.semantics == "state":
        return Amount(None, 0.0, (METERS.bound_only(channel=name),))
    integrated = amounts(series, began_s, ended_s)
    value, coverage = float(integrated.value[0]), float(integrated.coverage_ratio[0])
    doubts = dict.fromkeys(_objections(integral(series), began_s, ended_s, coverage))
    doubts |= dict.fromkeys(_wraps(series, began_s, ended_s))
    if np.isfinite(value) and (series.channel.semantics, series.channel.quantity) == ("counter", "energy"):
        value, coverage = _counted_j(series, began_s, ended_s)
    return Amount(value if np.isfinite(value) else None, coverage, tuple(doubts))


def _wraps(series: Series, began_s: float, ended_s: float) -> Iterator[Doubt]:
    low, high = np.searchsorted(integral(series).samples.t_s, [began_s, ended_s], side="left")
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
    return (float(after_j - before_j) + lost.energy_j) / share if share > 0 else np.nan, known_s / (
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


def _unsteady(curve: Integral, began_s: float, ended_s: float) -> bool:
    return unsteady(curve.inside(began_s, ended_s)[1])


def unsteady(value: Floats) -> bool:
    """Whether powers, of shape (N,), vary too much for averages over an unknown time to give an energy."""
    return len(value) < 2 or float(np.ptp(value)) > UNSTEADY_RATIO * float(value.mean())


def _period_s(curve: Integral, began_s: Floats, ended_s: Floats) -> Floats:
    """Return the mean distance of the samples in and around windows. Shapes (W,)."""
    t_s = curve.samples.t_s
    if not len(t_s):
        return np.zeros(len(began_s))
    first = np.maximum(np.searchsorted(t_s, began_s, side="right") - 1, 0)
    last = np.minimum(np.searchsorted(t_s, ended_s, side="left"), len(t_s) - 1)
    return (t_s[last] - t_s[first]) / np.maximum(last - first, 1)


def _count(curve: Integral, began_s: Floats, ended_s: Floats) -> NDArray[np.int64]:
    """Return the number of samples in windows. Shapes (W,)."""
    t_s = curve.samples.t_s
    return np.searchsorted(t_s, ended_s, side="right") - np.searchsorted(t_s, began_s, side="left")


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


def _objections(curve: Integral, began_s: float, ended_s: float, coverage: float) -> Iterator[Doubt]:
    channel = curve.channel
    name, semantics = channel.name, channel.semantics
    yield from filter(None, (fault.within(began_s, ended_s) for fault in curve.faults))
    if coverage < LEAST_COVERAGE_RATIO:
        yield METERS.uncovered(channel=name, covered_ratio=coverage)
    elif coverage < 1 - 1e-6:
        yield METERS.gap(channel=name, missing_ratio=1 - coverage)
    if semantics == "average" and _unsteady(curve, began_s, ended_s):
        yield METERS.unsteady_averages(channel=name)
    period_s = float(_period_s(curve, np.array([began_s]), np.array([ended_s]))[0])
    if semantics in ("average", "instantaneous") and period_s > SPARSE_S:
        yield METERS.undersampled(channel=name, period_s=period_s, refused=semantics == "instantaneous")
    elif (count := _count(curve, np.array([began_s]), np.array([ended_s]))[0]) < (
        least_count := _least_count(channel)
    ):
        yield METERS.too_few(
            channel=name, count=int(count), least_count=least_count, window_s=ended_s - began_s
        )
    t_s, _ = curve.inside(began_s, ended_s)
    if (
        semantics == "counter"
        and len(t_s) > 1
        and (longest_s := float(np.diff(t_s).max())) > GAP_FACTOR * curve.usual_s
    ):
        yield METERS.unread(channel=name, longest_s=longest_s)
    if (steps := standing.steps_count(curve, began_s, ended_s)) is not None and steps < standing.FEW_STEPS:
        yield METERS.few_steps(channel=name, count=steps, refused=steps < standing.LEAST_STEPS)
    yield from faults.of(curve, began_s, ended_s)
