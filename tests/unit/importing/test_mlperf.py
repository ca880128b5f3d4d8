"""Training runs of MLPerf Storage become trials: read from a real result, whose numbers are computed again from
DLIO's definitions, and refused where the files do not say what they mean.
"""

import json
import math
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from perjoule import importing
from perjoule.importing.mlperf_power import rated
from perjoule.importing.sources import Source, sources, why_not
from perjoule.model import Record
from perjoule.model.doubts import DERIVED, TIMES
from perjoule.model.errors import WorkloadError
from perjoule.model.units import MIB
from perjoule.results import verification
from perjoule.summary import summary
from perjoule.workloads.imported import ImportedRun, Told, read, system_power
from typed import present
from unit.importing.mlperf_folders import REAL, RESULT, RUNS, changed, copied, described, of_third_round

TEXTS = {
    "summary.json": (REAL / RESULT / "run-1/summary.json").read_text(),
    "per_epoch_stats.json": (REAL / RESULT / "run-1/per_epoch_stats.json").read_text(),
    "config.yaml": (REAL / RESULT / "run-1/configs/config.yaml").read_text(),
    "overrides.yaml": (REAL / RESULT / "run-1/configs/overrides.yaml").read_text(),
}
SUMMARY: Mapping[str, Any] = json.loads(TEXTS["summary.json"])
EPOCHS: Mapping[str, Any] = json.loads(TEXTS["per_epoch_stats.json"])
BATCH, FILES, ACCELERATORS, SAMPLE_BYTES = 7, 28000, 3, 146600628  # as config.yaml and summary.json have them
SAMPLES = 5 * 3 * 7 * 1333  # 28000 files make 1333 whole batches of 7 for each of 3 accelerators


Change = Callable[[Any], object]


def the_run(told: Told | None = None, **texts: str) -> ImportedRun:
    """The real run, with other texts in place of some files."""
    (run,) = read(
        "mlperf",
        {**TEXTS, **{name.replace("_yaml", ".yaml"): t for name, t in texts.items()}},
        told or Told("r"),
    )
    return run


def with_summary(change: Change) -> ImportedRun:
    summary_of = json.loads(TEXTS["summary.json"])
    change(summary_of)
    (run,) = read("mlperf", {**TEXTS, "summary.json": json.dumps(summary_of)}, Told("r"))
    return run


def with_epochs(change: Change, zone: str = "UTC") -> ImportedRun:
    epochs = json.loads(TEXTS["per_epoch_stats.json"])
    change(epochs)
    (run,) = read("mlperf", {**TEXTS, "per_epoch_stats.json": json.dumps(epochs)}, Told("r", zone=zone))
    return run


def imported(into: Path, folder: Path, zone_assumed: str = "") -> tuple[Record, ...]:
    read_sources, _ = sources([str(folder)], "UTC")
    return importing.bring(importing.create(into), read_sources, zone_assumed=zone_assumed).records


# Numbers


def test_a_run_reads_the_whole_batches_that_every_accelerator_gets() -> None:
    assert 5 * math.floor(FILES / BATCH / ACCELERATORS) * BATCH * ACCELERATORS == SAMPLES
    outcome = present(the_run().outcome)
    assert sum(result.operations_count for result in outcome.results) == SAMPLES
    assert sum(result.moved_bytes for result in outcome.results) == SAMPLES * SAMPLE_BYTES
    assert outcome.measured["samples_count"] == SAMPLES
    assert outcome.measured["epochs_count"] == 5
    assert outcome.measured["accelerators_count"] == 3


def test_its_window_is_from_the_first_epoch_to_the_last_batch_without_the_checkpoint_after_it() -> None:
    outcome = present(the_run().outcome)
    began, ended = (
        datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
        for text in (EPOCHS["1"]["start"], EPOCHS["5"]["block1"]["end"])
    )
    assert outcome.began_s == pytest.approx(began, abs=1e-3)
    assert outcome.ended_s == pytest.approx(ended, abs=1e-3)
    assert "ckpt1" in EPOCHS["5"]


def test_its_rates_are_those_of_mlperf_but_for_the_time_between_epochs() -> None:
    outcome = present(the_run().outcome)
    took_s = outcome.ended_s - outcome.began_s
    between_s = took_s - sum(
        (
            datetime.fromisoformat(e["block1"]["end"]) - datetime.fromisoformat(e["block1"]["start"])
        ).total_seconds()
        for e in EPOCHS.values()
    )
    stated = SUMMARY["metric"]["train_io_mean_MB_per_second"]
    moved = sum(result.moved_bytes for result in outcome.results)
    assert moved / (took_s - between_s) / MIB == pytest.approx(stated, rel=1e-3)
    assert (
        outcome.measured["benchmark_samples_per_s"]
        == SUMMARY["metric"]["train_throughput_mean_samples_per_second"]
    )
    ratios = SUMMARY["metric"]["train_au_percentage"]
    assert outcome.measured["accelerator_ratio"] == pytest.approx(sum(ratios) / 500)


def test_hosts_have_equal_shares_under_names_of_the_first_or_the_users() -> None:
    results = present(the_run().outcome).results
    assert [result.host for result in results] == ["c-lmo1017-1", "c-lmo1017-2", "c-lmo1017-3"]
    assert max(r.operations_count for r in results) - min(r.operations_count for r in results) <= 1
    named = present(the_run(Told("r", ("a", "b", "c"))).outcome)
    assert [result.host for result in named.results] == ["a", "b", "c"]
    assert DERIVED.equal_shares(program="DLIO").id in {doubt.id for doubt in named.doubts}
    assert "2 clients are named" in the_run(Told("r", ("a", "b"))).failure


def test_times_are_local_to_the_zone() -> None:
    here, there = (
        present(the_run(Told("r", zone=zone)).outcome).began_s for zone in ("UTC", "America/Chicago")
    )
    assert there - here == 5 * 3600


def test_data_that_fit_in_memory_and_sizes_that_deviate_are_doubts() -> None:
    assert {d.id for d in present(the_run().outcome).doubts} >= {DERIVED.nominal_samples(deviating=True).id}
    cached = with_summary(lambda s: s.update(potential_caching=[0, 1, 0]))
    assert DERIVED.fits_in_memory() in present(cached.outcome).doubts
    assert DERIVED.fits_in_memory() not in present(the_run().outcome).doubts


def test_accelerators_and_options_make_runs_differ_and_places_do_not() -> None:
    assert the_run().operation == "read 3 x unet3d_h100"
    moved = the_run(config_yaml=TEXTS["config.yaml"].replace("unet3d_data", "/mnt/other"))
    assert (moved.details, moved.folder) == (the_run().details, "/mnt/other")
    threads = the_run(config_yaml=TEXTS["config.yaml"].replace("read_threads: 14", "read_threads: 15"))
    assert threads.details != the_run().details
    assert the_run(overrides_yaml="").operation == "read 3 x unet3d"


# What is refused


def of_time(at: str) -> Change:
    return lambda epochs: epochs["2"]["block1"].update(start=at)


POOR: list[tuple[Change, str]] = [
    (lambda s: s.update(num_files_eval=5), "also evaluated"),
    (lambda s: s["metric"].update(eval_au_percentage=[90.0]), "also evaluated"),
    (lambda s: s["metric"]["train_au_percentage"].pop(), "utilisations of 4, rates of 5"),
    (lambda s: s.update(num_accelerators=0), "whole batch"),
    (lambda s: s.update(num_accelerators=2.5), "no whole number"),
    (lambda s: s.pop("num_files_train"), "num_files_train"),
    (lambda s: s["metric"].pop("train_throughput_mean_samples_per_second"), "mean_samples_per_second"),
    (lambda s: s["metric"]["train_throughput_samples_per_second"].append("1"), "'1'"),
    (lambda s: s.pop("hostname"), "hostname"),
]


@pytest.mark.parametrize(("change", "fault"), POOR)
def test_a_summary_that_does_not_say_enough_is_refused(change: Change, fault: str) -> None:
    with pytest.raises(WorkloadError, match=fault):
        with_summary(change)


MISTIMED: list[tuple[Change, str]] = [
    (of_time("2024-08-21T04:29:00.000000"), "not in order"),
    (of_time("2024-08-21 04:31:05"), "no time of day"),
    (lambda e: e["2"].pop("block1"), "no block"),
    (lambda e: e.pop("3"), "times of 4 epochs"),
    (
        lambda e: e["2"].update(ckpt1={"start": "2024-08-21T04:33:00.0", "end": "2024-08-21T04:34:00.0"}),
        "checkpoints while it read",
    ),
]


@pytest.mark.parametrize(("change", "fault"), MISTIMED)
def test_times_that_do_not_fit_are_refused(change: Change, fault: str) -> None:
    with pytest.raises(WorkloadError, match=fault):
        with_epochs(change)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("workload:", "work:", "no table workload"),
        ("batch_size: 7", "batch_size: many", "reader.batch_size is 'many'"),
        ("record_length: 146600628", "length: 1", "record_length"),
        ("epochs: 5", "epochs: 5\n    total_training_steps: 100", "total_training_steps"),
        ("format: npz", "format: [npz", "YAML is damaged"),
        ("format: npz", "format: npz\n    secret_access_key: hunter2", "key of an object store"),
        ("workload:", "a: &a [1]\nb: *a\nworkload:", "aliases"),
        ("format: npz", f"format: {'[' * 1000}{']' * 1000}", "nested too deeply|damaged"),
    ],
)
def test_a_configuration_that_does_not_say_enough_is_refused(old: str, new: str, fault: str) -> None:
    with pytest.raises(WorkloadError, match=fault):
        the_run(config_yaml=TEXTS["config.yaml"].replace(old, new, 1))


@pytest.mark.parametrize(
    ("absent", "fault"),
    [("config.yaml", "size of a sample"), ("per_epoch_stats.json", "when its epochs were")],
)
def test_a_folder_without_a_file_is_refused_with_what_it_would_say(absent: str, fault: str) -> None:
    with pytest.raises(WorkloadError, match=f"{fault}.*whole folder"):
        read("mlperf", {name: text for name, text in TEXTS.items() if name != absent}, Told("r"))


def test_rates_that_the_times_contradict_make_a_failed_run() -> None:
    def double(s: Any) -> None:
        s["metric"]["train_throughput_mean_samples_per_second"] *= 2

    run = with_summary(double)
    assert run.outcome is None
    assert "perjoule audit" in run.failure


def test_the_hosts_of_v05_are_named_by_the_user() -> None:
    assert "name them" in with_summary(lambda s: s.pop("num_hosts")).failure
    summary_of = {key: value for key, value in SUMMARY.items() if key != "num_hosts"}
    (run,) = read("mlperf", {**TEXTS, "summary.json": json.dumps(summary_of)}, Told("r", ("a",)))
    assert [result.host for result in present(run.outcome).results] == ["a"]


# Folders


def test_a_real_result_is_five_repetitions_that_verify(tmp_path: Path) -> None:
    copied(tmp_path / "HPE")
    results = importing.create(tmp_path / "into")
    read_sources, strange = sources([str(tmp_path / "HPE")], "UTC")
    brought = importing.bring(results, read_sources, zone_assumed="UTC")
    assert [record.trial.repetition for record in brought.records] == [1, 2, 3, 4, 5]
    assert {record.trial.workload.label for record in brought.records} == {"mlperf read 3 x unet3d_h100"}
    assert all(TIMES.zone_assumed(zone="UTC") in record.doubts for record in brought.records)
    assert [path.name for path in strange] == ["mlperf_storage_report.json"]
    assert not verification.verify(results).differences
    (cell,) = summary(results).cells
    assert cell.metrics["benchmark_samples_per_s"].mean == pytest.approx(
        58.61283167521858
    )  # as the report states
    assert not any(key.endswith("_per_j") or "energy" in key for key in cell.metrics)
    again = importing.bring(results, read_sources)
    assert (len(again.records), again.known_count) == (0, 5)


def test_folders_of_each_round_are_read(tmp_path: Path) -> None:
    (first,) = imported(tmp_path / "third", of_third_round(tmp_path / "acme"))
    old = copied(tmp_path / "old") / RESULT / "run-1"
    (old / "configs").rename(old / ".hydra")
    (second,) = imported(tmp_path / "of-old", old)
    assert present(first.outcome).results == present(second.outcome).results


def test_code_of_a_submission_is_not_read(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    shutil.copytree(folder / RESULT / "run-1", folder / "code/tests/run")
    assert len(sources([str(folder)], "UTC")[0]) == len(RUNS)


def test_a_run_whose_files_are_damaged_costs_only_itself(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    path = folder / RESULT / "run-3/per_epoch_stats.json"
    path.write_text(path.read_text()[:500])
    brought = importing.bring(importing.create(tmp_path / "into"), sources([str(folder)], "UTC")[0])
    assert len(brought.records) == 4
    assert str(folder / RESULT / "run-3") in brought.unread[0][1]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"metric": {"save_checkpoint_io_mean_GB_per_second": 13.3}}', "a checkpoint of MLPerf Storage"),
        (TEXTS["summary.json"], "import the whole folder"),
        ("time,Total,3.3V,12V\n0,2.5,0.1,2.4\n", "nvme-energy-bench, whose times"),
    ],
)
def test_what_can_not_be_read_is_named(tmp_path: Path, content: str, what: str) -> None:
    (tmp_path / "a.txt").write_text(content)
    assert what in why_not(tmp_path / "a.txt")


# Nameplates


def test_power_of_the_description_is_kept_as_a_rating_and_is_no_energy(tmp_path: Path) -> None:
    (record,) = imported(tmp_path / "into", of_third_round(tmp_path / "acme"))
    measured = present(record.outcome).measured
    assert (measured["nameplate_w"], measured["design_w"]) == (4 * 2 * 2000 + 2 * 500, 4 * 2000 + 2 * 500)
    results = importing.create(tmp_path / "into")
    (cell,) = summary(results).cells
    rate = cell.metrics["throughput_bytes_per_s"].mean
    assert cell.metrics["bytes_per_s_per_nameplate_w"].mean == pytest.approx(rate / 17000)
    assert not any("_j" in key or key in ("mean_w", "idle_w") for key in cell.metrics)
    assert not verification.verify(results).differences


def test_an_import_says_what_a_rating_is(tmp_path: Path) -> None:
    read_sources: tuple[Source, ...] = sources([str(of_third_round(tmp_path / "acme"))], "UTC")[0]
    (line,) = rated(read_sources)
    assert "acme: 17.0 kW on nameplates, of which 9.0 kW must be active" in line
    assert not list(rated(sources([str(copied(tmp_path / "HPE"))], "UTC")[0]))


def test_supplies_that_differ_leave_what_must_be_active_open() -> None:
    text = described().replace(
        "        - {unit_count: 2, inlet_voltage: 240, nameplate_power_watts: 2000, efficiency: Platinum}",
        "        - {unit_count: 1, nameplate_power_watts: 2000}\n        - {unit_count: 1, nameplate_power_watts: 1200}",
    )
    power = system_power(text)
    assert power.nameplate_w == 4 * 3200 + 1000
    assert power.design_w() == (4 * 1200 + 1000, 4 * 2000 + 1000)


def test_supplies_are_not_counted_one_by_one() -> None:
    """A file of a stranger's may state more than fit into the memory."""
    power = system_power(described().replace("{unit_count: 2, inlet", "{unit_count: 1000000000000, inlet"))
    assert power.design_w() == (4 * 2000 + 1000, 4 * 2000 + 1000)


def test_a_description_without_all_supplies_rates_nothing(tmp_path: Path) -> None:
    text = described().replace(
        "min_psus_active: 2\n      psus_configured:", "min_psus_active: 2\n      other:"
    )
    (record,) = imported(tmp_path / "into", of_third_round(tmp_path / "acme", text))
    assert not {"nameplate_w", "design_w"} & present(record.outcome).measured.keys()


def test_more_active_supplies_than_there_are_fail_the_run(tmp_path: Path) -> None:
    (record,) = imported(
        tmp_path / "into", of_third_round(tmp_path / "acme", described().replace("active: 1", "active: 3", 1))
    )
    assert record.reason == "N1: 3 of 2 power supplies are to be active"


def test_a_changed_summary_is_another_run(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    imported(tmp_path / "into", folder)
    changed(folder / RESULT / "run-1/summary.json", lambda s: s.update(num_files_train=27000))
    assert len(imported(tmp_path / "into", folder)) == 1
