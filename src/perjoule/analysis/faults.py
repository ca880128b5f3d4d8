"""What samples look like when a meter fails without saying so: it stands still, or one sample is far from all others.

Nothing is dropped: a sample that is real and only looks wrong must count. It is told, and the reader judges. Both are asked of
power and energy alone, and of what was measured: a model may well be constant, and a disk may well be idle.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from perjoule.analysis.integral import Integral
from perjoule.analysis.samples import Floats

NEVER = 1e-6  # how probable a run of equal samples may be, below which the meter is said to stand still
LEAST_COUNT = 3  # steps in a row without a change that are called a run
CONSTANT_COUNT = 20  # samples that are all the same
FAR_FACTOR = 10.0  # times the range of the middle half (or a tenth of the median, where that is more): far out
RARE_RATIO = 0.02  # of all samples: more than so many that are far out are bursts


def of(whole: Integral, began_s: float, ended_s: float) -> Iterator[str]:
    """Say what is wrong with the samples of a window, with the rest of the series to compare with."""
    channel = whole.series.channel
    if channel.quantity not in ("power", "energy") or channel.grade in ("modelled", "nameplate"):
        return
    t_s, value = whole.samples.t_s, whole.samples.value
    if len(t_s) < 3:
        return
    counter = channel.semantics == "counter"
    yield from _still(t_s, value, began_s, ended_s, counter=counter)
    pieces = whole.pieces(np.arange(1, len(t_s)))
    known = pieces.length_s > 0
    if counter:
        t_s, value = t_s[1:][known], pieces.first_rate[known]
    yield from _far(value, (t_s >= began_s) & (t_s <= ended_s), counter=counter)


def _still(t_s: Floats, value: Floats, began_s: float, ended_s: float, *, counter: bool) -> Iterator[str]:
    same = np.diff(value) == 0
    if same.all():
        if len(value) >= CONSTANT_COUNT:
            yield f"all {len(value)} samples are the same: the meter stands still, or the power never left one of its steps"
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
    first, last = edges[::2], edges[1::2]  # a run is of the samples first to last
    touched = (t_s[first] < ended_s) & (t_s[last] > began_s)
    if not touched.any():
        return
    longest = int(np.argmax(np.where(touched, last - first, 0)))
    count = int(last[longest] - first[longest])
    others = (int(same.sum()) - count + 1) / (len(same) - count + 2)  # how often a sample is like the one before, elsewhere
    if count >= LEAST_COUNT and len(same) * others**count < NEVER:
        length_s = t_s[last[longest]] - t_s[first[longest]]
        yield f"the {'counter' if counter else 'meter'} stood still for {length_s:.3g} s ({count + 1} equal samples)"


def _far(value: Floats, here: NDArray[np.bool_], *, counter: bool) -> Iterator[str]:
    if len(value) < 4:
        return
    low, median, high = np.percentile(value, [25, 50, 75])
    reach = FAR_FACTOR * max(float(high - low), 0.1 * abs(float(median)))
    above = value > high + reach
    if (above & here).any() and above.sum() <= max(1, RARE_RATIO * len(value)):
        yield f"{_samples(above & here)} far above all others, up to {value[above & here].max():.4g} W, and counted"
    # A counter that is asked twice between two of its updates has stood still, and nothing is wrong.
    if not counter and (nothing := (value <= 0) & here).any() and median > 0:
        yield f"{_samples(nothing)} at 0 W or below, where the median is {median:.4g} W, and counted (a failed read?)"


def _samples(which: NDArray[np.bool_]) -> str:
    count = int(which.sum())
    return f"{count} samples are" if count != 1 else "1 sample is"
