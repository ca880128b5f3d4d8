"""Profiles and predictions, of a made-up file system and by hand."""

import json
import re
from dataclasses import replace
from functools import cache
from math import inf, log

import pytest

from benchmarks.prediction import ceph_servers
from perjoule import catalogue
from perjoule.model.errors import CampaignError
from perjoule.prediction import Profile, Target, parameters, predicting, predictions, profile, read
from perjoule.prediction.profile import band_ratio
from perjoule.store.records import to_json
from tests import made

pytestmark = pytest.mark.heavy  # each process fits a profile

MIB = 1024**2


@cache
def _profile() -> Profile:
    points = made.points(noise_ratio=0.01)
    return profile("moosefs", {"goal": 1}, points, release="made up", data_roles=("storage",), unit_bytes=inf, emulated=True)


def _target() -> Target:
    return Target(_profile(), catalogue.cluster("odroid-hc4"), {}, memory=False)


def _text(found: Profile) -> str:
    data = to_json(found)
    assert isinstance(data, dict)
    return json.dumps({**data, "digest": found.digest})


def test_a_profile_reads_back_as_it_was_written() -> None:
    assert read(_text(_profile()), "made.json") == _profile()


def test_points_that_were_changed_are_refused() -> None:
    data = json.loads(_text(_profile()))
    data["points"][0]["throughput_bytes_per_s"] *= 2
    with pytest.raises(CampaignError, match=r"made\.json: its points differ from those that it was fitted to"):
        read(json.dumps(data), "made.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": 1}', "[" * 10_000])
def test_other_files_are_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(CampaignError, match="not a profile"):
        read(text, "made.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("servers_count", 0),
        ("in_flight", -1.0),
        ("server_memory_bytes", 0),
        ("throughput_bytes_per_s", 1e-300),
        ("client_bytes", 1e300),
    ],
)
def test_numbers_that_can_not_be_measured_are_refused(name: str, value: float) -> None:
    text, count = re.subn(rf'("{name}": )(\{{.*?\}}|[^,}}]+)', rf"\g<1>{value!r}", _text(_profile()))
    assert count
    with pytest.raises(CampaignError, match=f"{name} is .*, which is impossible"):
        read(text, "made.json")


def test_one_number_of_clients_is_too_few() -> None:
    with pytest.raises(CampaignError, match="one number of clients"):
        profile("moosefs", {}, made.points(clients=(4,)), release="", data_roles=("storage",), unit_bytes=inf, emulated=True)


def test_a_number_that_no_point_depends_on_is_not_identified() -> None:
    """The truth has `at_once` = 50: no client is ever held back by it."""
    found = {one.name: one for one in parameters(_profile(), "write")}
    assert not found["at_once"].identified
    assert found["in_flight"].identified
    assert found["server_mips_s_per_byte"].identified
    assert found["in_flight"].value == pytest.approx(made.TRUTH.way.in_flight, rel=0.1)


def test_predictions_are_what_was_measured_there() -> None:
    found = next(one for one in predictions(_target(), [4], 128 * MIB) if one.direction == "write")
    measured = [
        one for one in made.points(noise_ratio=0.01, copies=(1,), speeds=made.SPEEDS[:1]) if one.case.fleet.clients_count == 4
    ]
    assert measured
    value, low, high = found.throughput_bytes_per_s
    assert value == pytest.approx(measured[0].throughput_bytes_per_s, rel=0.03)
    assert low < measured[0].throughput_bytes_per_s < high
    assert found.mean_w[0] == pytest.approx(measured[0].mean_w, rel=0.01)
    assert found.efficiency_bytes_per_j[0] == pytest.approx(value / found.mean_w[0])
    assert found.beyond == ()
    assert sum(found.worth.values()) == pytest.approx(1.0)


def test_no_prediction_is_above_its_bound() -> None:
    for one in predictions(_target(), [1, 2, 4, 16, 64], 128 * MIB):
        assert one.throughput_bytes_per_s[0] <= one.bound_bytes_per_s * (1 + 1e-9)
        assert one.throughput_bytes_per_s[2] <= one.bound_bytes_per_s * (1 + 1e-9)


def test_what_was_not_measured_is_named() -> None:
    three = replace(_target(), options={"goal": 3})
    assert {level for one in predictions(three, [3], 128 * MIB) for level in one.beyond} == {"clients", "redundancy"}
    other = replace(_target(), cluster=catalogue.cluster("reference-1"))
    assert "hardware" in next(iter(predictions(other, [4], 128 * MIB))).beyond
    more = replace(_target(), servers_count=8)
    assert "hardware" in next(iter(predictions(more, [4], 128 * MIB))).beyond


def test_bands_widen_with_what_differs() -> None:
    known = _profile().known["write"]
    assert band_ratio(known, ("clients", "hardware")) > max(band_ratio(known, ("clients",)), band_ratio(known, ("hardware",)))


def test_idle_watts_make_work_per_joule_surer_than_throughput() -> None:
    """On hardware without a doubt: 1 % more throughput is 1 % more of the watts above idle, and so less than 1 % more MiB/J."""
    cluster = catalogue.cluster("odroid-hc4")
    sure = predicting.each_value(cluster, lambda _, value: replace(value, sigma=0.0))
    found = next(iter(predictions(replace(_target(), cluster=sure), [2], 128 * MIB)))
    rate, watts, work = (
        log(one[2] / one[0]) for one in (found.throughput_bytes_per_s, found.mean_w, found.efficiency_bytes_per_j)
    )
    above_idle = 1 - found.idle_w / found.mean_w[0]
    assert work == pytest.approx(rate * (1 - above_idle), rel=0.1)
    assert watts == pytest.approx(rate * above_idle, rel=0.1)


def test_more_servers_are_faster() -> None:
    few, many = (
        next(iter(predictions(replace(_target(), servers_count=count), [16], 128 * MIB))).throughput_bytes_per_s[0]
        for count in (2, 8)
    )
    assert many > 2 * few


def test_a_fitted_value_moves_with_what_it_was_fitted_to() -> None:
    """The boards' idle watts were fitted to a measured total, so an error in the supply's efficiency leaves idle power alone."""
    found = next(iter(predictions(_target(), [1], 128 * MIB)))
    assert found.worth.get("supply efficiency", 0.0) < 0.05


def test_an_impossible_layout_is_refused() -> None:
    with pytest.raises(CampaignError, match="chunk servers"):
        list(predictions(replace(_target(), options={"goal": 9}), [1], 128 * MIB))


def test_a_code_is_predicted_from_copies_on_the_same_servers_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    ceph_servers()
    said = capsys.readouterr().out
    assert f"predicted {1025 / (1 + 5 / 6):.0f} GiB/s, printed 547, +2.2%" in said  # 5 of 6 parts come from other servers
    assert f"predicted {270 * 3 / (1 + 7 / 6):.0f} GiB/s, printed 387, -3.4%" in said  # 7 of 8 parts go to other servers
