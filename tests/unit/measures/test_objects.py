"""Objects by the second and by the joule, against sums by hand."""

from dataclasses import replace

import pytest

from perjoule.measures.points import points
from perjoule.model import Specification
from perjoule.model.metrics import OBJECTS


def test_objects_are_divided_by_the_time_and_by_the_joules_of_the_servers(made):
    record = made.record()
    outcome = replace(record.outcome, measured={OBJECTS: 640.0})
    power = [made.steady(host, 2.5) for host in ("storage-1", "storage-2", "metadata-1")]
    (point,) = points(replace(record, outcome=outcome), power)
    duration_s, energy_j = point.metrics["duration_s"], point.metrics["energy_j"]
    assert energy_j == pytest.approx(7.5 * duration_s)
    assert point.metrics["objects_per_s"] == pytest.approx(640 / duration_s)
    assert point.metrics["objects_per_j"] == pytest.approx(640 / energy_j)
    assert point.metrics["energy_per_object_j"] == pytest.approx(energy_j / 640)


def test_objects_by_the_joule_fall_as_the_energy_rises_and_joules_by_the_object_rise(made):
    """A meter that may be wrong by 1 % of what it reads, evenly: a standard uncertainty of 1 % / sqrt(3)."""
    record = made.record()
    record = replace(record, outcome=replace(record.outcome, measured={OBJECTS: 640.0}))
    power = [made.steady(host, 2.5) for host in ("storage-1", "storage-2", "metadata-1")]
    stated = Specification(gain_ratio=0.01)
    power = [replace(one, channel=replace(one.channel, specification=stated)) for one in power]
    (point,) = points(record, power)
    assert {key: dict(point.shared[key]) for key in ("objects_per_j", "energy_per_object_j")} == {
        "objects_per_j": {"meter: gain": pytest.approx(-0.01 / 3**0.5)},
        "energy_per_object_j": {"meter: gain": pytest.approx(0.01 / 3**0.5)},
    }
    assert "objects_per_s" not in point.shared


def test_a_load_without_objects_or_joules_has_none(made):
    (point,) = points(made.record(), [])
    assert not [key for key in point.metrics if "object" in key]
    record = made.record()
    counted = replace(record, outcome=replace(record.outcome, measured={OBJECTS: 640.0}))
    (point,) = points(counted, [])
    assert {"objects_per_s", "objects_count"} == {key for key in point.metrics if "object" in key}


def test_joules_by_the_object_stay_where_clients_hardly_loaded_together_as_of_all_other_work(made):
    apart = made.results((10.0, 20.0), (19.5, 29.5))
    record = made.record(moved=apart)
    record = replace(record, outcome=replace(record.outcome, measured={OBJECTS: 640.0}))
    (point,) = points(record, [made.steady(host, 2.5) for host in ("storage-1", "storage-2", "metadata-1")])
    assert {key for key in point.metrics if "object" in key} == {"objects_count", "energy_per_object_j"}
