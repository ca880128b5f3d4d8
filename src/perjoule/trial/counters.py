"""Counters of hosts in a window: their sums, what its ends make uncertain, and the time in which they
stand still.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perjoule.energy.amount import amount
from perjoule.energy.integral import integral
from perjoule.energy.samples import Floats
from perjoule.model import Quantity, Record, Series
from perjoule.model.doubts import Doubt

LEAD_S = 0.4  # before the end of the baseline: two readings of counters at their usual rate
ACCESS: tuple[Quantity, Quantity] = ("disk_read", "disk_written")


def window(record: Record, began_s: float, ended_s: float) -> tuple[float, float]:
    """Extend the windows of a trial over the idle ones around it, for counts per byte.

    The first starts in the baseline, which is idle: the load's own start belongs to it, and counters are
    interpolated linearly between two readings, so the first bytes seem to come early. The last one ends with
    the tail, which includes late write-back. What lies beside a part of a longer load is load, too.
    """
    if record.outcome is None or record.outcome.sustained:
        return began_s, ended_s
    if began_s <= record.outcome.began_s:
        began_s = min(
            [began_s, *(max(p.began_s, p.ended_s - LEAD_S) for p in record.phases if p.name == "baseline")]
        )
    if ended_s >= record.outcome.ended_s:
        ended_s = max([ended_s, *(p.ended_s for p in record.phases if p.name == "tail")])
    return began_s, ended_s


@dataclass(frozen=True)
class Total:
    """A counter's sum over hosts: bytes, seconds or calls; None if a host's is refused, with the reasons."""

    value: float | None
    doubts: tuple[Doubt, ...] = ()


def total(
    series: Sequence[Series], quantity: Quantity, hosts: frozenset[str], began_s: float, ended_s: float
) -> Total:
    """Add up a counter over hosts; None (without a doubt) if one of them lacks it."""
    counters = [s for s in series if s.channel.quantity == quantity and s.channel.host in hosts]
    if frozenset(s.channel.host for s in counters) != hosts or not counters:
        return Total(None)
    amounts = [amount(s, began_s, ended_s) for s in counters]
    values = [a.value for a in amounts if a.value is not None]
    doubts = tuple(d for a in amounts for d in a.doubts)
    return Total(sum(values) if len(values) == len(amounts) else None, doubts)


def edges_error(
    series: Sequence[Series], quantity: Quantity, hosts: frozenset[str], began_s: float, ended_s: float
) -> float:
    """Return the most by which hosts' counters can have grown more, or less, in a window than evenly between
    two readings.

    All that a counter grew in the step that an edge cuts may be of the load, or none of it.
    """
    most, least = 0.0, 0.0
    for counter in series:
        if counter.channel.quantity == quantity and counter.channel.host in hosts:
            curve = integral(counter)
            t_s = curve.samples.t_s
            first, last = (
                np.searchsorted(t_s, began_s, side="right") - 1,
                np.searchsorted(t_s, ended_s, side="left"),
            )
            inner, end = (
                np.searchsorted(t_s, began_s, side="left"),
                np.searchsorted(t_s, ended_s, side="right") - 1,
            )
            moments_s = np.array([t_s[max(first, 0)], began_s, ended_s, t_s[min(last, len(t_s) - 1)]])
            outer, low, high, beyond = curve.until(moments_s)[0]
            within = curve.until(t_s[[inner, end]])[0] if inner < end else np.array([low, low])
            most += (low - outer) + (beyond - high)
            least += (high - low) - (within[1] - within[0])
    return float(max(most, least))


def disk_gaps_s(
    series: Sequence[Series], host: str, began_s: float, ended_s: float
) -> tuple[Floats, float] | None:
    """Return the gaps between accesses to a host's disks in a window, and the longest time between two
    samples, wall time.

    None if the host has no counters of its disks, or no disk that was ever accessed, or samples do not cover
    the window.
    Shapes: the gaps are (G,).
    """
    counters = [s for s in series if s.channel.host == host and s.channel.quantity in ACCESS]
    if len(counters) < len(ACCESS):
        return None
    both = [integral(counter).samples for counter in counters]
    moments_s = np.unique(np.concatenate([samples.t_s for samples in both]))
    if any(not len(s.t_s) or s.t_s[0] > began_s or s.t_s[-1] < ended_s for s in both):
        return None
    if not any(samples.value[-1] for samples in both):
        return None
    accessed = np.zeros(len(moments_s) - 1, dtype=bool)
    for samples in both:
        risen = np.flatnonzero(np.diff(samples.value) != 0)
        first = np.searchsorted(moments_s, samples.t_s[risen])
        last = np.searchsorted(moments_s, samples.t_s[risen + 1])
        for low, high in zip(first, last, strict=True):
            accessed[low:high] = True
    edges_s = np.clip(moments_s, began_s, ended_s)
    lengths_s = np.diff(edges_s)
    run = np.cumsum(accessed)[~accessed]  # quiet steps of one gap have seen as many accesses
    gaps_s: Floats = np.bincount(run, weights=lengths_s[~accessed]).astype(np.float64)
    return gaps_s[gaps_s > 0], float(lengths_s.max())
