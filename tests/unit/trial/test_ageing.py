"""What a file system went through before its trials, read from their records: in emulated time."""

from dataclasses import replace
from typing import Any

import pytest

from perjoule.trial.ageing import AgeingFact, ageing, energy_j

FACTS: dict[str, Any] = {
    "folder": "aged-1",
    "full_before_ratio": 0.1,
    "full_ratio": 0.6,
    "usable_bytes": 1000,
    "files_count": 30,
    "written_bytes": 900,
    "deleted_bytes": 200,
    "overwritten_bytes": 50,
    "overwrites_count": 5,
    "seed": 7,
    "began_s": 100.0,
    "ended_s": 160.0,
    "energy_j": 12.5,
}
SERVERS = ("storage-1", "storage-2", "metadata-1")


def aged(made, scale=1.0, **facts):
    record = made.record(scale=scale)
    return replace(record, facts={**record.facts, "aged": facts})


def test_what_was_done_is_as_it_was_kept_and_its_time_is_emulated(made):
    expected = {key: value for key, value in FACTS.items() if key not in ("began_s", "ended_s")}
    assert ageing(aged(made, 0.25, **FACTS)) == AgeingFact(**expected, duration_s=15.0)
    without = {key: value for key, value in FACTS.items() if key != "energy_j"}
    found = ageing(aged(made, **without))
    assert found is not None
    assert (found.energy_j, found.duration_s) == (None, 60.0)


@pytest.mark.parametrize("key", [key for key in FACTS if key != "energy_j"])
def test_a_record_that_lacks_something_tells_nothing(made, key):
    assert ageing(aged(made, **{name: value for name, value in FACTS.items() if name != key})) is None
    if key != "folder":
        for wrong in ("many", True):
            facts: dict[str, Any] = {**FACTS, key: wrong}
            assert ageing(aged(made, **facts)) is None


def test_a_new_file_system_went_through_nothing(made):
    assert ageing(made.record()) is None
    assert ageing(replace(made.record(), facts={"aged": "no"})) is None


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_its_joules_are_those_of_the_servers_from_the_first_file_to_the_last(made, scale):
    watts = [made.steady(host, 10.0, grade="simulated") for host in (*SERVERS, "client-1")]
    record = aged(made, scale, began_s=3.0, ended_s=23.0)
    assert energy_j(record, watts) == pytest.approx(3 * 10 * 20 * scale)
    assert energy_j(record, watts[1:]) is None
    for lacking in ({"began_s": 3.0}, {"ended_s": 23.0}, {"began_s": "3", "ended_s": 23.0}):
        assert energy_j(aged(made, scale, **lacking), watts) is None
