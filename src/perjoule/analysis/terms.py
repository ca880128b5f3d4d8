"""The terms of the budget of one channel over one window, from what the meter states of itself and what its samples show.

accuracy        (a*P + b*R) * T / sqrt(3): anything within the stated limit is as likely
resolution      q / sqrt(12) of a sample, once where the samples stand on one step; of a counter at either end
noise           that of a sample, from second differences, over the root of their number; of averages, of the number that is
                independent, n (1-r)/(1+r)
under-sampling  between two samples that differ by D a jump may be anywhere: D*T/sqrt(12) each, dP*T*sqrt(edges/12) in all
edges           an edge of the window cuts a piece of which only the sum is known
latency, clock  what the energy would be had the meter's clock been shifted by this
update          a counter that is updated every p is up to p old at either end: P*p*sqrt(2/12); where it stands between
                readings, at least what `analysis.standing` makes of its steps, resolution included
gaps            missing time counts with the mean of the rest
"""

from collections.abc import Iterator, Sequence
from math import hypot, sqrt

import numpy as np

from perjoule.analysis.budget import Budget, Term
from perjoule.analysis.energy import BURST_S, LEAST_COVERAGE_RATIO, amount, inside
from perjoule.analysis.integral import Integral
from perjoule.analysis.samples import Floats
from perjoule.analysis.standing import standing
from perjoule.model import Series

SHIFTS = np.linspace(0.0, 1.0, 9)  # of the latency, all as likely
TRIMMED_RATIO = 0.8  # of second differences that count for the noise: the largest are jumps of the load
TRIMMED_VARIANCE = 0.4377  # of a normal whose largest fifth is left out
LEAST_COUNT = 12  # samples that tell a noise
DITHERED_RATIO = 0.4  # of steps that change, from which on the noise makes errors of resolution independent


def budget(
    series: Series | Integral, began_s: float, ended_s: float, *, quiet: Sequence[tuple[float, float]] = ()
) -> Budget | None:
    """List what the energy of a window may be wrong by; None when the energy is refused.

    Args:
        series: of one channel.
        began_s: begin of the window, seconds.
        ended_s: its end.
        quiet: windows in which nothing went on, where the noise of a meter that integrates can be told from the load.
    """
    whole = series if isinstance(series, Integral) else Integral(series)
    found = amount(whole, began_s, ended_s)
    if found.value is None:
        return None
    channel = whole.series.channel
    stated = channel.specification
    terms = [t for t in _terms(whole, found.value, began_s, ended_s, quiet, found.coverage_ratio) if t.standard_j > 0]
    unknown = [] if stated.gain_ratio is not None or stated.offset is not None else ["accuracy"]
    unknown += ["latency"] if stated.latency_s is None and channel.semantics in ("average", "instantaneous") else []
    return Budget(found.value, tuple(terms), tuple(unknown) if channel.grade not in ("modelled", "nameplate") else ())


def _terms(
    whole: Integral,
    value_j: float,
    began_s: float,
    ended_s: float,
    quiet: Sequence[tuple[float, float]],
    coverage: float,
) -> Iterator[Term]:
    channel = whole.series.channel
    stated, name, length_s = channel.specification, channel.meter, ended_s - began_s
    factor_j = (stated.gain_ratio or 0.0) * abs(value_j) / sqrt(3)
    offset_j = (stated.offset or 0.0) * (sqrt(2) if channel.semantics == "counter" else length_s) / sqrt(3)
    yield Term("accuracy", factor_j + offset_j, name, shared=True, rectangular=True, factor_j=factor_j)
    if channel.semantics == "counter":
        both = _share_of_readings(whole, began_s, ended_s)
        period_s, resolution_j, mean_w = stated.period_s or 0.0, stated.resolution or 0.0, abs(value_j) / length_s
        older_j = _shifted_j(whole, began_s, ended_s, np.array([-period_s / 2])) if period_s else 0.0  # by half on average
        counted_j, updated_j = resolution_j * sqrt(both / 12), hypot(mean_w * period_s * sqrt(both / 12), older_j)
        reading_j = sqrt(((mean_w * period_s) ** 2 + resolution_j**2) / 12)
        if (stood := standing(whole, began_s, ended_s)) is not None:  # what a step counts has both in it
            yield Term("update", max(stood.standard_j, counted_j, mean_w * period_s * sqrt(both / 12)), name)
            reading_j = max(reading_j, stood.began_j / sqrt(12), stood.ended_j / sqrt(12))
        else:
            yield Term("resolution", counted_j, name)
            yield Term("update", updated_j, name)
        # Of three readings that are wrong by this, the rates differ by more than the load's.
        noise_w = sqrt(3) * reading_j / whole.usual_s if whole.usual_s else 0.0
        yield Term("edges", _edges_j(whole, began_s, ended_s, noise_w), name)
    else:
        yield from _sampled(whole, began_s, ended_s, quiet)
    latency_s = stated.latency_s
    if latency_s is None and channel.semantics == "average":
        latency_s = stated.period_s or whole.usual_s
    if latency_s:
        error_j = _shifted_j(whole, began_s, ended_s, latency_s * SHIFTS)
        yield Term("latency", abs(error_j), name, shared=True, rectangular=True, sign=1 if error_j >= 0 else -1)
    # Coarse stamps may be cut off or rounded: a time is anywhere within one of them, on either side.
    if clock_s := hypot(stated.clock_s or 0.0, whole.samples.stamp_s / sqrt(3)):
        error_j = _shifted_j(whole, began_s, ended_s, clock_s * np.array([-1.0, 1.0]))
        yield Term("clock", abs(error_j), name, shared=True, sign=1 if error_j >= 0 else -1)
    if coverage < 1 - 1e-6 and coverage >= LEAST_COVERAGE_RATIO:
        _, values = inside(whole, began_s, ended_s)
        rates = values if channel.semantics != "counter" else np.array([value_j / length_s])
        yield Term("gaps", float(np.std(rates) or abs(value_j) / length_s / sqrt(12)) * (1 - coverage) * length_s, name)


def _sampled(whole: Integral, began_s: float, ended_s: float, quiet: Sequence[tuple[float, float]]) -> Iterator[Term]:
    """What follows from power being told by samples."""
    channel, length_s = whole.series.channel, ended_s - began_s
    t_s, value = inside(whole, began_s, ended_s)
    if len(value) < 2:
        yield Term("edges", _edges_j(whole, began_s, ended_s, 0.0), channel.meter)
        return
    step = np.diff(value)
    weights_s = np.full(len(value), length_s / len(value))
    if (resolution := channel.specification.resolution) and float((step != 0).mean()) < DITHERED_RATIO:
        levels_count = len(np.unique(value))
        standing = levels_count == 1
        standard_j = resolution / sqrt(12) * length_s / sqrt(levels_count)
        yield Term("resolution", standard_j, channel.meter, rectangular=standing)
    if channel.semantics == "average":
        yield _averaged(value, length_s, channel.meter)
        return
    noise_w, count = noise(value)
    if channel.semantics == "window mean":
        calm = [noise(v) for v in (inside(whole, *w)[1] for w in quiet) if len(v) >= LEAST_COUNT]
        noise_w, count = min([(noise_w, count), *calm])
        yield Term("edges", _edges_j(whole, began_s, ended_s, noise_w), channel.meter)
    else:
        step_s = np.maximum(np.diff(t_s), np.where(step != 0, channel.specification.period_s or 0.0, 0.0))
        jumps = float(((step**2 - 2 * noise_w**2) * step_s**2).sum())
        yield Term("under-sampling", sqrt(max(jumps, 0.0) / 12), channel.meter)
    if channel.grade != "modelled":  # the means of counters, which add up to what they counted
        yield Term("noise", noise_w * float(np.linalg.norm(weights_s)), channel.meter, freedom=max(1.0, count / 3))


def noise(value: Floats) -> tuple[float, int]:
    """Estimate the standard deviation of a sample's own noise, and from how many differences.

    From second differences, which a steady or evenly growing power does not have; its jumps are among those left out.
    """
    bends = np.sort(np.diff(value, 2) ** 2)
    if not len(bends):
        return 0.0, 0
    kept = bends[: max(1, round(TRIMMED_RATIO * len(bends)))]
    return sqrt(float(kept.mean()) / TRIMMED_VARIANCE / 6), len(kept)


def independent(value: Floats) -> tuple[float, float, float]:
    """Give the standard deviation of correlated samples about their line, how many independent ones they are worth for the mean,
    n (1-r)/(1+r), and the degrees of freedom of the deviation."""
    count = len(value)
    if count < 4:
        return float(np.std(value, ddof=1)) if count > 1 else 0.0, float(count), float(max(count - 1, 1))
    place = np.arange(count) - (count - 1) / 2
    rest = value - value.mean() - place * (place @ value) / (place @ place)
    variance = float(rest @ rest)
    if not variance:
        return 0.0, float(count), float(count - 1)
    r = float(rest[1:] @ rest[:-1]) / variance
    r = min(
        max(r + (1 + 4 * r) / count, 0.0), 0.99
    )  # what is estimated from few is too small (F. H. C. Marriott, J. A. Pope 1954)
    effective = max(count * (1 - r) / (1 + r), 1.5)
    spread = sqrt(variance / (count - 2) * (1 - 1 / count) / max(1 - 1 / effective, 0.3))
    return spread, effective, max(count * (1 - r * r) / (1 + r * r) - 1, 1.0)


def _averaged(value: Floats, length_s: float, meter: str) -> Term:
    spread_w, count, freedom = independent(value)
    return Term("noise", spread_w * length_s / sqrt(count), meter, freedom=freedom)


def _share_of_readings(whole: Integral, began_s: float, ended_s: float) -> float:
    """How many readings' variance the two ends have: 2, or less where an end lies between two readings that err on their own."""
    t_s, total = whole.samples.t_s, 0.0
    for moment_s in (began_s, ended_s):
        index = min(max(int(np.searchsorted(t_s, moment_s, side="left")), 1), len(t_s) - 1)
        share = min(max(float((moment_s - t_s[index - 1]) / (t_s[index] - t_s[index - 1])), 0.0), 1.0)
        total += share**2 + (1 - share) ** 2
    return total if whole.usual_s >= (whole.series.channel.specification.period_s or 0.0) else 2.0


def _edges_j(whole: Integral, began_s: float, ended_s: float, noise_w: float) -> float:
    """What is not known of the pieces that the window's edges cut.

    A piece shorter than bursts has at most one jump of D: cut at the share f it is wrong by D*T*f(1-f)/sqrt(3) if the jump is in
    it, and the squared differences to both neighbours are on average 2 D^2/3 then, and D^2/3 for a jump in a neighbour: a third
    of them is a little more than that. In a longer one power changed often: its sum is known, and what lies before the cut is
    spread as a Brownian bridge.
    """
    t_s = whole.samples.t_s
    if len(t_s) < 2:  # one window mean that holds all: what was outside of the window may have been anything alike
        only = whole.pieces(np.zeros(1, dtype=np.int64))
        outside_s = max(float(only.length_s[0]) - (ended_s - began_s), 0.0)
        return abs(float(only.first_rate[0])) * outside_s / sqrt(12)
    total = 0.0
    for moment_s in (began_s, ended_s):
        index = int(np.searchsorted(t_s, moment_s, side="left"))
        around = whole.pieces(np.clip(np.arange(index - 1, index + 2), 1, max(len(t_s) - 1, 1)))
        piece_s, into_s = float(around.length_s[1]), moment_s - float(around.began_s[1])
        if not 0 < into_s < piece_s:
            continue
        changed = float((np.diff(around.first_rate) ** 2).sum()) - 4 * noise_w**2
        bridge = into_s * (piece_s - into_s) / piece_s**2
        total += max(changed, 0.0) * piece_s**2 * (bridge**2 / 3 if piece_s < BURST_S else bridge / 4)
    return sqrt(total)


def _shifted_j(whole: Integral, began_s: float, ended_s: float, shifts_s: Floats) -> float:
    """By how much the energy differs, root mean square, when the window is shifted; what is not covered counts as the rest.

    Negative where the energy falls as the window is shifted to later times.
    """
    shifts_s = np.concatenate((shifts_s, [0.0]))
    until, until_s = whole.until(np.concatenate((began_s + shifts_s, ended_s + shifts_s)))
    count = len(shifts_s)
    covered_s = np.maximum(until_s[count:] - until_s[:count], 1e-9)
    energy_j = (until[count:] - until[:count]) * (ended_s - began_s) / covered_s
    differences_j = energy_j[:-1] - energy_j[-1]
    return float(np.copysign(np.sqrt((differences_j**2).mean()), differences_j @ shifts_s[:-1]))
