from dataclasses import replace
from typing import Literal

import pytest

from perjoule.measures.plausibility import doubts
from perjoule.measures.points import points
from perjoule.measures.users import user_metrics
from perjoule.model import ClientResult
from perjoule.statistics.users import jain
from perjoule.trial.reading import Dilation, Reading


def load(
    user,
    host,
    began_s,
    ended_s,
    moved_bytes=1000,
    direction: Literal["write", "read"] = "read",
    operations_count=10,
):
    latency = {"p50": 0.1, "p99": 0.5}
    return ClientResult(host, direction, began_s, ended_s, moved_bytes, operations_count, latency, user)


def test_a_users_throughput_is_over_the_time_in_which_its_jobs_ran():
    found = user_metrics(
        [load("a", "client-1", 0, 10), load("a", "client-1", 90, 100), load("b", "client-2", 0, 100)],
        Dilation(1.0).emulated,
    )
    assert found["user/a/throughput_bytes_per_s"] == 2000 / 20
    assert found["user/b/throughput_bytes_per_s"] == 1000 / 100
    assert found["user/a/share_ratio"] == pytest.approx(2 / 3)
    assert found["together_ratio"] == pytest.approx(0.2)


def test_clients_of_a_user_that_load_together_are_not_counted_twice():
    found = user_metrics([load("a", "client-1", 0, 10), load("a", "client-2", 0, 20)], Dilation(1.0).emulated)
    assert found["user/a/busy_s"] == 20
    assert "fairness_ratio" not in found


def test_emulated_time_is_wall_time_by_the_scale():
    found = user_metrics([load("a", "client-1", 0, 10)], Dilation(0.2).emulated)
    assert found["user/a/throughput_bytes_per_s"] == 1000 / 2


@pytest.mark.parametrize(
    ("hosts_of_b", "fair"),
    [
        (["client-2"], jain([100, 100])),  # a client each
        (["client-1"], jain([100, 100])),  # half a client each
        (["client-1", "client-2"], jain([100 / 0.5, 200 / 1.5])),  # half a client, and one and a half
    ],
)
def test_a_fair_share_is_by_clients_each_shared_equally(hosts_of_b, fair):
    moved = [load("a", "client-1", 0, 10), *(load("b", host, 0, 10) for host in hosts_of_b)]
    assert user_metrics(moved, Dilation(1.0).emulated)["fairness_ratio"] == pytest.approx(fair)


def test_bytes_are_not_weighed_against_operations():
    found = user_metrics(
        [load("a", "client-1", 0, 10), load("b", "client-2", 0, 10, moved_bytes=0)], Dilation(1.0).emulated
    )
    assert found["user/b/operations_per_s"] == 1
    assert "fairness_ratio" not in found


def test_without_users_there_is_nothing_to_tell():
    assert user_metrics([load("", "client-1", 0, 10)], Dilation(1.0).emulated) == {}


def test_users_that_read_and_write_are_one_mixed_point_without_a_doubt_that_they_did(made):
    moved = [load("a", "client-1", 10, 20), load("b", "client-2", 15, 20, direction="write")]
    record = made.record(moved=moved)
    (point,) = points(record, [])
    assert point.direction == "mixed"
    assert point.metrics["throughput_bytes_per_s"] == 2000 / 10
    assert not [doubt for doubt in doubts(Reading(record, [])) if "together" in doubt or "apart" in doubt]
    nobody = [replace(result, user="") for result in moved]
    assert [p.direction for p in points(made.record(moved=nobody), [])] == ["write", "read"]
    assert any(
        "reads and writes ran together" in doubt for doubt in doubts(Reading(made.record(moved=nobody), []))
    )
