"""Latencies of several clients together."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from perjoule.energy.samples import Floats
from perjoule.model import ClientResult, Quantity, Series


def latency_s(results: Sequence[ClientResult], name: str) -> float | None:
    """Weight the clients' percentiles by operations; like the percentile of all together, the result lies between theirs.

    In seconds of the wall clock; None unless all of them have it.
    """
    counted = [(r.latency_s[name], r.operations_count) for r in results if name in r.latency_s and r.operations_count]
    count = sum(n for _, n in counted)
    return sum(value * n for value, n in counted) / count if count and len(counted) == len(results) else None


@dataclass(frozen=True)
class Calls:
    """How many calls of clients returned in windows, and after how long: all shapes (N,), in seconds of the wall clock.

    A latency is infinite if it is longer than the load generator can tell.
    """

    t_s: Floats  # when the window ends
    latency_s: Floats
    count: Floats

    def percentile_s(self, percent: int, after_s: float, until_s: float) -> float:
        """Return what this percentage of the calls took at most, of windows that end in (after_s, until_s]; NaN without any."""
        inside = (self.t_s > after_s) & (self.t_s <= until_s) & (self.count > 0)
        latency_s, count = self.latency_s[inside], self.count[inside]
        order = np.argsort(latency_s)
        so_far = np.cumsum(count[order])
        return float(latency_s[order][np.searchsorted(100 * so_far, percent * so_far[-1])]) if len(so_far) else nan


def calls(series: Sequence[Series], results: Sequence[ClientResult]) -> Calls:
    """Return the calls of all these clients over time; none unless all of them have a log of them."""
    logs = {(s.channel.host, s.channel.component, s.channel.quantity): s for s in series}
    quantities: tuple[Quantity, Quantity] = ("latency", "calls")
    pairs = [[logs.get((r.host, r.direction, quantity)) for quantity in quantities] for r in results]
    found = [(latency, counted) for latency, counted in pairs if latency and counted and np.array_equal(latency.t_s, counted.t_s)]
    if not found or len(found) < len(results):
        return Calls(np.empty(0), np.empty(0), np.empty(0))
    t_s, latency_s, count = (np.concatenate(one) for one in zip(*((a.t_s, a.value, b.value) for a, b in found), strict=True))
    return Calls(t_s, latency_s, count)
