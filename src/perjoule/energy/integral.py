"""The integral of a series over time, prepared once for any number of windows.

Every series consists of pieces, one that ends at each sample, with a rate at either end: between two readings
of a counter, and over the window of a "window mean", the rate is constant; between instantaneous samples it
is linear (the trapezoid, on the real timestamps). If a window's edge cuts a piece of power or energy of which
only the sum is known (of a counter, or a window mean), it cuts a step: power goes from the rate of the piece
before to that of the piece after at the one moment that keeps the sum; if no such step exists (the rate is
not between those two, or a neighbour is unknown) the rate is constant. Bytes and CPU seconds have constant
rates: they come in bursts, not in levels. Unknown pieces (a gap, a failed read, an impossible step of a
counter) have no length.

The sums of pieces, or of blocks of many, are cached, in order of time; the integral up to a moment is the
blocks before it and a few more pieces.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from math import inf
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perjoule.energy.once import once
from perjoule.energy.samples import CHUNK_COUNT, Fault, Floats, Samples, in_order
from perjoule.model import Series, Specification
from perjoule.model.doubts import METERS

GAP_FACTOR = 3.0  # a distance between samples of more than this many usual ones is a gap
# storage works in bursts of about 2 s (write-back, journals): samples that are a third of it apart miss none
BURST_S = 2.0
SPARSE_S = (
    BURST_S / 3
)  # between two powers of one moment, above which an instantaneous meter errs by more than 1 %
BLOCK_COUNT = 64  # pieces, of a series that is too long to keep the sums of all
# samples of a series whose pieces are kept: a trial's; a whole day of a fast meter is computed as needed
KEPT_COUNT = 100_000
STEPS_COUNT = 100_000  # the usual distance is the median of at most this many, evenly spread
# a wrap is accepted up to this many times the highest other rate, if the maximum is not stated
BELIEVED_FACTOR = 3.0
LEAST_S = 1e-300  # that divides by the length of a piece that has none

Index = NDArray[np.int64] | slice
T = TypeVar("T", np.float64, np.int64)


class Pieces(NamedTuple):
    """Pieces of time with the rate (W, B/s, s/s) at both ends, all of the same shape; an unknown one has
    length 0.
    """

    began_s: Floats
    length_s: Floats
    first_rate: Floats
    last_rate: Floats


class Integral:
    """A series, ready to be integrated up to any moment."""

    def __init__(self, series: Series, samples: Samples | None = None, rates: Floats | None = None) -> None:
        """Prepare a series, or of a counter these samples, with the rates (NaN: unknown) of the pieces
        that end at them.
        """
        self.channel = series.channel
        self.samples: Samples = in_order(series) if samples is None else samples
        self._semantics = series.channel.semantics
        self._sums = self._semantics in ("counter", "window mean")
        self._levels = series.channel.quantity in ("power", "energy")
        self._count = len(self.samples.t_s)
        judged = self._semantics == "counter" and samples is None
        self._rates, faults = _counter_rates(series, self.samples) if judged else (rates, ())
        self.faults: tuple[Fault, ...] = (*self.samples.faults, *faults)
        self._limit_s = inf if self._sums else max(GAP_FACTOR * self.usual_s, SPARSE_S)
        self._kept = self._count <= KEPT_COUNT
        self._block_count = 1 if self._kept else BLOCK_COUNT
        self._blocks, self._blocks_s = self._summed()

    @cached_property
    def usual_s(self) -> float:
        """The usual distance between samples; 0 if undefined."""
        t_s = self.samples.t_s
        if len(t_s) < 2:
            return 0.0
        every = max(1, len(t_s) // STEPS_COUNT)
        steps_s = np.sort(t_s[1::every] - t_s[:-1:every])
        middle = len(steps_s) // 2  # np.median takes four times as long
        return float(steps_s[middle] if len(steps_s) % 2 else (steps_s[middle - 1] + steps_s[middle]) / 2)

    @cached_property
    def longest_s(self) -> float:
        """The longest distance between samples; 0 if undefined."""
        t_s = self.samples.t_s
        return float((t_s[1:] - t_s[:-1]).max(initial=0.0))

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """The samples that differ from the one before."""
        return np.flatnonzero(np.diff(self.samples.value)) + 1

    def span(self, began_s: float, ended_s: float) -> tuple[int, int]:
        """Return the first sample at or after a window's start, and that at or after its end."""
        low, high = self.samples.t_s.searchsorted((began_s, ended_s)).tolist()
        return low, high

    def inside(self, began_s: float, ended_s: float) -> tuple[Floats, Floats]:
        """Return times and values of the samples from the first at or after a window's start to the first
        at or after its end.
        """
        low, high = self.span(began_s, ended_s)
        return self.samples.t_s[low : high + 1], self.samples.value[low : high + 1]

    def until(self, t_s: Floats) -> tuple[Floats, Floats]:
        """Integrate from the first sample up to each moment: the amount, and the covered time.

        Shapes those of `t_s`.
        """
        if self._count < (1 if self._semantics == "window mean" else 2):
            return np.zeros(np.shape(t_s)), np.zeros(np.shape(t_s))
        index = self.samples.t_s.searchsorted(t_s)  # of the piece that the moment cuts
        amount, covered_s = self._before(index)
        inside = index < self._count
        amount_cut, cut_s = self._cut(np.minimum(index, self._count - 1), t_s)
        amount, covered_s = amount + inside * amount_cut, covered_s + inside * cut_s
        if self._semantics == "window mean":  # the first one has a window, too
            first, after = self.pieces(np.zeros(1, dtype=np.int64)), index > 0
            first_s = after * first.length_s
            amount, covered_s = amount + first_s * first.first_rate, covered_s + first_s
        return amount, covered_s

    def within(self, began_s: float, ended_s: float) -> tuple[float, float]:
        """Return the amount of a window, and the covered time in it: the difference of `until` of its ends, without
        arrays of two.
        """
        if self._kept and self._count >= 2:
            low, high = self.span(began_s, ended_s)
            before, before_s = self._up_to(low, began_s)
            upto, upto_s = self._up_to(high, ended_s)
            return upto - before, upto_s - before_s
        amount, covered_s = (ends.tolist() for ends in self.until(np.array([began_s, ended_s])))
        return amount[1] - amount[0], covered_s[1] - covered_s[0]

    def _up_to(self, index: int, moment_s: float) -> tuple[float, float]:
        """Return `until` of a moment, which cuts the piece that ends at sample `index`."""
        amount, covered_s = self._blocks.item(max(index - 1, 0)), self._blocks_s.item(max(index - 1, 0))
        if index < self._count:
            if self._sums:
                began_s, length_s, step_s, before, after = self._every_level[:, index].tolist()
                into_s = min(max(moment_s - began_s, 0.0), length_s)
                amount += before * min(into_s, step_s) + after * max(into_s - step_s, 0.0)
            else:
                began_s, length_s, first_rate, last_rate = self.piece(index)
                into_s = min(max(moment_s - began_s, 0.0), length_s)
                rise = (last_rate - first_rate) * into_s / max(length_s, LEAST_S)
                amount += into_s * (first_rate + rise / 2)
            covered_s += into_s
        if index > 0 and self._semantics == "window mean":  # the first one has a window, too
            _, length_s, rate, _ = self.piece(0)
            amount, covered_s = amount + length_s * rate, covered_s + length_s
        return amount, covered_s

    def _before(self, index: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Add up the pieces that end before these samples: the amounts, and the covered times."""
        block = np.maximum(index - 1, 0) // self._block_count
        amount, covered_s = self._blocks[block], self._blocks_s[block]
        if self._block_count > 1:
            within = 1 + block[:, None] * self._block_count + np.arange(self._block_count)
            pieces = self.pieces(np.minimum(within, self._count - 1))
            length_s = np.where(within < index[:, None], pieces.length_s, 0.0)
            amount = amount + np.einsum("ij,ij->i", length_s, (pieces.first_rate + pieces.last_rate) / 2)
            covered_s = covered_s + length_s.sum(axis=1)
        return amount, covered_s

    def _cut(self, index: NDArray[np.int64], t_s: Floats) -> tuple[Floats, Floats]:
        """Integrate the pieces that end at these samples from their start up to a moment each; also the
        covered time.
        """
        if not self._sums:
            return _up_to(self.pieces(index), t_s)
        rows = self._every_level[:, index] if self._kept else self._levels_of(index)
        began_s, length_s, step_s, before, after = rows
        into_s = between(t_s - began_s, 0.0, length_s)
        return before * np.minimum(into_s, step_s) + after * np.maximum(into_s - step_s, 0.0), into_s

    @cached_property
    def _every_level(self) -> Floats:
        return self._levels_of(np.arange(self._count))

    def _levels_of(self, index: NDArray[np.int64]) -> Floats:
        """Return begin and length of pieces, when their rate steps (at the end: never), and the rates before
        and after. Shape (5, N).
        """
        pieces = self.pieces(index)
        rows = np.array(
            (pieces.began_s, pieces.length_s, pieces.length_s, pieces.first_rate, pieces.first_rate)
        )
        if self._levels:
            stepped = np.array(self.step(index))
            rows[2:] = np.where(np.isnan(stepped[0]), rows[2:], stepped)
        return rows

    def step(self, index: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """Return how far into each piece power steps, from which rate to which; NaN where it is constant."""
        if self._kept:
            step_s, before, after = self._steps
            at = between(index, 0, self._count - 1)
            return step_s[at], before[at], after[at]
        return self._step(index)

    @cached_property
    def _steps(self) -> tuple[Floats, Floats, Floats]:
        return self._step(np.arange(self._count))

    def _step(self, index: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        before, piece, after = (self.pieces(between(index + n, 0, self._count - 1)) for n in (-1, 0, 1))
        rates = [part.first_rate for part in (before, piece, after)]
        with np.errstate(all="ignore"):
            share = (rates[2] - rates[1]) / (rates[2] - rates[0])
            step_s = share * piece.length_s
        first = 1 if self._semantics == "window mean" else 2  # piece that has one before it
        joined = (index >= first) & (index < self._count - 1) & (before.length_s > 0) & (after.length_s > 0)
        joined &= before.began_s + before.length_s >= piece.began_s - 1e-9
        joined &= piece.began_s + piece.length_s >= after.began_s - 1e-9
        return np.where(joined & (share > 0) & (share < 1), step_s, np.nan), rates[0], rates[2]

    def pieces(self, index: Index) -> Pieces:
        """Return the pieces that end at these samples; before sample 0 only a window mean has one."""
        return Pieces(*self._every[:, index]) if self._kept else self._pieces(index)

    def piece(self, index: int) -> Sequence[float]:
        """Return begin, length and both rates of the piece that ends at a sample, as `pieces` does of many."""
        if self._kept:
            return self._every[:, index].tolist()
        return [column.item() for column in self._pieces(np.array([index]))]

    def step_s(self, index: int) -> float:
        """Return how far into a piece power steps; NaN where it is constant."""
        return self.step(np.array([index]))[0].item()

    @cached_property
    def _every(self) -> Floats:
        every = self._pieces(np.arange(self._count))
        return np.array((every.began_s, every.length_s, every.first_rate, every.last_rate))

    def _pieces(self, index: Index) -> Pieces:
        t_s, value = self.samples.t_s, self.samples.value
        start = isinstance(index, slice)
        before: Index = slice(index.start - 1, index.stop - 1) if start else np.maximum(index - 1, 0)
        ended_s = t_s[index]
        if self._semantics == "window mean":
            # Reported windows may overlap by the jitter of their arrival: no moment counts twice. A gap
            # within the timing error of their requests is not a gap.
            began_s = np.maximum(ended_s - self.samples.duration_s[index], t_s[before])
            if (request_s := self.samples.request_s) is not None:
                near = began_s - t_s[before] <= (request_s[index] + request_s[before]) / 2
                began_s = np.where(near, t_s[before], began_s)
            if not start:
                began_s = np.where(index == 0, ended_s - self.samples.duration_s[index], began_s)
            return Pieces(began_s, ended_s - began_s, value[index], value[index])
        began_s = t_s[before]
        length_s = ended_s - began_s
        if self._semantics == "counter":
            if self._rates is None:
                rate = (value[index] - value[before]) / np.maximum(length_s, LEAST_S)
                return Pieces(began_s, length_s, rate, rate)
            covered = np.isfinite(self._rates[index])
            rate = np.where(covered, self._rates[index], 0.0)
            return Pieces(began_s, np.where(covered, length_s, 0.0), rate, rate)
        covered = length_s <= self._limit_s
        # a failed read between two good ones is a gap for what is read at moments
        if self.samples.broken is not None:
            covered = covered & ~self.samples.broken[index]
        if not covered.all():
            length_s = np.where(covered, length_s, 0.0)
        return Pieces(began_s, length_s, value[before], value[index])

    def _summed(self) -> tuple[Floats, Floats]:
        """Return amount and covered time before each block: shapes (blocks + 1,)."""
        blocks_count = -(-max(self._count - 1, 0) // self._block_count)
        amount, covered_s = np.zeros((2, blocks_count + 1))

        def chunk(low: int) -> None:
            high = min(low + CHUNK_COUNT, self._count)
            pieces = self.pieces(slice(low, high))
            moved = (pieces.first_rate + pieces.last_rate) * pieces.length_s
            moved *= 0.5
            if self._block_count == 1:
                amount[low:high], covered_s[low:high] = moved, pieces.length_s
                return
            starts = np.arange(0, high - low, self._block_count)
            first = (low - 1) // self._block_count + 1
            amount[first : first + len(starts)] = np.add.reduceat(moved, starts)
            covered_s[first : first + len(starts)] = np.add.reduceat(pieces.length_s, starts)

        _each(chunk, range(1, self._count, CHUNK_COUNT))
        return np.cumsum(amount), np.cumsum(covered_s)


@once
def integral(series: Series) -> Integral:
    """Return a series prepared for integration."""
    return Integral(series)


def _each(work: Callable[[int], None], lows: Sequence[int]) -> None:
    if len(lows) < 16:
        for low in lows:
            work(low)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy releases the interpreter's lock
        list(pool.map(work, lows))


def between(numbers: NDArray[T], low: ArrayLike, high: ArrayLike) -> NDArray[T]:
    """Return clipped numbers; for a few of them, in a third of the time of `np.clip`."""
    return np.minimum(np.maximum(numbers, low), high)


def _up_to(pieces: Pieces, t_s: Floats) -> tuple[Floats, Floats]:
    """Integrate a piece each up to a moment each; also its covered time."""
    into_s = between(t_s - pieces.began_s, 0.0, pieces.length_s)
    rise = (pieces.last_rate - pieces.first_rate) * into_s / np.maximum(pieces.length_s, LEAST_S)
    return into_s * (pieces.first_rate + rise / 2), into_s


def _counter_rates(series: Series, samples: Samples) -> tuple[Floats | None, tuple[Fault, ...]]:
    """Return the rate of the piece that ends at each sample, NaN if unknown; None if no step needs a
    judgement.

    A wrap is accepted if it is possible and unambiguous: the rate is possible and the range was not passed
    unseen.
    """
    name, specification = series.channel.name, series.channel.specification
    t_s, value = samples.t_s, samples.value
    range_value = inf if specification.range_value is None else specification.range_value
    most_rate = (
        inf if specification.most_w is None or series.channel.quantity != "energy" else specification.most_w
    )
    if len(t_s) < 2 or _regular(samples, range_value, most_rate, specification):
        return None, ()
    step, step_s = np.diff(value), np.diff(t_s)
    back = step < 0
    if most_rate == inf and range_value < inf:
        most_rate = BELIEVED_FACTOR * float((step[~back] / step_s[~back]).max(initial=0.0))
    rate = np.where(back, step + range_value, step) / step_s
    impossible = (
        (rate < 0)
        | (rate * step_s > _most(samples, most_rate, specification))
        | (back & (range_value == inf))
    )
    if (fallen := impossible & back).any():
        impossible |= _failed_reads(value, rate, fallen)
    passed = step_s * most_rate > range_value if max(most_rate, range_value) < inf else np.zeros_like(back)
    ambiguous = passed & ~impossible
    faults = [
        Fault(t_s[:-1][mask], t_s[1:][mask], doubt)
        for mask, doubt in (
            (impossible, partial(METERS.impossible_steps, channel=name, cause=_cause(back))),
            (ambiguous, partial(METERS.wraps_unseen, channel=name)),
        )
        if mask.any()
    ]
    return np.concatenate(([np.nan], np.where(impossible | ambiguous, np.nan, rate))), tuple(faults)


def _failed_reads(value: Floats, rate: Floats, fallen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which steps lead to numbers that a counter did not have, and back: from a fall to the next step up, if
    that leads back to where it was, or is faster than can be believed by the others, and from such a step up to a
    fall back.
    """
    step = np.diff(value)
    moved = np.flatnonzero(step)
    before, after = moved[:-1], moved[1:]
    is_low, is_high = fallen[before] & (step[after] > 0), (step[before] > 0) & fallen[after]
    rises = np.concatenate((after[is_low], before[is_high]))
    usual_rates = rate[np.setdiff1d(np.flatnonzero(step > 0), rises)]
    most_rate = BELIEVED_FACTOR * usual_rates.max() if len(usual_rates) else inf
    failed = np.zeros(len(step), dtype=np.bool_)
    for fall, rise in zip(before[is_low], after[is_low], strict=True):
        failed[fall : rise + 1] |= value[rise + 1] >= value[fall] or rate[rise] > most_rate
    for rise, fall in zip(before[is_high], after[is_high], strict=True):
        failed[rise : fall + 1] |= value[fall + 1] >= value[rise] and rate[rise] > most_rate
    return failed


def _cause(back: NDArray[np.bool_]) -> str:
    """Say what makes a counter step as it can't: of steps most of which go down, a reversed clamp."""
    down = back.sum() > len(back) / 2
    return (
        "it runs down: its clamp or its wires are the wrong way round"
        if down
        else "a reset, or a failed read"
    )


def _most(
    samples: Samples, most_rate: float, specification: Specification, chunk: slice = slice(None)
) -> Floats:
    """Return the most by which a counter can step between two readings: the energy since its last update, and
    one of its steps.

    Shape (N-1,) of N samples.
    """
    longer_s = specification.period_s or 0.0
    if (request_s := samples.request_s) is not None:
        longer_s = longer_s + (request_s[chunk][1:] + request_s[chunk][:-1]) / 2
    return most_rate * (np.diff(samples.t_s[chunk]) + longer_s) + (specification.resolution or 0.0)


def _regular(samples: Samples, range_value: float, most_rate: float, specification: Specification) -> bool:
    """Return whether a counter never falls, runs no faster than possible, and is read often enough; a
    chunk at a time.
    """
    longest_s = range_value / most_rate if max(most_rate, range_value) < inf else inf
    for low in range(0, len(samples.value) - 1, CHUNK_COUNT):
        chunk = slice(low, low + CHUNK_COUNT + 1)
        step, step_s = np.diff(samples.value[chunk]), np.diff(samples.t_s[chunk])
        fast = most_rate < inf and (step > _most(samples, most_rate, specification, chunk)).any()
        if step.min() < 0 or fast or step_s.max() > longest_s:
            return False
    return True
