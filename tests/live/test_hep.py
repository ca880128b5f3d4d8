"""The muon analysis by Dask on four virtual storage hosts, through the whole of perjoule."""

import json
from pathlib import Path

import pytest

from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.measures.points import points
from perjoule.model import Record
from perjoule.model.units import MIB
from perjoule.results import verification
from perjoule.store import Results
from perjoule.workloads import hep
from perjoule.workloads._muons import fit
from typed import present

pytestmark = pytest.mark.live

HEAD = """
name = "hep"
clients = 1
repetitions = 1
seed = 1
settle = "200 ms"
quiet = "5 s"

[testbed]
kind = "virtual"
servers = 4
disk = "directory"

[[meter]]
kind = "system"

[[meter]]
kind = "modelled"

"""
MOOSEFS = """
[[filesystem]]
kind = "moosefs"
goal = 2

[[workload]]
kind = "hep"
size = "48 MiB"
locality = [true, false]

[[workload]]
kind = "hep"
size = "48 MiB"
workers = "clients"
"""
GLUSTERFS = """
[[filesystem]]
kind = "glusterfs"
layout = "distributed"
hosts = 4

[[workload]]
kind = "hep"
size = "24 MiB"
files = 12
compression = "none"

[[workload]]
kind = "hep"
size = "24 MiB"
files = 2
tasks_per_file = 6
locality = false
"""


@pytest.fixture(autouse=True)
def libraries() -> None:
    for name in hep.LIBRARIES:
        pytest.importorskip(name, reason=f"{name} is missing (.venv/bin/pip install 'perjoule[hep]')")


def measured(text: str, folder: Path) -> tuple[Results, tuple[Record, ...]]:
    asked = campaign.parse(HEAD + text, source="hep")
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    records = results.latest()
    assert [record.reason for record in records if record.status != "valid"] == []
    assert verification.verify(results).differences == ()
    return results, records


def histogram(results: Results, record: Record) -> list[int]:
    return json.loads((results.folder_of(record) / "raw" / "histogram.json").read_text())["counts"]


@pytest.mark.slow  # by day: test_workload_contract.py
def test_the_analysis_reads_where_the_data_lie_and_finds_the_same_physics_everywhere(tmp_path: Path) -> None:
    results, records = measured(MOOSEFS, tmp_path / "results")
    places = [
        (
            record.trial.workload.options.get("workers", "storage"),
            record.trial.workload.options.get("locality", True),
        )
        for record in records
    ]
    by_place = dict(zip(places, records, strict=True))
    local, anywhere, client = by_place["storage", True], by_place["storage", False], by_place["clients", True]
    outcomes = {
        name: one.outcome for name, one in (("local", local), ("anywhere", anywhere), ("client", client))
    }
    assert all(outcomes.values())
    found = {name: outcome.measured for name, outcome in outcomes.items() if outcome}

    assert found["local"]["locality_ratio"] == 1.0
    # of two copies the one on the worker's own host is read
    assert found["local"]["network_locality_ratio"] >= 0.95
    assert found["anywhere"]["network_locality_ratio"] < 0.8
    assert found["client"]["locality_ratio"] == found["client"]["network_locality_ratio"] == 0.0
    assert {result.host for result in present(outcomes["client"]).results} == {"client-1"}
    assert {result.host for result in present(outcomes["local"]).results} == {
        f"storage-{n}" for n in (1, 2, 3, 4)
    }
    assert (
        len(
            {
                sum(result.moved_bytes for result in outcome.results)
                for outcome in outcomes.values()
                if outcome
            }
        )
        == 1
    )

    assert histogram(results, local) == histogram(results, anywhere) == histogram(results, client)
    for name, peak in fit.PEAKS.items():
        pull = (found["local"][f"{name}_mass_ev"] - peak.mass_gev * 1e9) / found["local"][
            f"{name}_mass_error_ev"
        ]
        assert abs(pull) < 3
    (point,) = points(local, results.series(local))
    assert point.metrics["energy_per_event_j"] == pytest.approx(
        point.metrics["energy_j"] / found["local"]["events_count"]
    )


@pytest.mark.slow  # by day: files on MooseFS, above
def test_files_that_a_hash_places_are_analysed_where_they_lie_and_few_of_them_by_all_workers(
    tmp_path: Path,
) -> None:
    results, records = measured(GLUSTERFS, tmp_path / "results")
    record, shared = sorted(records, key=lambda one: "tasks_per_file" in one.trial.workload.options)
    assert record.outcome is not None
    assert {result.host: result.operations_count for result in present(shared.outcome).results} == {
        f"storage-{n}": 3 for n in (1, 2, 3, 4)
    }
    assert sum(histogram(results, shared)) == pytest.approx(sum(histogram(results, record)), rel=0.05)
    assert record.outcome.measured["locality_ratio"] == 1.0
    assert record.outcome.measured["network_locality_ratio"] >= 0.95
    read_bytes = sum(result.moved_bytes for result in record.outcome.results)
    assert read_bytes == pytest.approx(hep.READ_RATIO * 24 * MIB, rel=0.05)
    assert sum(result.operations_count for result in record.outcome.results) == 12
