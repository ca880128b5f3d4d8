"""The clients' logs of a load: what moved in each of their windows, when nothing did, and how long calls
took.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from perjoule.energy.samples import Floats
from perjoule.model import ClientResult, Quantity, Series


def logs(series: Sequence[Series], results: Sequence[ClientResult]) -> list[Series]:
    """Return the log of each client, or none if one has none."""
    hosts = {result.host for result in results}
    client_logs = [s for s in series if s.channel.quantity == "goodput" and s.channel.host in hosts]
    return (
        client_logs
        if {s.channel.host for s in client_logs} == hosts and len(client_logs) == len(hosts)
        else []
    )


def loading(results: Sequence[ClientResult], logs: Sequence[Series]) -> tuple[float, float]:
    """Return when clients loaded: from the first one's start, without the closing fsync, in which no call of
    theirs returns.

    The last sample of a log ends with that fsync, so the load ends where the last of these begin; without
    logs, with the clients.
    """
    ends_s = [float(log.t_s[-1] - log.duration_s[-1]) for log in logs if len(log.t_s) > 1]
    complete = len(ends_s) == len(logs) > 0
    return min(r.began_s for r in results), max(ends_s) if complete else max(r.ended_s for r in results)


def inside_s(log: Series, began_s: float, ended_s: float) -> Floats:
    """Return how long each sample of a log is inside a window. Shape (N,).

    A client moves nothing before its first sample.
    """
    return np.maximum(np.minimum(log.t_s, ended_s) - np.maximum(log.t_s - log.duration_s, began_s), 0.0)


def stalls_s(log: Series, began_s: float, ended_s: float) -> list[float]:
    """Return the lengths of the times in a window in which nothing moved; neighbouring samples without
    bytes are one.
    """
    still = log.value == 0
    run = np.cumsum(~still)[still]  # samples without bytes in between have seen as many with some
    lengths_s = np.bincount(run, weights=inside_s(log, began_s, ended_s)[still])
    return [float(length_s) for length_s in lengths_s if length_s > 0]


@dataclass(frozen=True)
class Calls:
    """How many calls of clients returned in windows, and after how long: all shapes (N,), in seconds of the
    wall clock.

    A latency is infinite if it is longer than the load generator can tell.
    """

    t_s: Floats  # when the window ends
    latency_s: Floats
    count: Floats

    def percentile_s(self, percent: int, after_s: float, until_s: float) -> float:
        """Return what this percentage of the calls took at most, of windows that end in (after_s,
        until_s]; NaN without any.
        """
        inside = (self.t_s > after_s) & (self.t_s <= until_s) & (self.count > 0)
        latency_s, count = self.latency_s[inside], self.count[inside]
        order = np.argsort(latency_s)
        so_far = np.cumsum(count[order])
        return (
            float(latency_s[order][np.searchsorted(100 * so_far, percent * so_far[-1])])
            if len(so_far)
            else nan
        )


def calls(series: Sequence[Series], results: Sequence[ClientResult]) -> Calls:
    """Return the calls of all these clients over time; none unless all of them have a log of them. A user has one
    in each client, of both directions.
    """
    logs = {(s.channel.host, s.channel.component, s.channel.quantity): s for s in series}
    quantities: tuple[Quantity, Quantity] = ("latency", "calls")
    places = dict.fromkeys((r.host, f"user {r.user}" if r.user else r.direction) for r in results)
    pairs = [[logs.get((*place, quantity)) for quantity in quantities] for place in places]
    call_logs = [
        (latency, counted)
        for latency, counted in pairs
        if latency and counted and np.array_equal(latency.t_s, counted.t_s)
    ]
    if not call_logs or len(call_logs) < len(places):
        return Calls(np.empty(0), np.empty(0), np.empty(0))
    t_s, latency_s, count = (
        np.concatenate(column)
        for column in zip(*((a.t_s, a.value, b.value) for a, b in call_logs), strict=True)
    )
    return Calls(t_s, latency_s, count)
