"""Uncertainty from timing: pieces that a window's edges cut, moments of polled readings, clocks."""

from math import sqrt

import numpy as np

from perjoule.analysis.integral import BURST_S, Integral, between
from perjoule.analysis.samples import Floats

STEPPED_RATIO = 0.5  # of the spread of the rates around an edge, where power is taken to have stepped once
EVEN_RATIO = 1.0  # where no step keeps the sum, and it is taken as even


def edges_j(whole: Integral, began_s: float, ended_s: float, noise_w: float) -> float:
    """Return the uncertainty from the pieces that the window's edges cut.

    The error is proportional to the difference of the rates around the edge, and to L f (1-f): nothing at the ends of the piece.
    In a longer piece power changed often: its sum is known, and the distribution before the cut is that of a Brownian bridge.
    """
    t_s = whole.samples.t_s
    if len(t_s) == 1:  # one window mean that holds all: what was outside of the window may have been anything alike
        only = whole.pieces(np.zeros(1, dtype=np.int64))
        outside_s = max(float(only.length_s[0]) - (ended_s - began_s), 0.0)
        return abs(float(only.first_rate[0])) * outside_s / sqrt(12)
    total = 0.0
    for moment_s in (began_s, ended_s):
        index = int(np.searchsorted(t_s, moment_s, side="left"))
        around = whole.pieces(between(np.arange(index - 1, index + 2), 1, len(t_s) - 1))
        piece_s, into_s = float(around.length_s[1]), moment_s - float(around.began_s[1])
        if not 0 < into_s < piece_s:
            continue
        changed = float((np.diff(around.first_rate) ** 2).sum()) - 4 * noise_w**2
        bridge = into_s * (piece_s - into_s) / piece_s**2
        ratio = EVEN_RATIO if np.isnan(whole.step(np.array([index]))[0][0]) else STEPPED_RATIO
        total += max(changed, 0.0) * piece_s**2 * ((ratio * bridge) ** 2 if piece_s < BURST_S else bridge / 4)
    return sqrt(total)


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
