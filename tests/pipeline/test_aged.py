"""Aged and new file systems on simulated hosts: from the file to the difference, the report, and the check
of joules.
"""

import json
from pathlib import Path

import pytest

from perjoule import campaign, report, store
from perjoule.execution import runner
from perjoule.filesystems.simulated import CLAIMED_S
from perjoule.model import value_at
from perjoule.model.doubts import IN_FLIGHT
from perjoule.results.verification import verify
from perjoule.store import Results
from perjoule.store.ageing import ageing_series
from perjoule.summary import summary
from perjoule.trial.ageing import ageing
from perjoule.views.life.ageing import ageing_table, wear_table

CAMPAIGN = """
name = "aged"
clients = [2]
repetitions = 4
seed = 3
settle = "50 ms"
quiet = 0
[testbed]
kind = "simulated"
cluster = "odroid-hc4"
scale = 0.5
[[filesystem]]
kind = "simulated"
throughput = "20 MiB/s"
noise = "1 %"
full_loss = "20 %"
aged = {full = ["0 %", "90 %"], overwrites = 2, seed = 7}
[[workload]]
kind = "simulated"
operation = "read"
size = "4 MiB"
[[meter]]
kind = "system"
rate = "50 Hz"
[[meter]]
kind = "modelled"
rate = "50 Hz"
"""
NEW, AGED = "simulated aged full 0 %", "simulated aged full 90 %"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    wanted = campaign.parse(CAMPAIGN)
    made = store.create(
        tmp_path_factory.mktemp("aged") / "results", wanted.text, wanted.name, wanted.overrides
    )
    runner.run(wanted, made, lambda event: None)
    found = store.open_results(made.folder)
    assert {record.reason for record in found.latest()} == {""}
    return found


def test_each_aged_trial_has_what_its_file_system_went_through_and_a_new_one_nothing(
    results: Results,
) -> None:
    for record in results.latest():
        if record.trial.filesystem.label == NEW:
            assert "aged" not in record.facts
            continue
        found = ageing(record)
        assert found is not None
        assert (found.full_before_ratio, found.full_ratio) == (0.0, pytest.approx(0.9))
        assert (found.overwrites_count, found.seed, found.folder) == (2, 7, "1")
        took_s = [value_at(record.facts, "aged", key) for key in ("began_s", "ended_s")]
        assert found.duration_s == pytest.approx(0.5 * (float(str(took_s[1])) - float(str(took_s[0])))), (
            "at scale 0.5"
        )
        assert found.duration_s >= 0.5 * CLAIMED_S


def test_its_joules_are_those_of_the_servers_recomputed_from_samples(results: Results) -> None:
    record = next(record for record in results.latest() if record.trial.filesystem.label == AGED)
    found, servers = ageing(record), {host.name for host in record.hosts if host.role != "client"}
    assert found is not None
    power = [
        s
        for s in ageing_series(results.folder, "1")
        if s.channel.quantity == "power" and s.channel.host in servers
    ]
    assert {series.channel.component for series in power} == {"board", "disks", "supply"}
    mean_w = sum(float(series.value.mean()) for series in power)
    assert found.energy_j == pytest.approx(mean_w * found.duration_s, rel=0.05)


def test_the_difference_has_its_interval_which_holds_the_truth(results: Results) -> None:
    laid = wear_table(results.latest(), summary(results).cells)
    rows = [dict(zip(laid.headers, row, strict=True)) for row in laid.rows]
    assert [(row["file system"], row["metric"]) for row in rows] == [(AGED, "MiB/s"), (AGED, "MiB/J")]
    for row in rows:
        low, high = (
            float(word) for word in row["aged / new (95 %)"].partition("(")[2].rstrip(")").split(" to ")
        )
        assert low < 1 - 0.2 * 0.9 < high
        assert high - low < 0.15
        assert row["verdict"] == f"significantly worse than {NEW}"


def test_the_report_shows_both_tables_and_says_what_was_done(results: Results) -> None:
    page = report.write(results, results.folder / "report.html").read_text()
    assert "Aged and new" in page
    assert (
        f"clients filled file systems, deleted, overwrote and filled up again: {AGED} to 90 % in 2 rounds"
        in page
    )
    assert len(ageing_table(results.latest()).rows) == 1


def test_a_file_system_that_was_only_new_has_no_tables() -> None:
    assert ageing_table(()).rows == wear_table((), ()).rows == ()


def test_verify_recomputes_the_joules_and_misses_their_samples(results: Results) -> None:
    found = verify(results)
    assert found.differences == ()
    samples = results.folder / "ageing" / "1" / "series.parquet"
    kept = samples.read_bytes()
    samples.unlink()
    try:
        missing = verify(results).differences
    finally:
        samples.write_bytes(kept)
    assert len(missing) == 4
    assert all("the samples of the ageing of its file system can't be read" in one for one in missing)
    record = next(iter(results.folder.glob("trials/*aged-full-90*/attempt-*/record.json")))
    text = record.read_text()
    whole = json.loads(text)
    whole["facts"]["aged"]["energy_j"] *= 1.01
    record.write_text(json.dumps(whole))
    try:
        wrong = verify(results).differences
    finally:
        record.write_text(text)
    assert any(
        "of the ageing of its file system, energy_j is " in one and " and recomputed " in one for one in wrong
    )
    assert verify(results).differences == ()


def test_a_trial_is_doubted_if_its_file_system_was_still_busy_after_ageing(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("quiet = 0", 'quiet = "50 ms"').replace("repetitions = 4", "repetitions = 1")
    wanted = campaign.parse(
        text.replace('["0 %", "90 %"]', '"90 %"').replace("[[workload]]", 'scrub = "1 min"\n[[workload]]')
    )
    made = store.create(tmp_path / "results", wanted.text, wanted.name, wanted.overrides)
    runner.run(wanted, made, lambda event: None)
    (record,) = store.open_results(made.folder).latest()
    busy = "still busy 0.05 s after the load, gave up waiting: scrubbing, as configured"
    assert [(one.kind, str(one)) for one in record.doubts if one.kind == IN_FLIGHT][-1] == (
        IN_FLIGHT,
        f"ageing: {busy}",
    )
