"""Samples of a meter that fails silently: it freezes, or one sample is far from all others.

Nothing is dropped: a sample that is real and only looks wrong must count. It is reported, and the reader
judges. Only measured power and energy are checked: a model may well be constant, and a disk may well be idle.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perjoule.energy.integral import Integral
from perjoule.energy.samples import Floats
from perjoule.model.doubts import METERS, Doubt

NEVER = 1e-6  # how probable a run of equal samples may be, below which the meter is said to stand still
LEAST_COUNT = 3  # steps in a row without a change that are called a run
# samples, seconds and share of a window that are a long time for one value
LONG_COUNT, LONG_S, LONG_RATIO = 8, 5.0, 0.25
# times the next longest, and the rest over one more than its changes: far longer
NEXT_FACTOR, MEAN_FACTOR = 6.0, 8.0
MATTERS_RATIO = 0.05  # of the power, by which it must vary in a window for a constant value to be doubted
REST_S, REST_RATIO = 5.0, 0.16  # of a window, the least in which others are seen
# samples up to the window's begin that have a value which is said to be there from before it
BEFORE_COUNT = 3
CONSTANT_COUNT = 20  # equal samples in a row
# times the range of the middle half (or a tenth of the median, where that is more): far out
FAR_FACTOR = 10.0
RARE_RATIO = 0.02  # of all samples: if more than this many are far out, they are bursts
SPIKE_FACTOR = 3.0  # times the upper quartile: no burst goes so far up and is over after SPIKE_COUNT values
SPIKE_COUNT, FEW_RATIO = 2, 0.05


def of(curve: Integral, began_s: float, ended_s: float) -> Iterator[Doubt]:
    """Return what looks wrong with the samples of a window, compared with the rest of the series."""
    channel = curve.channel
    if (
        channel.quantity not in ("power", "energy")
        or channel.grade in ("modelled", "nameplate")
        or channel.is_stated
    ):
        return
    t_s, value = curve.samples.t_s, curve.samples.value
    counter = channel.semantics == "counter"
    yield from _still(curve, began_s, ended_s)
    pieces = curve.pieces(np.arange(1, len(t_s)))
    covered = pieces.length_s > 0
    # the rate of a step that is shorter than that is any
    if (request_s := curve.samples.request_s) is not None:
        covered &= pieces.length_s > (request_s[1:] + request_s[:-1]) / 2
    if counter:
        t_s, value = t_s[1:][covered], pieces.first_rate[covered]
    yield from _far(channel.name, value, (t_s >= began_s) & (t_s <= ended_s), counter=counter)


def _still(curve: Integral, began_s: float, ended_s: float) -> Iterator[Doubt]:
    name = curve.channel.name
    t_s, value, semantics = curve.samples.t_s, curve.samples.value, curve.channel.semantics
    same = np.diff(value) == 0
    if same.all():
        if len(value) >= CONSTANT_COUNT:
            yield METERS.constant(channel=name, count=len(value))
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
    first, last = edges[::2], edges[1::2]  # a run is of the samples first to last
    inside_s = np.minimum(t_s[last], ended_s) - np.maximum(t_s[first], began_s)
    if not (inside_s > 0).any():
        return
    longest = int(np.argmax(inside_s))
    count, length_s = int(last[longest] - first[longest]), float(t_s[last[longest]] - t_s[first[longest]])
    counter = semantics == "counter"
    # Averages follow a load so slowly that one value soon lasts long; where they are not steady they are
    # refused anyway.
    long = count + 1 >= LONG_COUNT and inside_s[longest] >= max(LONG_S, LONG_RATIO * (ended_s - began_s))
    lone = long and semantics != "average" and _lasting(inside_s, longest, curve, began_s, ended_s)
    if lone or _improbable(same, count):
        yield METERS.frozen(channel=name, still_s=length_s, count=count + 1, counter=counter)
    elif long and not counter and t_s[first[longest] + BEFORE_COUNT - 1] <= began_s:
        yield METERS.same_since_before(channel=name, still_s=length_s)


def _improbable(same: NDArray[np.bool_], count: int) -> bool:
    """Return whether a run is improbable for samples that are this often equal to the one before."""
    # how often a sample is like the one before, elsewhere
    like_ratio = (int(same.sum()) - count + 1) / (len(same) - count + 2)
    return count >= LEAST_COUNT and len(same) * like_ratio**count < NEVER


def _lasting(inside_s: Floats, longest: int, curve: Integral, began_s: float, ended_s: float) -> bool:
    """Return whether one value lasted far longer than all others of a window in which they changed often, and
    by much.

    A meter that changes seldom, because it is coarse or the power steady, makes many long runs; a frozen one
    makes one. A load that begins with a few jumps and is steady then leaves no long rest.
    """
    value = curve.samples.value
    low, high = curve.span(began_s, ended_s)
    here = value[max(low - 1, 0) : high + 1]  # from the value that the window begins with
    # the ends of the load are cut by samples of their own
    least, median, most = np.percentile(here, [5, 50, 95])
    if most - least <= MATTERS_RATIO * abs(float(median)):
        return False
    changes_count = int(np.count_nonzero(np.diff(here)))
    next_s = float(np.delete(inside_s, longest).max(initial=0.0))
    window_s = ended_s - began_s
    rest_s = window_s - inside_s[longest]
    if rest_s < max(REST_S, REST_RATIO * window_s):
        return False
    usual_s = max(NEXT_FACTOR * next_s, MEAN_FACTOR * rest_s / (changes_count + 1))
    return bool(inside_s[longest] > usual_s)


def _far(name: str, value: Floats, here: NDArray[np.bool_], *, counter: bool) -> Iterator[Doubt]:
    if len(value) < 4:
        return
    low, median, high = np.percentile(value, [25, 50, 75])
    reach = FAR_FACTOR * max(float(high - low), 0.1 * abs(float(median)))
    above = value > high + reach
    spikes = _lone(value, max(high + reach, SPIKE_FACTOR * high))
    if (above & here).any() and above.sum() <= max(1, RARE_RATIO * len(value)):
        yield METERS.far_above(
            channel=name, count=int((above & here).sum()), highest_w=float(value[above & here].max())
        )
    elif (spikes & here).any():
        spikes &= here
        yield METERS.spikes(channel=name, count=int(spikes.sum()), highest_w=float(value[spikes].max()))
    # A counter that is polled twice between two of its updates repeats its value, and nothing is wrong.
    if not counter and (nothing := (value <= 0) & here).any() and median > 0:
        yield METERS.at_zero(channel=name, count=int(nothing.sum()), median_w=float(median))


def _lone(value: Floats, limit: float) -> NDArray[np.bool_]:
    """Return samples above a limit for one or two values, with lower ones before and after; all, if they are
    few.

    A value that is repeated counts once: the meter is polled more often than it updates.
    """
    above = value > limit
    if above.sum() <= FEW_RATIO * len(value):
        return above
    _, first, number = np.unique(_numbers(value), return_index=True, return_inverse=True)
    group = _numbers(above[first])  # of runs that are above, or not
    return above & (np.bincount(group)[group] <= SPIKE_COUNT)[number]


def _numbers(samples: NDArray[Any]) -> NDArray[np.int64]:
    """Number the runs of equal values: shape (N,), the number of the run that each is in."""
    return np.cumsum(samples != np.roll(samples, 1))
