"""Pledges, and trials that were measured after them."""

import hashlib
import json
from dataclasses import replace
from functools import cache
from math import inf, log
from unittest.mock import patch

import pytest

from perjoule import catalogue
from perjoule.model.errors import CampaignError
from perjoule.prediction import Observation, Target, predictions, profile
from perjoule.results import ledger
from perjoule.results.joined import joined_remarks, joined_table
from tests import made

pytestmark = pytest.mark.heavy  # each process fits a profile

MIB = 1024**2


@cache
def _pledge() -> str:
    points = made.points(noise_ratio=0.01)
    found = profile(
        "moosefs", {"goal": 1}, points, release="", data_roles=("storage",), unit_bytes=inf, emulated=True
    )
    target = Target(found, catalogue.cluster("odroid-hc4"), {}, memory=False)
    with patch("time.time", lambda: 1000.0):
        return ledger.pledged(target, tuple(predictions(target, [1, 2, 4], 128 * MIB)))


def _measured(count: int) -> Observation:
    return next(one for one in made.points(copies=(1,)) if one.case.fleet.clients_count == count)


def test_a_pledge_that_was_changed_is_refused() -> None:
    data = json.loads(_pledge())
    data["predictions"][0]["prediction"]["throughput_bytes_per_s"][0] *= 1.1
    with pytest.raises(CampaignError, match="the pledge was changed after it was made"):
        ledger.read(json.dumps(data), "p.json")


def test_a_pledge_of_an_earlier_version_is_read() -> None:
    data = json.loads(_pledge())
    for row in data["predictions"]:
        del row["prediction"]["rests_on"], row["prediction"]["parts_w"], row["server_memory_bytes"]
        del row["prediction"]["in_flight_count"]
    del data["digest"]
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    found = ledger.read(json.dumps({**data, "digest": digest}), "p.json")
    assert [row.prediction.rests_on for row in found.predictions] == [()] * 3
    trial = ("moosefs", 1001.0, _with_memory(_measured(4), 4.0 * 2**30))
    assert ledger.join(found, found.predictions[2], [trial]).measured_bytes_per_s, "it says nothing of memory"


def test_a_trial_with_other_calls_in_flight_is_another() -> None:
    found = ledger.read(_pledge(), "p.json")
    one = _measured(4)
    more = replace(one, case=replace(one.case, in_flight_count=4.0))
    joined = [ledger.join(found, found.predictions[2], [("moosefs", 1001.0, point)]) for point in (one, more)]
    assert [len(each.measured_bytes_per_s) for each in joined] == [1, 0]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "perjoule pledge"}'])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(CampaignError, match="not a pledge"):
        ledger.read(text, "p.json")


def _joined(trials: list[tuple[str, float, Observation]]) -> dict[int, ledger.Joined]:
    pledge = ledger.read(_pledge(), "p.json")
    return {row.prediction.clients_count: ledger.join(pledge, row, trials) for row in pledge.predictions}


def test_a_later_trial_on_the_same_hardware_is_joined() -> None:
    four = _measured(4)
    found = _joined([("moosefs", 1001.0, four), ("moosefs", 1002.0, made.otherwise(four, 1.02))])
    assert found[4].measured_bytes_per_s == (four.throughput_bytes_per_s, four.throughput_bytes_per_s * 1.02)
    middle = 1.01 * four.throughput_bytes_per_s
    assert found[4].sides[0].error == pytest.approx(
        log(found[4].prediction.throughput_bytes_per_s[0] / middle)
    )
    assert found[4].held
    assert found[1].sides[0].error is None
    assert found[1].held is None


def test_a_trial_that_had_begun_before_proves_nothing() -> None:
    found = _joined([("moosefs", 999.0, _measured(4))])[4]
    assert found.measured_bytes_per_s == ()
    assert found.earlier_count == 1


def test_what_misses_the_band_is_not_held() -> None:
    assert _joined([("moosefs", 1001.0, made.otherwise(_measured(4), 0.5))])[4].held is False


def test_other_systems_sizes_and_hardware_are_not_joined() -> None:
    one = _measured(4)
    small = replace(one, case=replace(one.case, client_bytes=64.0 * MIB))
    slow = replace(one, case=replace(one.case, fleet=replace(one.case.fleet, server_mips=2000.0)))
    copies = next(p for p in made.points(copies=(2,)) if p.case.fleet.clients_count == 4)
    trials = [
        ("glusterfs", 1001.0, one),
        ("moosefs", 1001.0, small),
        ("moosefs", 1001.0, slow),
        ("moosefs", 1001.0, copies),
    ]
    assert _joined(trials)[4].measured_bytes_per_s == ()


def _with_memory(one: Observation, server_memory_bytes: float) -> Observation:
    return replace(
        one, case=replace(one.case, fleet=replace(one.case.fleet, server_memory_bytes=server_memory_bytes))
    )


def test_servers_with_other_memory_than_pledged_are_left_out_with_the_reason() -> None:
    """Page caches take writes as they arrive, so throughput depends on them."""
    found = _joined(
        [("moosefs", 1001.0, _with_memory(_measured(4), 4.0 * 2**30)), ("moosefs", 1001.0, _measured(4))]
    )[4]
    assert len(found.measured_bytes_per_s) == 1
    assert found.memory_count == 1
    assert "1 trials are left out because their servers have other memory" in " ".join(
        joined_remarks([found])
    )


def test_watts_and_work_per_joule_are_compared_as_well() -> None:
    four = _measured(4)
    assert four.mean_w is not None
    found = _joined([("moosefs", 1001.0, replace(four, mean_w=2 * four.mean_w))])[4]
    assert [(side.metric.label, side.held) for side in found.sides] == [
        ("MiB/s", True),
        ("W", False),
        ("MiB/J", False),
    ]
    assert found.held is False
    assert found.sides[2].measured == (four.throughput_bytes_per_s / (2 * four.mean_w),)
    remarks = list(joined_remarks([found]))
    assert remarks[0].startswith("MiB/s: 1 of 1 bands hold what was measured; median error ")
    assert remarks[1].startswith("W: 0 of 1 bands hold")


def test_a_trial_begins_when_its_clients_begin(made) -> None:
    """The record's clock maps monotonic seconds to UTC: 1 s is 1.7e9 s here, and the load began at 10 s."""
    assert ledger.began_s(made.record()) == pytest.approx(1.7e9 + 9.0)


def _rows(found: ledger.Joined) -> dict[str, dict[str, str]]:
    """Return the rows of a table by metric, each by its headers."""
    table = joined_table([found])
    rows = [dict(zip(table.headers, row, strict=True)) for row in table.rows]
    return {row["metric"]: row for row in rows}


def test_its_table_says_what_held_and_what_had_never_been_measured() -> None:
    found = _joined([("moosefs", 1001.0, _measured(4))])
    assert [row["held"] for row in _rows(found[4]).values()] == ["yes"] * 3
    assert [row["held"] for row in _rows(found[1]).values()] == ["–"], "one row without a measurement"
    beyond = replace(found[4], prediction=replace(found[4].prediction, beyond=("clients", "hardware")))
    assert {row["never measured before"] for row in _rows(beyond).values()} == {"clients, hardware"}


def test_an_error_is_that_of_the_prediction_over_what_was_measured() -> None:
    four = _joined([("moosefs", 1001.0, _measured(4))])[4]
    rate = four.prediction.throughput_bytes_per_s[0]
    assert _rows(replace(four, measured_bytes_per_s=(rate / 2,)))["MiB/s"]["error"] == "+100.0 %"


def test_a_range_has_no_value_and_no_error() -> None:
    four = _joined([("moosefs", 1001.0, _measured(4))])[4]
    ranged = replace(four, prediction=replace(four.prediction, rests_on=("at_once",)))
    row = _rows(ranged)["MiB/s"]
    assert (row["predicted"], row["error"], row["held"]) == ("–", "–", "yes")


def test_watts_that_no_meter_measured_are_named() -> None:
    pledge, four = ledger.read(_pledge(), "p.json"), _measured(4)
    row = next(row for row in pledge.predictions if row.prediction.clients_count == 4)
    for grade, words in (("modelled", "W and MiB/J of the trials are modelled: "), ("wall", "")):
        found = ledger.join(pledge, row, [("moosefs", 1001.0, four)], {(four.source, "write"): grade})
        assert found.grades == (grade,)
        remarks = " ".join(joined_remarks([found]))
        assert words in remarks and ("modelled" in remarks) == bool(words)
