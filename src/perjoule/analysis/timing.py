"""Uncertainty from timing: pieces that a window's edges cut, moments of polled readings, clocks."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from perjoule.analysis.integral import BURST_S, Integral, between
from perjoule.analysis.samples import Floats
from perjoule.analysis.standing import standing

STEPPED_RATIO = 0.5  # of the spread of the rates around an edge, where power is taken to have stepped once
TOUCH_S = 2.0  # that programs take to start, between the end of idle time and the begin of a load
RESTED_RATIO = 0.1  # of what the load adds, within which power is that of idle time


def edges_j(whole: Integral, began_s: float, ended_s: float, noise_w: float, quiet: Sequence[tuple[float, float]] = ()) -> float:
    """Return the uncertainty from the pieces that the window's edges cut.

    Beside idle time the inside follows from the sum of the piece (`beside_idle_j`), to its noise and that of idle time.
    Elsewhere the error is proportional to the difference of the rates around the edge, and to L f (1-f), nothing at the ends of
    the piece, where power is taken to step; where it is even, a burst may lie on either side. In a longer piece power changed
    often: its sum is known, and the distribution before the cut is that of a Brownian bridge.
    """
    t_s = whole.samples.t_s
    if len(t_s) == 1:  # one window mean that holds all: what was outside of the window may have been anything alike
        only = whole.pieces(np.zeros(1, dtype=np.int64))
        outside_s = max(float(only.length_s[0]) - (ended_s - began_s), 0.0)
        return abs(float(only.first_rate[0])) * outside_s / sqrt(12)
    beside = _beside_idle(whole, began_s, ended_s, quiet)
    total = 0.0
    for moment_s, is_idle, is_end in ((began_s, beside[0], False), (ended_s, beside[1], True)):
        index = int(np.searchsorted(t_s, moment_s, side="left"))
        around = whole.pieces(between(np.arange(index - 1, index + 2), 1, len(t_s) - 1))
        piece_s, into_s = float(around.length_s[1]), moment_s - float(around.began_s[1])
        if not 0 < into_s < piece_s:
            continue
        before_w, mean_w, after_w = around.first_rate.tolist()
        step_s = float(whole.step(np.array([index]))[0][0])
        if is_idle:
            total += 2 * (noise_w * (piece_s - into_s if is_end else into_s)) ** 2
            continue
        squares = (mean_w - before_w) ** 2 + (after_w - mean_w) ** 2
        changed = max(squares - 4 * noise_w**2, 0.0)
        share = into_s / piece_s
        bridge = share * (1 - share)
        if piece_s >= BURST_S:
            total += changed * piece_s**2 * bridge / 4
        elif not np.isnan(step_s):
            total += changed * (STEPPED_RATIO * piece_s * bridge) ** 2
        elif squares:
            burst = (share * (mean_w - before_w)) ** 2 + ((1 - share) * (mean_w - after_w)) ** 2
            total += changed / squares * piece_s**2 * max(burst / 3, bridge**2 * squares)
    return sqrt(total)


def beside_idle_j(whole: Integral, began_s: float, ended_s: float, quiet: Sequence[tuple[float, float]]) -> float:
    """Return what must be added to the energy of a load that begins where idle time ends, and whose end is idle again.

    Of a piece that its edge cuts, only the sum is known, and that power outside of the load was that of the piece beside it: the
    rest was inside, be it a burst or a level. `Integral.until` knows no window, and takes power to step once. Between two samples
    of moments, power jumped at the edge.
    """
    total_j = 0.0
    beside = _beside_idle(whole, began_s, ended_s, quiet)
    for moment_s, is_idle, is_end in ((began_s, beside[0], False), (ended_s, beside[1], True)):
        index = int(np.searchsorted(whole.samples.t_s, moment_s, side="left"))
        if not is_idle:
            continue
        around = whole.pieces(np.arange(index - 1, index + 2))
        before_w, mean_w, after_w = around.first_rate.tolist()
        piece_s, into_s = float(around.length_s[1]), moment_s - float(around.began_s[1])
        if whole.channel.semantics == "instantaneous":  # it jumped at the edge, and not evenly from one sample to the next
            jump_w = float(around.last_rate[1]) - mean_w
            total_j += jump_w * (-(into_s**2) if is_end else (piece_s - into_s) ** 2) / piece_s / 2
            continue
        step_s = float(whole.step(np.array([index]))[0][0])
        stepped_j = before_w * min(into_s, step_s) + after_w * max(into_s - step_s, 0.0)
        counted_j = mean_w * into_s if np.isnan(step_s) else stepped_j  # of the piece, up to the edge
        if is_end:
            total_j += mean_w * piece_s - after_w * (piece_s - into_s) - counted_j
        else:
            total_j += counted_j - before_w * into_s
    return total_j


def _beside_idle(whole: Integral, began_s: float, ended_s: float, quiet: Sequence[tuple[float, float]]) -> tuple[bool, bool]:
    """Return whether a window begins where idle time ends, and ends where the power is again what it was in that.

    Only of real meters: a model's power is what counters counted. Not of a counter that stands between its steps, whose rate is
    no power, nor of averages.
    """
    of = whole.channel
    if of.semantics == "average" or of.quantity not in ("power", "energy") or of.grade in ("modelled", "nameplate"):
        return False, False
    if standing(whole, began_s, ended_s) is not None:
        return False, False
    t_s = whole.samples.t_s
    low, high = (int(n) for n in np.searchsorted(t_s, [began_s, ended_s], side="left"))
    if not any(0 <= began_s - end_s <= TOUCH_S for _, end_s in quiet) or low < 3 or high + 1 >= len(t_s) or low == high:
        return False, False
    around = whole.pieces(np.array([low - 2, low - 1, low, high, high + 1]))
    if not (around.length_s > 0).all():
        return False, False
    earlier_w, idle_w, *_, after_w = around.first_rate.tolist()
    inside = whole.pieces(np.arange(low, high + 1))
    rise_w = float((inside.first_rate * inside.length_s).sum() / inside.length_s.sum()) - idle_w
    steady = abs(idle_w - earlier_w) <= RESTED_RATIO * abs(rise_w)
    return steady, steady and abs(after_w - idle_w) <= RESTED_RATIO * abs(rise_w)


def _weights(whole: Integral, moment_s: float) -> dict[int, float]:
    """Return the weight of each counter reading's error in the count at a moment.

    Between two readings weights are by distance if the rate is constant; if power steps, the count continues from the readings on
    the moment's side of the step.
    """
    t_s, last = whole.samples.t_s, len(whole.samples.t_s) - 1
    after = min(max(int(np.searchsorted(t_s, moment_s, side="left")), 1), last)
    piece_s = float(t_s[after] - t_s[after - 1])
    share = min(max(float(moment_s - t_s[after - 1]) / piece_s, 0.0), 1.0)
    step_s = float(whole.step(np.array([after]))[0][0])
    if np.isnan(step_s):
        return {after - 1: 1 - share, after: share}
    if share * piece_s <= step_s:
        on = share * piece_s / float(t_s[after - 1] - t_s[after - 2])
        return {after - 2: -on, after - 1: 1 + on}
    back = (1 - share) * piece_s / float(t_s[after + 1] - t_s[after])
    return {after: 1 + back, after + 1: -back}


def requests_j(whole: Integral, began_s: float, ended_s: float, noise_w: float) -> float:
    """Return the uncertainty from the moments of readings: each anywhere in its request, r / sqrt(12), independently.

    A counter's readings around either edge count with their weights; each was at the power around it. A wrong time of a power
    moves the joint of two pieces, so the difference of their power counts.
    """
    request_s = whole.samples.request_s
    if request_s is None or len(request_s) < 3:
        return 0.0
    t_s, last = whole.samples.t_s, len(request_s) - 1
    if whole.channel.semantics == "counter":
        total = 0.0
        for index, weight in (pair for moment_s in (began_s, ended_s) for pair in _weights(whole, moment_s).items()):
            rate = whole.pieces(np.clip(np.array([index, index + 1]), 1, last)).first_rate
            total += float((rate**2).mean()) * (weight * float(request_s[index])) ** 2
        return sqrt(total / 12)
    low, high = (int(n) for n in np.searchsorted(t_s, [began_s, ended_s], side="left"))
    index = np.arange(max(low, 1), min(high, last - 1) + 1)
    value = whole.samples.value
    if whole.channel.semantics == "window mean":
        squares = (value[index + 1] - value[index]) ** 2 - 2 * noise_w**2
    else:
        squares = (value[index + 1] - value[index - 1]) ** 2 / 4 - noise_w**2 / 2
    return sqrt(max(float((squares * request_s[index] ** 2).sum()), 0.0) / 12)


def shifted_j(whole: Integral, began_s: float, ended_s: float, shifts_s: Floats) -> float:
    """Return the change of the energy, root mean square, if the window is shifted; uncovered time counts like the rest.

    Negative if the energy falls as the window is shifted to later times.
    """
    shifts_s = np.concatenate((shifts_s, [0.0]))
    until, until_s = whole.until(np.concatenate((began_s + shifts_s, ended_s + shifts_s)))
    count = len(shifts_s)
    covered_s = np.maximum(until_s[count:] - until_s[:count], 1e-9)
    energy_j = (until[count:] - until[:count]) * (ended_s - began_s) / covered_s
    differences_j = energy_j[:-1] - energy_j[-1]
    return float(np.copysign(np.sqrt((differences_j**2).mean()), differences_j @ shifts_s[:-1]))
