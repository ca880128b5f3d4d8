"""A meter's samples, put in order: finite values, each moment once, in order of time; faults are reported.

late or set back   samples dated before an earlier one: placed by their time
behind             samples that another clock dates long before their arrival, each of them: that clock is
                   behind
early              samples that another clock dates after their arrival: that clock is ahead by at least as
                   much
duplicate          a second sample of the same moment and with the same value: the first one counts
equal stamps       samples of one moment with different values: timestamps are coarser than the samples,
                   which are spread evenly over the time to the next timestamp; the clock is wrong by as much
failed             NaN, infinite, an instrument's 9.91E37, or more watts than the meter can show: a gap,
                   never a number
all bits set       65535 W, 4294967.295 W and the like, of a program that takes "not known" for a number: a
                   gap, never a number
negative           watts below zero by more than a meter's error around it, as of a reversed clamp: a gap,
                   never a number
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf

import numpy as np
from numpy.typing import NDArray

from perjoule.model import Series
from perjoule.model.doubts import METERS, Doubt

# SCPI's not-a-number is 9.91E37, its infinity 9.9E37: https://www.ivifoundation.org/specifications/
SENTINEL = 9.9e37
# before its arrival may the time of each sample be: no log is written that late, and no meter averages that
# long
LATE_S = 5.0
# after a sample's arrival may its time be: clocks that are one are mapped on each other as well as that
EARLY_S = 0.01
# of 16 and 32, of W and mW: not known
ALL_BITS_W = (0xFFFF, 0xFFFFFFFF / 1e3, 0x7FFFFFFF / 1e3, 0xFFFFFFFF, 0x7FFFFFFF)
ALL_BITS_RATIO = 1e-7  # to which programs print them
# of what a meter mostly shows, by which its zero may be wrong besides offset and resolution
NEAR_ZERO_RATIO = 0.01
MOSTLY_PERCENT = 95.0
CHUNK_COUNT = 1 << 16  # samples at a time: they stay in the processor's cache

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fault:
    """A fault between these moments: shapes (N,), one entry each time."""

    began_s: Floats
    ended_s: Floats
    doubt: Callable[..., Doubt]  # of a `count`

    def within(self, began_s: float, ended_s: float) -> Doubt | None:
        """Return its doubt, if it was in this window."""
        count = int(((self.ended_s >= began_s) & (self.began_s <= ended_s)).sum())
        return self.doubt(count=count) if count else None


@dataclass(frozen=True)
class Samples:
    """Samples in order. Shapes (N,); `t_s` rises strictly, all are finite."""

    t_s: Floats
    duration_s: Floats
    value: Floats
    # how long its request took, somewhere in which its moment lies; None: all are exact
    request_s: Floats | None
    # whether a read failed between a sample and the one before it; None: never
    broken: NDArray[np.bool_] | None
    ahead_s: float  # by how much the clock that dated them is ahead at least
    faults: tuple[Fault, ...]
    stamp_s: float = 0.0  # resolution of the times, if timestamps were too coarse to distinguish samples


def highest(series: Series) -> float:
    """Return the highest possible value of a sample: for power, the limit of the meter or its circuit, and
    a tenth more.
    """
    most_w = series.channel.specification.most_w
    return SENTINEL if most_w is None or series.channel.quantity != "power" else 1.1 * most_w


def lowest(series: Series) -> float:
    """Return the lowest possible value of a sample: nothing feeds power back, so watts are not below a
    meter's error at zero.

    That is its offset, one of its steps, and a hundredth of the magnitude that 95 % of its samples do not
    exceed.
    """
    of, specification = series.channel, series.channel.specification
    if of.quantity != "power" or of.grade in ("modelled", "nameplate"):
        return -SENTINEL
    watts = np.abs(series.value[np.abs(series.value) < SENTINEL])
    usual_w = float(np.percentile(watts, MOSTLY_PERCENT)) if len(watts) else 0.0
    return -((specification.offset or 0.0) + (specification.resolution or 0.0) + NEAR_ZERO_RATIO * usual_w)


def in_order(series: Series) -> Samples:
    """Put samples in order. A series without a fault is not copied."""
    limit = highest(series)
    name = series.channel.name
    ahead_s, faults = _ahead(series)
    faults += _behind(series)
    if _flawless(series, limit):
        return Samples(
            series.t_s, series.duration_s, series.value, _requests(series), None, ahead_s, tuple(faults)
        )
    t_s = series.t_s
    timed = np.isfinite(t_s)
    latest_s = np.maximum.accumulate(np.where(timed, t_s, -inf))
    late = timed & (t_s < latest_s)
    if late.any():
        faults.append(Fault(t_s[late], latest_s[late], partial(METERS.out_of_order, channel=name)))
    index = np.flatnonzero(timed)
    series = series.at(index[np.argsort(t_s[index], kind="stable")])
    t_s, value = series.t_s, series.value
    good = (np.abs(value) < SENTINEL) & (value <= limit)
    if (above := (value > limit) & (value < SENTINEL)).any():
        faults.append(
            Fault(t_s[above], t_s[above], partial(METERS.beyond_range, channel=name, most_w=limit / 1.1))
        )
    if (unknown := good & _all_bits(series, value)).any():
        good &= ~unknown
        unknown_power = partial(METERS.unknown_power, channel=name, value_w=float(value[unknown].max()))
        faults.append(Fault(t_s[unknown], t_s[unknown], unknown_power))
    if (below := (value < lowest(series)) & (value > -SENTINEL)).any():
        good &= ~below
        below_zero = partial(METERS.below_zero, channel=name, lowest_w=float(value[below].min()))
        faults.append(Fault(t_s[below], t_s[below], below_zero))
    failed_before = np.cumsum(~good)[good]
    series = series.at(good)
    t_s, value, stamp_s = series.t_s, series.value, 0.0
    first = np.concatenate(([True], np.diff(t_s) > 0))[: len(t_s)]
    if (again := ~first).any() and first.sum() > 1 and not (np.diff(value)[again[1:]] == 0).all():
        stamp_s = float(np.diff(t_s[first]).min())  # resolution: the least distance between two timestamps
        spread_evenly = partial(METERS.spread_evenly, channel=name, spread_s=stamp_s)
        faults.append(Fault(t_s[again], t_s[again] + stamp_s, spread_evenly))
        t_s, again = _spread(t_s, first, stamp_s), np.zeros_like(again)
    elif again.any():
        again_s = t_s[again]
        faults.append(Fault(again_s, again_s, partial(METERS.same_timestamp, channel=name)))
    series, failed_before = replace(series, t_s=t_s).at(~again), failed_before[~again]
    broken = np.diff(failed_before, prepend=failed_before[:1]) > 0
    request_s, gaps = _requests(series), broken if broken.any() else None
    return Samples(
        series.t_s, series.duration_s, series.value, request_s, gaps, ahead_s, tuple(faults), stamp_s
    )


def _all_bits(series: Series, value: Floats) -> NDArray[np.bool_]:
    """Return which samples of power are numbers all of whose bits are set."""
    mask = np.zeros(len(value), dtype=bool)
    if series.channel.quantity == "power":
        for number in ALL_BITS_W:
            mask |= np.abs(value - number) <= ALL_BITS_RATIO * number
    return mask


def _spread(t_s: Floats, first: NDArray[np.bool_], stamp_s: float) -> Floats:
    """Spread the samples of each timestamp evenly up to the next one."""
    starts = np.flatnonzero(first)
    counts = np.diff(starts, append=len(t_s))
    place = np.arange(len(t_s)) - np.repeat(starts, counts)
    return t_s + stamp_s * place / np.repeat(counts, counts)


def _requests(series: Series) -> Floats | None:
    """Return how long each request took; a sample dated by another clock was taken at its time, as far as
    that clock is right.
    """
    if series.asked_s is None or series.arrived_s is None:
        return None
    request_s = np.nan_to_num(series.arrived_s - series.asked_s, nan=0.0)
    return request_s if request_s.any() else None


def _ahead(series: Series) -> tuple[float, list[Fault]]:
    """Return the most by which samples are dated after their arrival, and those as a fault."""
    if series.arrived_s is None:
        return 0.0, []
    ahead_s = series.t_s - series.arrived_s
    early = ahead_s > EARLY_S  # NaN is not
    if not early.any():
        return 0.0, []
    most_s = float(ahead_s[early].max())
    clock_ahead = partial(METERS.clock_ahead, channel=series.channel.name, most_s=most_s)
    return most_s, [Fault(series.arrived_s[early], series.t_s[early], clock_ahead)]


def _behind(series: Series) -> list[Fault]:
    """Return samples that another clock dates long before their arrival, all of them, as a fault."""
    if series.arrived_s is None:
        return []
    behind_s = series.arrived_s - series.t_s
    finite = np.isfinite(behind_s)
    if not finite.any() or (least_s := float(behind_s[finite].min())) <= LATE_S:
        return []
    clock_behind = partial(METERS.clock_behind, channel=series.channel.name, least_s=least_s)
    return [Fault(series.t_s[finite], series.arrived_s[finite], clock_behind)]


def _flawless(series: Series, limit: float) -> bool:
    """Check for faults, a chunk at a time; NaN is below no limit."""
    t_s, value = series.t_s, series.value
    power = series.channel.quantity == "power"
    least, limit = (0.0, min(limit, ALL_BITS_W[0] - 1.0)) if power else (-SENTINEL, limit)
    for low in range(0, len(t_s), CHUNK_COUNT):
        times_s, part = t_s[low : low + CHUNK_COUNT + 1], value[low : low + CHUNK_COUNT]
        if not (part.max() < limit and part.min() >= least and (times_s[1:] > times_s[:-1]).all()):
            return False
    return bool(np.isfinite(t_s[:1]).all() and np.isfinite(t_s[-1:]).all())
