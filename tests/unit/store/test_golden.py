"""Folders that older commits of this repository wrote still read, and their records lose nothing when they
are written back.
"""

import json
from pathlib import Path

import pytest

from perjoule.model.doubts import IN_FLIGHT
from perjoule.store import open_results
from perjoule.store.records import record_from, record_text

FOLDERS = sorted(path for path in Path(__file__).with_name("golden").iterdir())
RECORDS = [path for folder in FOLDERS for path in sorted(folder.rglob("record.json"))]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_folder_of_an_older_perjoule_reads(folder):
    results = open_results(folder)
    assert {record.status for record in results.latest()} == {"valid", "failed"}
    assert all(results.series(record) for record in results.latest() if record.status == "valid")
    assert results.table()


def test_what_records_have_had_since_the_first_release_reads_too():
    (record,) = (one for one in open_results(FOLDERS[-1]).latest() if one.status == "valid")
    assert [happened.event.kind for happened in record.events] == ["kill", "back", "scrub"]
    assert {one.words for one in record.health} == {
        "",
        "rebuilding, as configured",
        "scrubbing, as commanded",
    }
    assert [doubt.kind for doubt in record.doubts] == [IN_FLIGHT]
    assert record.trial.workload.kind == "duty"
    aged = record.facts["aged"]
    assert isinstance(aged, dict)
    assert aged["overwrites_count"] == 1


def as_before(new, old):
    """What `new` says of all that `old` has."""
    if isinstance(old, dict):
        return {key: as_before(new[key], value) for key, value in old.items()}
    return [as_before(*pair) for pair in zip(new, old, strict=True)] if isinstance(old, list) else new


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parents[3].name}-{path.parents[1].name}")
def test_its_records_are_written_back_field_for_field(path):
    text = path.read_text()
    again = record_text(record_from(text))
    assert repr(as_before(json.loads(again), json.loads(text))) == repr(json.loads(text))  # 1 is not 1.0
