"""Latencies of several clients together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perjoule.model import ClientResult, Numbers
from perjoule.model.metrics import LATENCY, MS, Metric

if TYPE_CHECKING:
    from perjoule.trial.load import Load

PERCENTILES = {  # by the name that results of clients have for it
    "p50": Metric("latency_p50_s", "p50", MS, "median latency, the mean of clients weighted by operations", "lower"),
    "p99": Metric(LATENCY, "p99", MS, "99th percentile of the latency, the mean of clients weighted by operations",
                  "lower"),
}  # fmt: skip
METRICS = tuple(PERCENTILES.values())


def measure(load: "Load") -> Numbers:
    """Return the percentiles that all clients have."""
    return Numbers.plain({key: load.emulated(wall_s) for key, wall_s in latencies_s(load.results).items()})


def latencies_s(results: Sequence[ClientResult]) -> dict[str, float]:
    """Weight the clients' percentiles by operations; like the percentile of all together, the result lies
    between theirs.

    By key, in seconds of the wall clock, without those that a client lacks.
    """
    weighted = {metric.key: weighted_s(results, name) for name, metric in PERCENTILES.items()}
    return {key: value_s for key, value_s in weighted.items() if value_s is not None}


def weighted_s(results: Sequence[ClientResult], name: str) -> float | None:
    """Return a percentile of all clients, weighted so; None if a client lacks it."""
    counted = [
        (r.latency_s[name], r.operations_count) for r in results if name in r.latency_s and r.operations_count
    ]
    count = sum(n for _, n in counted)
    return sum(value * n for value, n in counted) / count if count and len(counted) == len(results) else None
