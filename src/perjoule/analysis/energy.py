"""Energy, bytes or seconds over a window, by the meter's semantics. A gap is never a zero: what is not covered is refused.

Every series becomes segments with a rate at either end: between two readings of a counter the rate is constant, so it is over the
window of a "window mean", and between instantaneous samples it runs straight (the trapezoid, on the real timestamps). An amount
is the integral of the segments over the part of them that lies in the window.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from perjoule.model import Series

GAP_FACTOR = 3.0  # a distance between samples of more than so many usual ones is a gap
LEAST_COVERAGE_RATIO = 0.95  # of the window, below which an amount is refused
UNSTEADY_RATIO = 0.2  # range over mean, above which averages over an unknown time give no energy (the SNIA's 20 %)
BURST_S = 2.0  # storage works in bursts of about 2 s (write-back, journals); at T > burst/3 an instantaneous meter errs > 1 %

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Amount:
    """What a series adds up to over a window: joules, bytes or seconds; None when it is refused, with the reason in `doubts`."""

    value: float | None
    coverage_ratio: float  # of the window, by valid samples
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Segments:
    """Pieces of time that a series covers, with the rate (W, B/s, s/s) at both ends. Shapes (N,), in order of time."""

    began_s: Floats
    ended_s: Floats
    first_rate: Floats
    last_rate: Floats
    faults: tuple[str, ...] = ()  # intervals that are invalid for another reason than a missing sample


def amount(series: Series, began_s: float, ended_s: float, *, range_value: float = inf, most_rate: float = inf) -> Amount:
    """Integrate a series over a window.

    Args:
        series: watts or rates (integrated), or a counter (differences).
        began_s: begin of the window, seconds.
        ended_s: its end.
        range_value: where a counter wraps to 0, in its unit; infinite: it never wraps, and falling back is a reset.
        most_rate: the highest rate that is possible, in the unit per second; what is faster is no wrap but a reset.

    Up to 5 % of the window may lack samples; they count with the mean rate of the rest, and a doubt says so.
    """
    name, length_s = series.channel.name, ended_s - began_s
    if not length_s > 0:
        return Amount(None, 0.0, (f"{name}: the window has no length",))
    if series.channel.semantics == "state":
        return Amount(None, 0.0, (f"{name}: a state bounds the power, it is not energy",))
    pieces = segments(series, range_value=range_value, most_rate=most_rate)
    low_s, high_s = np.maximum(pieces.began_s, began_s), np.minimum(pieces.ended_s, ended_s)
    inside = high_s > low_s
    low_s, high_s = low_s[inside], high_s[inside]
    begin_s, full_s = pieces.began_s[inside], (pieces.ended_s - pieces.began_s)[inside]
    first, slope = pieces.first_rate[inside], (pieces.last_rate - pieces.first_rate)[inside] / full_s
    covered_s = high_s - low_s
    covered = float((first + slope * ((low_s + high_s) / 2 - begin_s)) @ covered_s)
    coverage = min(1.0, float(covered_s.sum()) / length_s)
    doubts = _doubts(series, began_s, ended_s, coverage, pieces)
    if coverage < LEAST_COVERAGE_RATIO or _refused(series, began_s, ended_s):
        return Amount(None, coverage, doubts)
    return Amount(covered * length_s / float(covered_s.sum()) if coverage < 1 else covered, coverage, doubts)


def energy_j(series: Series, began_s: float, ended_s: float, *, range_j: float = inf, most_w: float = inf) -> Amount:
    """Give the energy that a power or energy series saw in a window, in joules; see `amount`."""
    return amount(series, began_s, ended_s, range_value=range_j, most_rate=most_w)


def segments(series: Series, *, range_value: float = inf, most_rate: float = inf) -> Segments:
    """Turn a series into pieces of known rate; failed reads (NaN), gaps and invalid counter steps leave holes."""
    valid = np.isfinite(series.value) & np.isfinite(series.t_s)
    t_s, duration_s, value = series.t_s[valid], series.duration_s[valid], series.value[valid]
    if series.channel.semantics == "window mean":
        # Reported windows may overlap by the jitter of their arrival: no moment counts twice.
        begin_s = np.maximum(t_s - duration_s, np.concatenate(([-inf], t_s[:-1])))[: len(t_s)]
        real = t_s > begin_s
        return Segments(begin_s[real], t_s[real], value[real], value[real])
    # A failed read between two good ones is a gap for what is read at moments; a counter counts on meanwhile.
    failed = np.zeros(0, dtype=bool) if len(t_s) < 2 else np.diff(np.flatnonzero(valid)) > 1
    step_s = np.diff(t_s)
    forward = step_s > 0
    if series.channel.semantics == "counter":
        rate, faults = _counter_rates(series.channel.name, value, step_s, range_value, most_rate)
        kept = forward & np.isfinite(rate)
        return Segments(t_s[:-1][kept], t_s[1:][kept], rate[kept], rate[kept], faults)
    usual_s = float(np.median(step_s)) if len(step_s) else 0.0
    kept = forward & ~failed & (step_s <= GAP_FACTOR * usual_s)
    return Segments(t_s[:-1][kept], t_s[1:][kept], value[:-1][kept], value[1:][kept])


def _counter_rates(
    name: str, value: Floats, step_s: Floats, range_value: float, most_rate: float
) -> tuple[Floats, tuple[str, ...]]:
    step = np.diff(value)
    back = step < 0
    if np.isfinite(range_value):
        step = np.where(back, step + range_value, step)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = step / step_s
    # A wrap is believed when it can be one, and only one: the rate is possible and the range was not passed unseen.
    impossible = (rate < 0) | (rate > most_rate) | (back & ~np.isfinite(range_value))
    ambiguous = step_s * most_rate > range_value if np.isfinite(most_rate) else np.zeros(len(step), dtype=bool)
    faults: list[str] = []
    if count := int(impossible.sum()):
        faults.append(f"{name}: {count} steps of the counter are no wrap and no possible rate (a reset, or a failed read)")
    if count := int((ambiguous & ~impossible).sum()):
        faults.append(f"{name}: {count} times the counter was read too seldom to tell how often it wrapped")
    return np.where(impossible | ambiguous, np.nan, rate), tuple(faults)


def _refused(series: Series, began_s: float, ended_s: float) -> bool:
    """Averages over an unknown time say nothing of a window unless the power was steady."""
    if series.channel.semantics != "average":
        return False
    inside = series.value[(series.t_s >= began_s) & (series.t_s <= ended_s) & np.isfinite(series.value)]
    return len(inside) < 2 or float(np.ptp(inside)) > UNSTEADY_RATIO * float(inside.mean())


def _doubts(series: Series, began_s: float, ended_s: float, coverage: float, pieces: Segments) -> tuple[str, ...]:
    name = series.channel.name
    found = list(pieces.faults)
    if coverage < LEAST_COVERAGE_RATIO:
        found.append(f"{name}: samples cover only {coverage:.0%} of the window, so that its amount is refused")
    elif coverage < 1 - 1e-6:
        found.append(f"{name}: {1 - coverage:.1%} of the window lack samples and count with the mean of the rest")
    if _refused(series, began_s, ended_s):
        found.append(f"{name}: averages over an unknown time, and not steady, give no energy")
    inside_s = series.t_s[(series.t_s >= began_s) & (series.t_s <= ended_s) & np.isfinite(series.value)]
    if series.channel.semantics in ("instantaneous", "average") and len(inside_s) > 1:
        period_s = float(np.median(np.diff(inside_s)))
        if period_s > BURST_S / 3:
            found.append(
                f"{name}: undersampled, one sample in {period_s:.2g} s can miss bursts shorter than {3 * period_s:.2g} s"
            )
    return tuple(found)
