"""Idle and paced campaigns on simulated hosts, whose counters rise at known rates: from the file to
tables, report and export.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commanded import export
from perjoule import campaign, report, store
from perjoule.execution import runner
from perjoule.results.table import table
from perjoule.statistics.intervals import interval
from perjoule.store import Results
from perjoule.summary import summary
from perjoule.views.content import Content
from perjoule.views.power.idle import idle_table
from perjoule.views.power.proportionality import loads_table, proportionality_table
from places import EXAMPLES

TOP = """
name = "quiet"
clients = [2]
repetitions = 2
seed = 1
settle = "50 ms"
quiet = 0
[testbed]
kind = "simulated"
cpu = "2 %"
network = "1 MiB/s"
disk = "2 MiB/s"
switches = "300 Hz"
{testbed}
[[filesystem]]
kind = "simulated"
throughput = "40 MiB/s"
copies = 2
[[meter]]
kind = "system"
rate = "50 Hz"
[[meter]]
kind = "modelled"
rate = "50 Hz"
"""
IDLE = """
[[workload]]
kind = "idle"
duration = "600 ms"
rest = "0 s"
least_gap = "100 ms"
mounted = [true, false]
"""
DUTY = """
[[workload]]
kind = "duty"
engine = "simulated"
operation = "read"
load = ["0 %", "25 %", "100 %"]
size = "4 MiB"
transfer = "64 KiB"
duration = "500 ms"
"""


def run(folder: Path, text: str) -> Results:
    asked = campaign.parse(text)
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    assert {record.reason for record in results.latest()} == {""}
    return results


def windows_s(results: Results, workload: str) -> float:
    """The mean of the wall time between the beginning and the end of a workload, as its results have it."""
    outcomes = [one.outcome for one in results.latest() if one.trial.workload.label == workload]
    return float(np.mean([one.ended_s - one.began_s for one in outcomes if one]))


def exported(results: Results) -> list[dict[str, str]]:
    target = results.folder / "table.csv"
    export(results.folder, target)
    with target.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(tmp_path_factory.mktemp("idle") / "results", TOP.format(testbed="") + IDLE)


def test_an_idle_file_system_has_the_rates_of_its_hosts_counters(idle: Results) -> None:
    mounted, unmounted = summary(idle).cells
    assert [(cell.workload, cell.direction) for cell in (mounted, unmounted)] == [
        ("idle mounted", "idle"),
        ("idle not mounted", "idle"),
    ]
    for cell in (mounted, unmounted):
        means = {key: found.mean for key, found in cell.metrics.items()}
        assert means["duration_s"] == pytest.approx(windows_s(idle, cell.workload))
        assert means["idle_network_sent_servers_bytes_per_s"] == pytest.approx(6 * 2**20, rel=0.01)
        assert means["idle_disk_read_storage_bytes_per_s"] == pytest.approx(4 * 2 * 2**20, rel=0.01)
        assert means["idle_switches_storage_hz"] == pytest.approx(4 * 300, rel=0.01)
        assert means["idle_cpu_storage_ratio"] == pytest.approx(4 * 4 * 0.02, rel=0.01)
        assert means["sleepable_storage_ratio"] == 0
        assert means["idle_w"] == means["mean_w"]
        # eight disks of 1 TB, each byte twice
        assert means["raw_w_per_byte"] == pytest.approx(means["idle_w"] / 8e12)
        assert means["usable_bytes_per_w"] == pytest.approx(4e12 / means["idle_w"])
        assert cell.metrics["usable_uncertainty_bytes_per_w"].mean > 0
        assert cell.grade == "simulated"
    assert mounted.metrics["clients_mounted_count"].mean == 2
    assert unmounted.metrics["clients_mounted_count"].mean == 0


def test_dilated_time_changes_rates_and_is_a_doubt(tmp_path: Path) -> None:
    results = run(tmp_path / "results", TOP.format(testbed='scale = "50 %"') + IDLE)
    (cell, _) = summary(results).cells
    assert cell.metrics["duration_s"].mean == pytest.approx(0.5 * windows_s(results, cell.workload))
    assert cell.metrics["idle_switches_storage_hz"].mean == pytest.approx(2 * 4 * 300, rel=0.01)
    assert any("keep their own time" in doubt for doubt in cell.doubts)


def test_tables_of_idle_file_systems_have_power_and_no_rates(idle: Results) -> None:
    cells = summary(idle).cells
    laid = table(cells)
    assert "MiB/s" not in laid.headers
    assert {"idle W", "GB/W", "kJ/TB-day", "kJ/TB-day raw", "W"} <= {*laid.headers}
    roles = [row[2] for row in idle_table(cells).rows]
    assert roles == ["client", "storage", "metadata", "management", "servers"] * 2


def test_the_report_answers_for_an_idle_file_system_and_draws_its_watts(
    idle: Results, tmp_path: Path
) -> None:
    page = report.write(idle, tmp_path / "report.html").read_text()
    assert "<h3>Idle</h3>" in page
    assert "GB/W" in page
    assert "There was no load in idle mounted" in page
    assert {"idle.svg", "idle.pdf"} <= {path.name for path in report.figures(idle, tmp_path / "figures")}


@pytest.fixture(scope="module")
def duty(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(tmp_path_factory.mktemp("duty") / "results", TOP.format(testbed="") + DUTY)


def test_a_paced_load_reaches_its_share_of_what_was_measured_before(duty: Results) -> None:
    cells = {cell.workload: cell for cell in summary(duty).cells}
    rates = {
        name: cell.metrics["throughput_bytes_per_s"].mean
        for name, cell in cells.items()
        if cell.direction == "read"
    }
    assert rates["duty load 25 %"] == pytest.approx(0.25 * 80 * 2**20, rel=0.02)
    assert rates["duty load 100 %"] == pytest.approx(80 * 2**20, rel=0.02)
    assert cells["duty load 0 %"].direction == "idle"
    assert {name: round(cell.metrics["load_ratio"].mean, 2) for name, cell in cells.items()} == {
        "duty load 0 %": 0,
        "duty load 25 %": 0.25,
        "duty load 100 %": 1,
    }


def test_proportionality_follows_from_what_is_exported(duty: Results) -> None:
    rows = exported(duty)
    trials: dict[tuple[str, str], dict[str, Any]] = {}
    for row in (row for row in rows if row["of"] == "trial"):
        trials.setdefault((row["repetition"], row["workload"]), {})[row["metric"]] = float(row["value"])
    found: list[float] = []
    for repetition in ("1", "2"):
        own = [trials[repetition, f"duty load {share} %"] for share in (0, 25, 100)]
        loads = np.array([one["load_ratio"] for one in own]) / own[-1]["load_ratio"]
        watts = np.array([one["mean_w"] for one in own])
        area = sum((watts[1:] + watts[:-1]) / 2 * np.diff(loads))
        found.append(2 - 2 * area / watts[-1])
    (exported_row,) = [row for row in rows if row["metric"] == "proportionality_ratio"]
    mean, low, high = (float(exported_row[key]) for key in ("value", "low", "high"))
    wanted = interval(found)
    assert (mean, low, high) == pytest.approx((wanted.mean, wanted.low, wanted.high), abs=1e-12)
    assert mean == pytest.approx(0, abs=0.01)  # simulated hosts draw the same at any load
    cell = next(cell for cell in summary(duty).cells if cell.workload == "duty load 25 %")
    joules, rate, time_s = (
        cell.metrics[key].mean for key in ("energy_j", "throughput_bytes_per_s", "duration_s")
    )
    assert cell.metrics["energy_per_byte_j"].mean == pytest.approx(joules / (rate * time_s), rel=1e-3)


def test_the_report_has_power_against_load(duty: Results, tmp_path: Path) -> None:
    found = Content(duty).proportionality
    loads, whole = loads_table(found), proportionality_table(found)
    assert [row[3] for row in loads.rows] == ["0", "25.00", "100.0"]
    assert len(whole.rows) == 1
    page = report.write(duty, tmp_path / "report.html").read_text()
    assert "<h3>Power against load</h3>" in page
    assert "proportionality.svg" in {path.name for path in report.figures(duty, tmp_path / "figures")}


@pytest.mark.slow  # by day: the document of idle ones: tests/command/test_documents.py; the loads above
@pytest.mark.parametrize("name", ["idle", "duty"])
def test_the_example_runs_simulated(name: str, tmp_path: Path) -> None:
    asked = campaign.read(
        EXAMPLES / f"{name}.toml", ["simulate=true", "repetitions=1", "settle=20 ms", "quiet=0"]
    )
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    assert {(record.status, record.reason) for record in results.latest()} == {("valid", "")}
    assert {record.trial.workload.kind for record in results.latest()} == {name}
