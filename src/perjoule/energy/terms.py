"""The terms of the budget of one channel over one window, from the meter's specification and its samples.

accuracy        (a*P + b*R) * T / sqrt(3): any error within the stated limit is equally likely
stated number   u * T, of a number that stands for a part and was not measured with the load
resolution      q / sqrt(12) of each step that the samples stand on, by its share of them; of a counter at
                either end
noise           that of a sample over the root of the number that is independent, n (1-r)/(1+r), with r by
                idle time if that is longer than the window
under-sampling  between two samples that differ by D a jump may be anywhere: D*T/sqrt(12) each,
                dP*T*sqrt(edges/12) in all
edges           an edge of the window cuts a piece of which only the sum is known: L f (1-f), times the
                difference of the rates around
request         a polled reading was taken at any moment of its request of r: r / sqrt(12), independently of
                the others
delay           the same if a meter always reads as early or late in a request: as if the window were shifted
                by r / sqrt(12)
latency, clock  the change of the energy if the meter's clock were shifted by this
update          a counter's reading was new at any time in the period before it, or since the reading before:
                P*p/sqrt(12)
gaps            missing time counts with the mean of the rest
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import copysign, hypot, inf, sqrt

import numpy as np

from perjoule.energy.amount import amount
from perjoule.energy.budget import Budget, Term
from perjoule.energy.integral import Integral
from perjoule.energy.noise import calm, calm_idle, idle, independent, neighbours, noise
from perjoule.energy.once import once
from perjoule.energy.samples import Floats
from perjoule.energy.standing import Updated, unknown, updated
from perjoule.energy.timing import Edge, beside_idle_j, edges, edges_j, readings_j, requests_j, shifted_j
from perjoule.model import Series
from perjoule.statistics.distributions import student_quantile

SHIFTS = np.linspace(0.0, 1.0, 9)  # of the latency, all as likely
ROUNDING_RATIO = 1e-12  # of an energy, below which a term is what rounding leaves
DITHERED_RATIO = 0.4  # of steps that change, from which on the noise makes errors of resolution independent


@once
def budget(
    series: Series, began_s: float, ended_s: float, *, quiet: tuple[tuple[float, float], ...] = ()
) -> Budget | None:
    """List the uncertainty terms of a window's energy; None if the energy is refused.

    Args:
        series: of one channel.
        began_s: start of the window, seconds.
        ended_s: its end.
        quiet: idle windows, in which the noise of an integrating meter can be distinguished from the load.
    """
    energy = amount(series, began_s, ended_s)
    if energy.value is None:
        return None
    channel = series.channel
    specification = channel.specification
    dated = updated(series, began_s, ended_s)
    both = edges(
        dated.curve,
        began_s,
        ended_s,
        quiet,
        _loose_s(dated, began_s, ended_s),
        _reading(dated, began_s, ended_s),
    )
    value_j = energy.value + beside_idle_j(dated.curve, both)
    listed = _terms(dated, value_j, both, quiet, energy.coverage_ratio)
    terms = [term for term in listed if term.standard_j > ROUNDING_RATIO * abs(value_j)]
    has_accuracy = any(
        part is not None for part in (specification.gain_ratio, specification.offset, specification.sigma)
    )
    unstated = [] if has_accuracy else ["accuracy"]
    unstated += (
        ["latency"]
        if specification.latency_s is None and channel.semantics in ("average", "instantaneous")
        else []
    )
    unstated += ["clock"] if specification.clock_s is None and _dated(series) else []
    return Budget(
        value_j, tuple(terms), tuple(unstated) if channel.grade not in ("modelled", "nameplate") else ()
    )


def _dated(series: Series) -> bool:
    """Return whether an unknown clock dated samples, so no request of ours shows when they were taken."""
    return series.asked_s is None or bool(np.isnan(series.asked_s).any())


def _loose_s(dated: Updated, began_s: float, ended_s: float) -> float:
    """Return by how much the time of a sample may be wrong; moments of power are taken as they are."""
    if dated.curve.channel.semantics == "instantaneous":
        return 0.0
    clock_s = dated.curve.channel.specification.clock_s or 0.0
    return (_spread_s(dated) + _request_s(dated.curve, began_s, ended_s)) / 2 + 2 * clock_s


def _spread_s(dated: Updated) -> float:
    """Return the usual time within which a counter's reading was new."""
    return 0.0 if dated.spread_s is None else float(np.median(dated.spread_s))


def _reading(dated: Updated, began_s: float, ended_s: float) -> Callable[[float], float] | None:
    """Return the standard uncertainty of a counter's reading as a function of power; None of other series."""
    if dated.curve.channel.semantics != "counter":
        return None
    wide_s, step_j = hypot(_spread_s(dated), _request_s(dated.curve, began_s, ended_s)), _step_j(dated)
    return lambda watts: hypot(watts * wide_s, step_j) / sqrt(12)


def _step_j(dated: Updated) -> float:
    """Return the step within which a counter's readings are known: none, where each has just been reached."""
    return 0.0 if dated.single else dated.curve.channel.specification.resolution or 0.0


def _terms(
    dated: Updated,
    value_j: float,
    both: tuple[Edge, Edge],
    quiet: tuple[tuple[float, float], ...],
    coverage: float,
) -> Iterator[Term]:
    curve, (began_s, ended_s) = dated.curve, (edge.moment_s for edge in both)
    channel = curve.channel
    specification, name, length_s = channel.specification, channel.meter, ended_s - began_s
    factor_j = (specification.gain_ratio or 0.0) * abs(value_j) / sqrt(3)
    offset_j = (
        (specification.offset or 0.0) * (sqrt(2) if channel.semantics == "counter" else length_s) / sqrt(3)
    )
    yield Term("accuracy", factor_j + offset_j, name, shared=True, rectangular=True, factor_j=factor_j)
    if specification.sigma:
        yield Term("stated number", specification.sigma * length_s, name, shared=True)
    latency_s = specification.latency_s
    if (reading_j := _reading(dated, began_s, ended_s)) is not None:
        yield Term("resolution", readings_j(curve, both, None, _step_j(dated)), name)
        yield Term("update", readings_j(curve, both, dated.spread_s), name)
        yield Term("request", readings_j(curve, both, curve.samples.request_s), name)
        # Of three readings that are wrong by this, the rates differ by more than the load's.
        noise_w = sqrt(3) * reading_j(abs(value_j) / length_s) / curve.usual_s
        yield Term("edges", edges_j(curve, both, noise_w), name)
        latency_s = max(
            (latency_s or 0.0) - (specification.period_s or 0.0), 0.0
        )  # up to a period, its age is that of its update
    else:
        yield from _sampled(curve, both, quiet, value_j)
    if request_s := _request_s(curve, began_s, ended_s):
        shift_s = request_s / sqrt(12)
        error_j = shifted_j(curve, both, np.array([-shift_s, shift_s]))
        yield Term("delay", abs(error_j), name, shared=True, sign=int(copysign(1, error_j)))
    if latency_s is None and channel.semantics == "average":
        latency_s = specification.period_s or curve.usual_s
    if latency_s:
        error_j = shifted_j(curve, both, latency_s * SHIFTS)
        yield Term(
            "latency", abs(error_j), name, shared=True, rectangular=True, sign=int(copysign(1, error_j))
        )
    # Coarse stamps may be cut off or rounded: a time is anywhere within one of them, on either side.
    if clock_s := hypot(specification.clock_s or 0.0, curve.samples.stamp_s / sqrt(3), curve.samples.ahead_s):
        error_j = shifted_j(curve, both, np.array([-clock_s, clock_s]))
        yield Term("clock", abs(error_j), name, shared=True, sign=int(copysign(1, error_j)))
    gaps_j = _gaps_j(curve, began_s, ended_s, value_j, coverage, reading_j) if coverage < 1 - 1e-6 else 0.0
    yield Term("gaps", hypot(gaps_j, dated.wraps_j / sqrt(3)), name)


def _gaps_j(
    curve: Integral,
    began_s: float,
    ended_s: float,
    value_j: float,
    coverage: float,
    reading_j: Callable[[float], float] | None,
) -> float:
    """Return the uncertainty from what samples lack of a window."""
    length_s = ended_s - began_s
    if reading_j is None:
        _, value = curve.inside(began_s, ended_s)
        return float(np.std(value) or abs(value_j) / length_s / sqrt(12)) * (1 - coverage) * length_s
    lost = unknown(curve, began_s, ended_s, reading_j)
    lacking_s = max((1 - coverage) * length_s - lost.length_s, 0.0)
    return hypot(lost.standard_j, abs(value_j) / length_s / sqrt(12) * lacking_s)


def _request_s(curve: Integral, began_s: float, ended_s: float) -> float:
    """Return the length of requests, root mean square, in and around a window."""
    if (request_s := curve.samples.request_s) is None:
        return 0.0
    low, high = curve.span(began_s, ended_s)
    return sqrt(float((request_s[max(low - 1, 0) : high + 1] ** 2).mean())) if high > low else 0.0


def _sampled(
    curve: Integral, both: tuple[Edge, Edge], quiet: tuple[tuple[float, float], ...], value_j: float
) -> Iterator[Term]:
    """Return the terms that follow from power being sampled."""
    began_s, ended_s = (edge.moment_s for edge in both)
    channel, length_s = curve.channel, ended_s - began_s
    t_s, value = curve.inside(began_s, ended_s)
    if len(value) < 2:
        yield Term("edges", edges_j(curve, both, 0.0), channel.meter)
        return
    resolution = channel.specification.resolution
    if resolution and float((np.diff(value) != 0).mean()) < DITHERED_RATIO:
        _, counts = np.unique(value, return_counts=True)
        shares = counts / len(value)  # each step is wrong by itself, for as long as power stands on it
        standard_j = resolution / sqrt(12) * length_s * hypot(*shares)
        yield Term("resolution", standard_j, channel.meter, repeated=True, rectangular=len(counts) == 1)
    if channel.semantics == "average":
        yield _averaged(curve, value, length_s, quiet)
        return
    scatter_w, count = noise(t_s, value)
    quiet_w = idle(curve, quiet)
    mean_w = value_j / length_s
    noise_w = scatter_w
    if channel.semantics == "window mean":
        integrating = _integrating(curve, mean_w, calm_idle(curve, quiet))
        noise_w = min([scatter_w, *(bound_w for bound_w, _ in integrating)])
        yield Term("edges", edges_j(curve, both, noise_w), channel.meter)
    else:
        integrating = []
        yield Term("under-sampling", _jumps_j(curve, began_s, ended_s, noise_w), channel.meter)
    yield Term("request", requests_j(curve, began_s, ended_s, noise_w), channel.meter)
    if channel.grade == "modelled":  # the means of counters, which add up to what they counted
        return
    like = neighbours(value, quiet_w)
    if channel.semantics == "window mean" and not integrating:
        # Its windows add up, whatever the load does: that neighbours are alike is the load's, as far as one
        # can tell.
        like = replace(like, ratio=0.0)
    r = like.ratio
    bounds = [(scatter_w * sqrt(3 / ((1 - r) * (3 - r))), min(max(1.0, count / 3), like.freedom))]
    bounds += _integrating(curve, mean_w, calm(quiet_w, r)) if channel.semantics == "window mean" else []
    spread_w, freedom = min(bounds, key=lambda bound: bound[0] * student_quantile(float(np.floor(bound[1]))))
    yield Term("noise", spread_w * length_s / sqrt(like.worth(len(value))), channel.meter, freedom=freedom)


def _integrating(
    curve: Integral, mean_w: float, calm: tuple[float, float] | None
) -> list[tuple[float, float]]:
    """Return upper bounds of the noise of a meter that integrates, with their degrees of freedom.

    A load that changes from sample to sample looks like noise, but isn't. Idle time reveals the difference;
    so does the stated accuracy, which no reading exceeds, whatever its scatter.
    """
    specification = curve.channel.specification
    bounds = [calm] if calm else []
    if specification.gain_ratio is not None or specification.offset is not None:
        bounds.append(
            (((specification.gain_ratio or 0.0) * abs(mean_w) + (specification.offset or 0.0)) / sqrt(3), inf)
        )
    return bounds


def _jumps_j(curve: Integral, began_s: float, ended_s: float, noise_w: float) -> float:
    """Return the error from jumps between two samples, at any moment: D T / sqrt(12) for a whole piece,
    less for a cut one.
    """
    t_s, value = curve.samples.t_s, curve.samples.value
    low, high = curve.span(began_s, ended_s)
    index = np.arange(max(low, 1), min(high, len(t_s) - 1) + 1)
    step = value[index] - value[index - 1]
    step_s = t_s[index] - t_s[index - 1]
    before = np.maximum((began_s - t_s[index - 1]) / step_s, 0.0)
    after = np.maximum((t_s[index] - ended_s) / step_s, 0.0)
    cut = np.maximum(before, after)
    # of where the jump is, in squares of D T; 1/12 of a whole piece
    variance = (1 + 2 * cut**3) / 3 - (1 + cut**2) ** 2 / 4
    step_s = np.maximum(step_s, np.where(step != 0, curve.channel.specification.period_s or 0.0, 0.0))
    return sqrt(max(float(((step**2 - 2 * noise_w**2) * step_s**2 * variance).sum()), 0.0))


def _averaged(
    curve: Integral, value: Floats, length_s: float, quiet: tuple[tuple[float, float], ...]
) -> Term:
    """Return the noise of averages, by idle time as long as the window if there is: a load that changes
    looks like noise.
    """
    longest = max([value, *idle(curve, quiet)], key=len)
    spread_w, count, freedom = independent(longest)
    return Term(
        "noise",
        spread_w * length_s / sqrt(count * len(value) / len(longest)),
        curve.channel.meter,
        freedom=freedom,
    )
