"""Uncertainty from timing: pieces that a window's edges cut, moments of polled readings, clocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np

from perjoule.energy.integral import BURST_S, Integral
from perjoule.energy.samples import Floats

STEPPED_RATIO = 0.5  # of the spread of the rates around an edge, where power is taken to have stepped once
TOUCH_S = 2.0  # that programs take to start, between the end of idle time and the begin of a load
RESTED_RATIO = 0.1  # of what the load adds, within which power is that of idle time
# times the deviation of the difference of two neighbouring rates, by which they may differ besides
RESTED_FACTOR = 2.0


@dataclass(frozen=True)
class Edge:
    """The begin or end of a window; where idle time is outside, the nearest sample that is surely in it,
    and the rate there.
    """

    moment_s: float
    is_end: bool
    sample: int = -1  # -1: none, power outside is unknown
    idle_w: float = nan

    @property
    def is_idle(self) -> bool:
        """Whether the power outside is known to be that of idle time."""
        return self.sample >= 0


def edges(
    curve: Integral,
    began_s: float,
    ended_s: float,
    quiet: Sequence[tuple[float, float]],
    loose_s: float = 0.0,
    reading_j: Callable[[float], float] | None = None,
) -> tuple[Edge, Edge]:
    """Return both edges of a window: it may begin where idle time ends, and end where power is again what it
    was in that.

    Only of real meters: a model's power is what counters counted. Not of averages.

    Args:
        curve: of the series.
        began_s: begin of the window, seconds.
        ended_s: its end.
        quiet: idle windows.
        loose_s: by how much the time of a sample may be wrong, so a nearer one may be on the other side of an
            edge.
        reading_j: the standard uncertainty of a counter's reading at a rate.
    """
    began, ended, of = Edge(began_s, False), Edge(ended_s, True), curve.channel
    if (
        of.semantics == "average"
        or of.quantity not in ("power", "energy")
        or of.grade in ("modelled", "nameplate")
    ):
        return began, ended
    t_s = curve.samples.t_s
    low, high = curve.span(began_s - loose_s, ended_s + loose_s)
    if (
        not any(0 <= began_s - end_s <= TOUCH_S for _, end_s in quiet)
        or low < 3
        or high + 1 >= len(t_s)
        or low == high
    ):
        return began, ended
    around = curve.pieces(np.array([low - 2, low - 1, low, high, high + 1]))
    if not (around.length_s > 0).all():
        return began, ended
    earlier_w, idle_w, *_, after_w = around.first_rate.tolist()
    inside = curve.pieces(np.arange(low, high + 1))
    rise_w = float((inside.first_rate * inside.length_s).sum() / inside.length_s.sum()) - idle_w
    # Two neighbouring rates have a reading in common, so their difference has the variance of six.
    noise_w = sqrt(6) * reading_j(idle_w) / float(around.length_s.min()) if reading_j else 0.0
    limit_w = RESTED_RATIO * abs(rise_w) + RESTED_FACTOR * noise_w
    if abs(idle_w - earlier_w) > limit_w:
        return began, ended
    began = Edge(began_s, False, low - 1, idle_w)
    return began, Edge(ended_s, True, high, after_w) if abs(after_w - idle_w) <= limit_w else ended


def edges_j(curve: Integral, both: tuple[Edge, Edge], noise_w: float) -> float:
    """Return the uncertainty from the pieces that the window's edges cut.

    Beside idle time the inside follows from the sum of the piece (`beside_idle_j`), to its noise and that of
    idle time; of a counter that is its readings' (`readings_j`). Elsewhere the error is proportional to the
    difference of the rates around the edge, and to L f (1-f), nothing at the ends of the piece, where power
    is taken to step; where it is even, a burst may lie on either side. In a longer piece power changed often:
    its sum is known, and the distribution before the cut is that of a Brownian bridge.
    """
    t_s = curve.samples.t_s
    # one window mean that holds all: what was outside of the window may have been anything alike
    if len(t_s) == 1:
        _, piece_s, mean_w, _ = curve.piece(0)
        outside_s = max(piece_s - (both[1].moment_s - both[0].moment_s), 0.0)
        return abs(mean_w) * outside_s / sqrt(12)
    total = 0.0
    for edge in both:
        if edge.is_idle:
            outside_s = abs(edge.moment_s - float(t_s[edge.sample]))
            total += 2 * (noise_w * outside_s) ** 2 if curve.channel.semantics != "counter" else 0.0
            continue
        index, last = int(t_s.searchsorted(edge.moment_s)), len(t_s) - 1
        piece_began_s, piece_s, mean_w, _ = curve.piece(min(max(index, 1), last))
        into_s = edge.moment_s - piece_began_s
        if not 0 < into_s < piece_s:
            continue
        before_w, after_w = (curve.piece(min(max(index + n, 1), last))[2] for n in (-1, 1))
        step_s = curve.step_s(index)
        squares = (mean_w - before_w) ** 2 + (after_w - mean_w) ** 2
        changed = max(squares - 4 * noise_w**2, 0.0)
        share = into_s / piece_s
        bridge = share * (1 - share)
        if piece_s >= BURST_S:
            total += changed * piece_s**2 * bridge / 4
        elif not isnan(step_s):
            total += changed * (STEPPED_RATIO * piece_s * bridge) ** 2
        elif squares:
            burst = (share * (mean_w - before_w)) ** 2 + ((1 - share) * (mean_w - after_w)) ** 2
            total += changed / squares * piece_s**2 * max(burst / 3, bridge**2 * squares)
    return sqrt(total)


def beside_idle_j(curve: Integral, both: tuple[Edge, Edge]) -> float:
    """Return what must be added to the energy of a load that begins where idle time ends, and whose end is
    idle again.

    Of the pieces up to a sample in idle time only the sum is known, and that power outside of the load was
    that of the piece beside them: the rest was inside, be it a burst or a level. `Integral.until` knows no
    window, and takes power to step once. Between two samples of moments, power jumped at the edge.
    """
    total_j = 0.0
    for edge in both:
        if not edge.is_idle:
            continue
        outside_s = abs(edge.moment_s - float(curve.samples.t_s[edge.sample]))
        # it jumped at the edge, and not evenly from one sample to the next
        if curve.channel.semantics == "instantaneous":
            cut = curve.pieces(np.array([edge.sample if edge.is_end else edge.sample + 1]))
            piece_s, jump_w = float(cut.length_s[0]), float(cut.last_rate[0] - cut.first_rate[0])
            total_j += (-1 if edge.is_end else 1) * jump_w * (piece_s - outside_s) ** 2 / piece_s / 2
            continue
        (first, last), _ = curve.until(np.sort([edge.moment_s, curve.samples.t_s[edge.sample]]))
        total_j += float(last - first) - edge.idle_w * outside_s
    return total_j


def _weights(curve: Integral, edge: Edge) -> dict[int, float]:
    """Return the weight of each counter reading's error in the count at an edge.

    Between two readings weights are by distance if the rate is constant; if power steps, the count continues
    from the readings on the edge's side of the step, as it does from those in idle time.
    """
    t_s, last = curve.samples.t_s, len(curve.samples.t_s) - 1
    if edge.is_idle:
        further = edge.sample + (1 if edge.is_end else -1)
        on = abs(float((edge.moment_s - t_s[edge.sample]) / (t_s[further] - t_s[edge.sample])))
        return {edge.sample: 1 + on, further: -on}
    after = min(max(int(np.searchsorted(t_s, edge.moment_s, side="left")), 1), last)
    piece_s = float(t_s[after] - t_s[after - 1])
    share = min(max(float(edge.moment_s - t_s[after - 1]) / piece_s, 0.0), 1.0)
    step_s = float(curve.step(np.array([after]))[0][0])
    if np.isnan(step_s):
        return {after - 1: 1 - share, after: share}
    if share * piece_s <= step_s:
        on = share * piece_s / float(t_s[after - 1] - t_s[after - 2])
        return {after - 2: -on, after - 1: 1 + on}
    back = (1 - share) * piece_s / float(t_s[after + 1] - t_s[after])
    return {after: 1 + back, after + 1: -back}


def readings_j(curve: Integral, both: tuple[Edge, Edge], wide_s: Floats | None, wide_j: float = 0.0) -> float:
    """Return the uncertainty from counter readings around both edges, each anywhere within this time, or this
    energy.

    A time counts with the power around its reading, idle power where it is in idle time. Shape of `wide_s`:
    that of the samples.
    """
    total, last = 0.0, len(curve.samples.t_s) - 1
    for edge in both:
        for index, weight in _weights(curve, edge).items():
            rate = curve.pieces(np.clip(np.array([index, index + 1]), 1, last)).first_rate
            square = edge.idle_w**2 if edge.is_idle else float((rate**2).mean())
            total += weight**2 * (wide_j**2 + (0.0 if wide_s is None else square * float(wide_s[index]) ** 2))
    return sqrt(total / 12)


def requests_j(curve: Integral, began_s: float, ended_s: float, noise_w: float) -> float:
    """Return the uncertainty from the moments of samples of power: each anywhere in its request, r /
    sqrt(12), independently.

    A wrong time of a power moves the joint of two pieces, so the difference of their power counts.
    """
    request_s = curve.samples.request_s
    if request_s is None or len(request_s) < 3:
        return 0.0
    last = len(request_s) - 1
    low, high = curve.span(began_s, ended_s)
    index = np.arange(max(low, 1), min(high, last - 1) + 1)
    value = curve.samples.value
    if curve.channel.semantics == "window mean":
        squares = (value[index + 1] - value[index]) ** 2 - 2 * noise_w**2
    else:
        squares = (value[index + 1] - value[index - 1]) ** 2 / 4 - noise_w**2 / 2
    return sqrt(max(float((squares * request_s[index] ** 2).sum()), 0.0) / 12)


def shifted_j(curve: Integral, both: tuple[Edge, Edge], shifts_s: Floats) -> float:
    """Return the change of the energy, root mean square, if the window is shifted; uncovered time counts like
    the rest.

    Beside idle time, where the load began and ended is known: what a shift adds or leaves out is idle.
    Negative if the energy falls as the window is shifted to later times.
    """
    shifts_s = np.concatenate((shifts_s, [0.0]))
    amounts: list[Floats] = []
    for edge in both:
        moments_s = np.full(len(shifts_s), edge.moment_s) if edge.is_idle else edge.moment_s + shifts_s
        until, until_s = curve.until(moments_s)
        amounts += [until + edge.idle_w * shifts_s, until_s + shifts_s] if edge.is_idle else [until, until_s]
    covered_s = np.maximum(amounts[3] - amounts[1], 1e-9)
    energy_j = (amounts[2] - amounts[0]) * (both[1].moment_s - both[0].moment_s) / covered_s
    differences_j = energy_j[:-1] - energy_j[-1]
    return float(np.copysign(np.sqrt((differences_j**2).mean()), differences_j @ shifts_s[:-1]))
