"""Percentiles of clients: means of each one's, or of all calls where users or directions differ."""

from dataclasses import replace

import pytest

from perjoule.measures.latency import weighted_s
from perjoule.measures.points import points

KEYS = {"latency_p50_s", "latency_p99_s"}


def of_two_users(made, **changes):
    """Fifty calls of each."""
    return tuple(
        replace(result, user=user, operations_count=50, **changes)
        for result, user in zip(made.results((10.0, 20.0), (10.0, 20.0)), "ab", strict=True)
    )


def logged(made, host, user, latency_s, count):
    """What a user's calls took in a client: all of them as long."""
    return [
        made.series(
            made.channel(host, f"user {user}", quantity, "window mean", "counter"), [20.0], value, 10.0
        )
        for quantity, value in (("latency", latency_s), ("calls", count))
    ]


@pytest.mark.parametrize(
    ("logged_count", "median_s"),
    [(47, None), (48, None), (49, 0.3), (50, 0.1)],
    ids=["97", "98", "99", "100"],
)
def test_logs_of_99_of_100_calls_tell_their_percentiles(made, logged_count, median_s):
    """The faster ones are not all logged: so the 50th of 99 is one of the slower."""
    record = made.record(moved=of_two_users(made), scale=0.5)
    logs = [*logged(made, "client-1", "a", 0.1, logged_count), *logged(made, "client-2", "b", 0.3, 50)]
    (point,) = points(record, logs)
    if median_s is None:
        assert point.omitted.keys() >= KEYS
        assert all("does not log how long each call took" in point.omitted[key] for key in KEYS)
        assert not KEYS & point.metrics.keys()
    else:
        found = {key: point.metrics[key] for key in KEYS}
        assert found == pytest.approx({"latency_p50_s": 0.5 * median_s, "latency_p99_s": 0.5 * 0.3})
        assert not KEYS & point.omitted.keys()


def test_of_users_whose_loads_know_no_latency_none_is_missed(made):
    (point,) = points(made.record(moved=of_two_users(made, latency_s={})), [])
    assert not KEYS & (point.metrics.keys() | point.omitted.keys())
    first, second = of_two_users(made, latency_s={})
    (point,) = points(made.record(moved=(first, replace(second, latency_s={"p50": 0.1}))), [])
    assert point.omitted.keys() >= KEYS


def test_a_mean_of_percentiles_weighs_clients_by_their_operations_and_needs_them_all(made):
    first, second = made.results((10.0, 20.0), (10.0, 20.0))
    slow = replace(second, operations_count=30, latency_s={"p50": 0.5, "p99": 2.5})
    assert weighted_s([first, slow], "p50") == pytest.approx((10 * 0.1 + 30 * 0.5) / 40)
    assert weighted_s([first, slow], "p99") == pytest.approx((10 * 0.5 + 30 * 2.5) / 40)
    for lacking in ({"operations_count": 0}, {"latency_s": {"p99": 2.5}}):
        assert weighted_s([first, replace(slow, **lacking)], "p50") is None
    assert weighted_s([], "p50") is None
