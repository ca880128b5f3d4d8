"""Latencies of several clients together."""

from collections.abc import Sequence

from perjoule.model import ClientResult


def latency_s(results: Sequence[ClientResult], name: str) -> float | None:
    """Weight the clients' percentiles by operations; like the percentile of all together, the result lies between theirs.

    In seconds of the wall clock; None unless all of them have it.
    """
    counted = [(r.latency_s[name], r.operations_count) for r in results if name in r.latency_s and r.operations_count]
    count = sum(n for _, n in counted)
    return sum(value * n for value, n in counted) / count if count and len(counted) == len(results) else None
