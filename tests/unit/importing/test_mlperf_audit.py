"""The audit of submissions to MLPerf Storage: a real one agrees, and each way to be wrong is found by its rule."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from perjoule.importing.mlperf_audit import submitted_to_mlperf
from perjoule.importing.mlperf_power import audit_system
from perjoule.papers.audit import AuditVerdict
from unit.importing.mlperf_folders import RESULT, RUNS, changed, copied, described, of_third_round

NAME = "Cray_C500_4xHDR200_3hosts: 3 x unet3d_h100"
REPORT = f"{RESULT}/mlperf_storage_report.json"
Change = Callable[[Any], object]


def disagreeing(verdicts: Sequence[AuditVerdict]) -> dict[str, str]:
    """Rules that something breaks, with the likely cause or what it says."""
    return {v.rule: v.cause or v.recomputed for v in verdicts if v.kind == "disagrees"}


def test_a_real_submission_agrees_with_itself(tmp_path: Path) -> None:
    audited = submitted_to_mlperf(copied(tmp_path / "HPE"))
    assert set(audited) == {NAME, REPORT, "HPE"}
    assert [v for verdicts in audited.values() for v in verdicts if v.kind != "agrees"] == []
    assert len(audited[NAME]) == len(RUNS) * 8 + 1


def metric(**values: object) -> Change:
    return lambda summary: summary["metric"].update(values)


CONTRADICTIONS: list[tuple[Change, str, str]] = [
    (metric(train_au_mean_percentage=92.5), "the mean of the epochs", ""),
    (
        metric(train_io_mean_MB_per_second=8174.38159509819 * 1.048576),
        "throughput = samples/s x size of a sample",
        "MB printed as MiB",
    ),
    (
        metric(train_au_percentage=[80.0] * 5, train_au_mean_percentage=80.0),
        "utilisation >= what the benchmark requires",
        "",
    ),
    (
        metric(train_au_percentage=[85.0] * 5, train_au_mean_percentage=85.0),
        "samples/s <= utilisation x what accelerators compute",
        "",
    ),
    (
        metric(train_throughput_samples_per_second=[66.0] * 5, train_throughput_mean_samples_per_second=66.0),
        "samples/s = samples of the data set / time of the epochs, to 5 %",
        "some end early",
    ),
    (lambda s: s.update(num_files_train=10000), "an epoch has 500 batches", ""),
    (lambda s: s.update(host_memory_GB=[400.0] * 3), "data set >= 5 x memory of the hosts", ""),
]


@pytest.mark.parametrize(("change", "rule", "cause"), CONTRADICTIONS)
def test_each_contradiction_is_found_by_its_rule(
    tmp_path: Path, change: Change, rule: str, cause: str
) -> None:
    folder = copied(tmp_path / "HPE")
    changed(folder / RESULT / "run-2/summary.json", change)
    broken = disagreeing(submitted_to_mlperf(folder)[NAME])
    assert rule in broken
    assert cause in broken[rule]


def test_a_limit_below_that_of_the_rules_does_not_count(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    config = folder / RESULT / "run-2/configs/config.yaml"
    config.write_text(config.read_text().replace("au: 0.9", "au: 0.5"))
    changed(
        folder / RESULT / "run-2/summary.json",
        metric(train_au_percentage=[80.0] * 5, train_au_mean_percentage=80.0),
    )
    assert "utilisation >= what the benchmark requires" in disagreeing(submitted_to_mlperf(folder)[NAME])


def test_a_run_that_was_withdrawn_changed_or_added_is_named(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    shutil.rmtree(folder / RESULT / "run-4")
    audited = submitted_to_mlperf(folder)
    assert disagreeing(audited[NAME]) == {
        "a result is the mean of 5 runs": "runs were withdrawn, or are not here"
    }
    (missing,) = [v for v in audited[REPORT] if v.kind == "disagrees"]
    assert missing.what == "run-4"
    assert "changed, or withdrawn" in missing.recomputed
    shutil.copytree(folder / RESULT / "run-3", folder / RESULT / "run-6")
    changed(folder / RESULT / "run-6/summary.json", metric(train_throughput_mean_samples_per_second=58.5))
    later = {v.what: v.recomputed for v in submitted_to_mlperf(folder)[REPORT] if v.kind == "disagrees"}
    assert "came later" in later["run-6"]


def test_a_report_whose_mean_is_not_that_of_its_runs_disagrees(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    changed(folder / REPORT, lambda r: r["overall"].update(train_throughput_mean_samples_per_second=60.0))
    assert "the mean of the runs" in disagreeing(submitted_to_mlperf(folder)[REPORT])


def test_a_damaged_run_or_report_can_not_be_checked_and_says_why(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    (folder / RESULT / "run-1/configs/config.yaml").unlink()
    (folder / REPORT).write_text("{}")
    audited = submitted_to_mlperf(folder)
    (verdict, *_) = audited["Cray_C500_4xHDR200_3hosts: unreadable"]
    assert (verdict.kind, "size of a sample" in verdict.cause) == ("unchecked", True)
    assert audited[REPORT][0].cause == "it has no 'runs'"


def test_systems_without_results_or_description_are_named(tmp_path: Path) -> None:
    folder = copied(tmp_path / "HPE")
    (folder / "systems/gone.pdf").write_text("")
    (folder / "results/new").mkdir()
    found = {v.place: v.recomputed for v in submitted_to_mlperf(folder)["HPE"] if v.kind == "disagrees"}
    assert found.keys() == {"gone", "new"}
    assert found["gone"].startswith("results/gone is absent")
    assert found["new"].startswith("systems/new is absent")


def test_nothing_of_mlperf_is_nothing_to_audit(tmp_path: Path) -> None:
    assert submitted_to_mlperf(tmp_path) == {}
    (tmp_path / "summary.json").write_text("{}")
    assert submitted_to_mlperf(tmp_path) == {}


# Power


def of_power(text: str) -> dict[str, AuditVerdict]:
    return {verdict.what: verdict for verdict in audit_system(text, "acme.yaml")}


def test_redundant_power_supplies_that_are_counted_are_found(tmp_path: Path) -> None:
    folder = of_third_round(tmp_path / "ACME")
    (verdicts,) = [v for name, v in submitted_to_mlperf(folder).items() if name.endswith("acme.yaml")]
    (power,) = [v for v in verdicts if v.what == "provisioned power"]
    assert (power.kind, power.printed, power.recomputed) == ("disagrees", "17.0 kW", "9.0 kW")
    assert "only replace others" in power.cause
    needed = described().replace("min_psus_active: 1\n        psus", "min_psus_active: 2\n        psus", 1)
    assert of_power(needed)["provisioned power"].kind == "agrees"


def test_clients_that_hold_the_storage_and_are_left_out_are_found() -> None:
    for location, kind in (
        ("local", "disagrees"),
        ("remote_and_local", "disagrees"),
        ("remote", "unchecked"),
    ):
        clients = of_power(described(location=location))["clients"]
        assert clients.kind == kind
        assert "11 clients left out, 22.0 kW on nameplates" in clients.recomputed + clients.cause


def test_rack_units_that_do_not_add_up_are_found() -> None:
    assert of_power(described())["rack units"].kind == "agrees"
    wrong = of_power(described().replace("total_rack_units: 9", "total_rack_units: 11"))["rack units"]
    assert (wrong.kind, wrong.printed, wrong.recomputed) == ("disagrees", "11", "9")


def test_storage_without_watts_is_found_where_it_has_any() -> None:
    def without(**kind: str) -> AuditVerdict:
        text = described(**kind)
        return of_power(text[: text.index("  product_nodes")] + text[text.index("  clients") :])[
            "provisioned power"
        ]

    assert "not listed" in without().recomputed
    assert "a cloud" in without(deployment="cloud").cause
    assert "the clients hold" in without(location="local").cause


def test_impossible_and_damaged_descriptions_are_named() -> None:
    impossible = of_power(described().replace("active: 1", "active: 3", 1))["provisioned power"]
    assert impossible.recomputed == "N1: 3 of 2 power supplies are to be active"
    (damaged,) = audit_system(described().replace("quantity: 11", "quantity: some"), "a.yaml")
    assert (damaged.kind, damaged.cause) == (
        "unchecked", "clients[1].quantity is 'some', and no number that is 0 or more"
    )  # fmt: skip
