"""Tokens by the second and by the joule, and what blocks took, against sums by hand."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.measures.points import points
from perjoule.model.metrics import TOKENS, TOKENS_READ


def reads(made):
    """A hundred calls of each of two clients."""
    results = made.results((10.0, 20.0), (10.0, 20.0))
    return tuple(replace(result, direction="read", operations_count=100) for result in results)


def logged(made, host, first_ms):
    """A call in each tenth of a second: every second one of 1 to 200 ms."""
    t_s, latency_s = np.arange(101, 201) / 10, np.arange(first_ms, first_ms + 200, 2) / 1000
    return [
        made.series(made.channel(host, "read", quantity, "window mean", "counter"), t_s, value, 0.1)
        for quantity, value in (("latency", latency_s), ("calls", 1.0))
    ]


def test_a_token_costs_its_share_of_time_and_joules_and_a_block_is_one_of_all_calls(made):
    record = made.record(moved=reads(made))
    outcome = replace(record.outcome, measured={TOKENS: 640.0, TOKENS_READ: 80_000.0})
    power = [made.steady(host, 2.5) for host in ("storage-1", "storage-2", "metadata-1")]
    calls = [*logged(made, "client-1", 1), *logged(made, "client-2", 2)]
    (point,) = points(replace(record, outcome=outcome), [*power, *calls])
    duration_s, energy_j = point.metrics["duration_s"], point.metrics["energy_j"]
    found = {key: point.metrics[key] for key in point.metrics if "token" in key or "block" in key}
    assert found == pytest.approx(
        {
            "tokens_count": 640.0,
            "tokens_read_count": 80_000.0,
            "tokens_per_s": 640 / duration_s,
            "tokens_read_per_s": 80_000 / duration_s,
            "energy_per_token_j": energy_j / 640,
            "block_read_p95_s": 0.190,
            "block_read_p99_s": 0.198,
        }
    )


def test_a_load_that_serves_no_tokens_has_none(made):
    (point,) = points(made.record(moved=reads(made)), [])
    assert not [key for key in {**point.metrics, **point.omitted} if "token" in key or "block" in key]
