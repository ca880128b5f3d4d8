"""Latencies of several clients together.

Those of clients that load alike are the mean of each client's. Of several users, or of reads and writes, such a
mean is no percentile of anything: theirs are of all calls, as logged.
"""

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

from perjoule.model import ClientResult, Number, Numbers
from perjoule.model.metrics import LATENCY, MS, Metric

if TYPE_CHECKING:
    from perjoule.trial.load import Load

PERCENTILES = {  # by the name that results of clients have for it
    "p50": Metric("latency_p50_s", "p50", MS,
                  "median latency, the mean of clients weighted by operations; of several users that of all calls",
                  "lower"),
    "p99": Metric(LATENCY, "p99", MS,
                  "99th percentile of the latency, the mean of clients weighted by operations; of several users that of "
                  "all calls", "lower"),
}  # fmt: skip
METRICS = tuple(PERCENTILES.values())

LOGGED_RATIO = 0.99  # of the calls, below which logs of them have no percentile
UNLOGGED = "percentiles of the latency omitted: the load does not log how long each call took"


def measure(load: "Load") -> Numbers:
    """Return the percentiles of all clients."""
    return Numbers(percentiles(load, load.results))


def percentiles(load: "Load", results: Sequence[ClientResult]) -> dict[str, Number]:
    """Return those of some results of a load by key, without those that a client lacks; of users or directions
    that differ with the reason where their calls were not logged.
    """
    if len({(result.user, result.direction) for result in results}) > 1:
        if not any(result.latency_s for result in results):
            return {}
        shares = {metric.key: int(name[1:]) for name, metric in PERCENTILES.items()}
        return of_all_calls(load, results, shares)
    weighted = {metric.key: weighted_s(results, name) for name, metric in PERCENTILES.items()}
    return {key: Number(load.emulated(wall_s)) for key, wall_s in weighted.items() if wall_s is not None}


def of_all_calls(
    load: "Load", results: Sequence[ClientResult], percents: Mapping[str, int]
) -> dict[str, Number]:
    """Return percentiles of all calls together by key, each with the reason if their logs can't tell it."""
    from perjoule.trial.logs import calls

    returned = calls(load.reading.series, results)
    wanted_count = LOGGED_RATIO * sum(result.operations_count for result in results)
    logged = bool(len(returned.count)) and float(returned.count.sum()) >= wanted_count
    wall_s = {key: returned.percentile_s(percent, -inf, inf) for key, percent in percents.items()}
    return {
        key: Number(load.emulated(value_s)) if logged and isfinite(value_s) else Number(why_not=UNLOGGED)
        for key, value_s in wall_s.items()
    }


def weighted_s(results: Sequence[ClientResult], name: str) -> float | None:
    """Return the mean of clients' percentiles weighted by operations, seconds of the wall clock; like that of all
    calls it lies between theirs. None if a client lacks it.
    """
    counted = [
        (r.latency_s[name], r.operations_count) for r in results if name in r.latency_s and r.operations_count
    ]
    count = sum(n for _, n in counted)
    return sum(value * n for value, n in counted) / count if count and len(counted) == len(results) else None
