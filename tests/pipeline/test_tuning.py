"""Whole tunings on simulated hosts, where the best setting is known."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from perjoule import campaign, store
from perjoule.cli import cli
from perjoule.model.errors import CampaignError, PerjouleError, WorkloadError
from perjoule.workloads.simulated import SimulatedLoad as SimulatedLoad
from places import EXAMPLES

QUICK = ("--set", "settle=5 ms")
TUNE = ("tune", str(EXAMPLES / "tune.toml"), "--for", "MiB/J", "--trials", "20", *QUICK)


def tuned(into: Path, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*TUNE, *words, "--into", str(into), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def said(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def folders(into: Path) -> list[Path]:
    return sorted(path.parent for path in into.glob("*/results.json"))


def kept(into: Path) -> list[str]:
    return [line for folder in folders(into) for line in (folder / "journal.jsonl").read_text().splitlines()]


def options(into: Path, name: str) -> set[object]:
    """All values of an option that any trial had."""
    records = (record for folder in folders(into) for record in store.open_results(folder).latest())
    return {record.trial.filesystem.options.get(name) for record in records}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    into = tmp_path_factory.mktemp("tuning") / "known"
    return into, tuned(into)


def test_it_finds_the_known_optimum_and_proves_it_with_fresh_trials(
    done: tuple[Path, dict[str, Any]],
) -> None:
    into, found = done
    assert found["changes"] == {"threads": 8}
    assert found["better"]
    assert found["gain"]["low"] <= 1.1 <= found["gain"]["high"] * 1.005
    assert found["gain"]["ratio"] == pytest.approx(1.1, rel=0.02)
    assert [one["matters"] for one in found["importance"] if one["option"] == "threads"] == ["matters"]
    last = campaign.read(into / "final" / "campaign.toml")
    labels = [trial.filesystem.label for trial in last.trials]
    assert len(labels) == 2 * found["repetitions_count"]
    assert all({*labels[n : n + 2]} == {"default", "tuned"} for n in range(0, len(labels), 2))  # in turns


def test_it_measures_no_more_than_it_may_and_everything_once(done: tuple[Path, dict[str, Any]]) -> None:
    into, found = done
    trials = [json.loads(line) for line in kept(into)]
    assert len(trials) == found["trials_count"] <= 20
    assert all(one["attempt"] == 1 and one["status"] == "valid" for one in trials)
    for folder in folders(into):
        own = [json.loads(line)["trial"] for line in (folder / "journal.jsonl").read_text().splitlines()]
        assert len(own) == len(set(own))


def test_each_round_is_a_results_folder_like_any_other(done: tuple[Path, dict[str, Any]]) -> None:
    into, _ = done
    for folder in folders(into):
        for command in ("show", "verify", "report", "resume"):
            assert said(command, str(folder)).exit_code == 0, (command, folder)
    compared = said("compare", str(into / "final"), "--between", "default", "tuned", "--metric", "MiB/J")
    assert "significantly better than default" in compared.output


def test_the_tuned_campaign_is_the_users_with_the_setting(done: tuple[Path, dict[str, Any]]) -> None:
    into, found = done
    text = (into / "tuned.toml").read_text()
    assert text.startswith("# Tuned by `perjoule tune` for MiB/J: threads = 8: MiB/J 1.")
    before, after = (tomllib.loads(one) for one in ((EXAMPLES / "tune.toml").read_text(), text))
    assert after["filesystem"] == [{**before["filesystem"][0], "threads": 8}]
    assert {key: after[key] for key in ("name", "seed", "testbed", "meter")} == {
        key: before[key] for key in ("name", "seed", "testbed", "meter")
    }
    assert campaign.parse(text).trials
    assert found["campaign"] == str(into / "tuned.toml")


def test_the_same_command_again_measures_nothing_and_says_the_same(done: tuple[Path, dict[str, Any]]) -> None:
    into, found = done
    before = kept(into)
    assert tuned(into) == found
    assert kept(into) == before
    other = said(*TUNE, "--only", "threads", "--into", str(into))
    assert isinstance(other.exception, CampaignError)
    assert "a tuning of another campaign, or with other options" in str(other.exception)


def test_a_killed_tuning_continues_and_loses_nothing(
    done: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    into = tmp_path / "killed"
    argv = [str(Path(sys.executable).with_name("perjoule")), *TUNE, "--into", str(into)]
    for least_count in (3, 9):  # in the first round, and in a later one
        process = subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        while len(kept(into) if into.exists() else []) < least_count and process.poll() is None:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        before = kept(into)
        assert len(before) >= least_count
    resumed = said("resume", str(into))
    assert resumed.exit_code == 0, resumed.output
    assert set(before) <= set(kept(into))
    assert len(kept(into)) <= 20
    for folder in folders(into):
        own = [json.loads(line)["trial"] for line in (folder / "journal.jsonl").read_text().splitlines()]
        assert len(own) == len(set(own))
    assert "threads = 8: MiB/J 1.1" in resumed.output


def test_without_an_effect_it_says_no_gain_and_keeps_the_default(tmp_path: Path) -> None:
    found = tuned(tmp_path / "none", "--set", "filesystem.gain=0 %")
    assert not found["better"]
    assert found["sentence"].startswith("no gain: ")
    assert found["sentence"].endswith("keep the default")
    assert not (tmp_path / "none" / "tuned.toml").exists()
    assert found["campaign"] is None


@pytest.mark.slow  # by day: tests/unit/tuning/test_declared.py
def test_durability_is_given_up_only_if_allowed_and_then_named_in_the_same_line(
    done: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    assert options(done[0], "journal") == {None}
    allowed = tmp_path / "allowed"
    done_too = said(*TUNE, "--allow-less-durable", "--trials", "30", "--into", str(allowed))
    assert done_too.exit_code == 0, done_too.output
    line = next(line for line in done_too.stdout.splitlines() if "times the default's" in line)
    assert 'journal = "fast" (may lose: the last writes)' in line
    row = next(line for line in done_too.stdout.splitlines() if line.startswith("journal "))
    assert '"fast" (may lose: the last writes)' in row, "nor as the best value of an option"
    head = (allowed / "tuned.toml").read_text().partition("\n\n")[0]
    assert 'journal = "fast" (may lose: the last writes)' in " ".join(head.replace("#", "").split())


@pytest.mark.slow  # by day: no effect, above
def test_a_limit_of_the_power_that_no_setting_keeps_leaves_the_default(tmp_path: Path) -> None:
    words = [
        *TUNE[:2],
        "--for",
        "MiB/s",
        "--within",
        "1 W",
        *TUNE[4:],
        "--into",
        str(tmp_path / "limit"),
        "--json",
    ]
    done_too = said(*words)
    assert done_too.exit_code == 0, done_too.output
    found = json.loads(done_too.stdout)
    assert not found["better"]
    assert "not surely within 1 W; keep the default" in found["sentence"]


@pytest.mark.slow  # by day: one load of one client, above
def test_it_measures_every_workload_and_number_of_clients_for_each_setting(tmp_path: Path) -> None:
    into = tmp_path / "both"
    found = tuned(into, "--set", "clients=[1, 2]", "--trials", "22", "--only", "threads")
    assert found["trials_count"] <= 22
    for folder in folders(into):
        of: dict[str, set[int]] = {}
        for record in store.open_results(folder).latest():
            of.setdefault(record.trial.filesystem.label, set()).add(record.trial.clients_count)
        assert set(map(frozenset, of.values())) == {frozenset({1, 2})}


@pytest.mark.parametrize(
    ("words", "kind", "sentence"),
    [
        (
            ("--set", "filesystem.failure=daemon"),
            WorkloadError,
            "the campaign's own setting failed, so there is nothing to compare",
        ),
        (("--set", "clients=[1, 2]", "--trials", "19"), CampaignError, "19 trials are too few"),
        (
            ("--set", "filesystem.throughput=['50 MiB/s', '60 MiB/s']"),
            CampaignError,
            "stands for 2 file systems",
        ),
        (
            ("--set", "testbed.servers=[2, 3]"),
            CampaignError,
            "the campaign has 2 testbeds, but a setting is tuned on one",
        ),
        (("--filesystem", "cephfs"), CampaignError, "0 of its file systems are called cephfs"),
    ],
)
def test_what_cannot_be_tuned_is_reported_in_one_sentence(
    words: tuple[str, ...], kind: type[PerjouleError], sentence: str, tmp_path: Path
) -> None:
    found = said(*TUNE, *words, "--into", str(tmp_path / "wrong"))
    assert isinstance(found.exception, kind)
    assert sentence in str(found.exception)


def test_a_metric_that_is_not_measured_says_why(tmp_path: Path) -> None:
    before = (EXAMPLES / "tune.toml").read_text().partition("\n[[meter]]")[0]
    (tmp_path / "dark.toml").write_text(before + '\n[[meter]]\nkind = "system"\nrate = "50 Hz"\n')
    words = ["tune", str(tmp_path / "dark.toml"), *TUNE[2:], "--into", str(tmp_path / "dark")]
    found = said(*words)
    assert isinstance(found.exception, CampaignError)
    assert "MiB/J was not measured" in str(found.exception)
    assert "tune for another metric with --for, or add a meter" in str(found.exception)


@pytest.mark.slow  # by day: what cannot be tuned, above
def test_a_default_that_failed_is_measured_again_when_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = tmp_path / "results"
    with monkeypatch.context() as broken:

        def refused(*_: object) -> None:
            raise WorkloadError("the load is broken", where="client-1")

        broken.setattr(SimulatedLoad, "prepare", refused)
        with pytest.raises(WorkloadError, match=r"own setting failed.*the load is broken") as why:
            CliRunner().invoke(cli, [*TUNE, "--into", str(into)], catch_exceptions=False)
    assert f"perjoule resume {into} --failed" in str(why.value)
    with pytest.raises(WorkloadError, match="own setting failed"):
        CliRunner().invoke(cli, ["resume", str(into)], catch_exceptions=False)
    fixed = CliRunner().invoke(cli, ["resume", str(into), "--failed"], catch_exceptions=False)
    assert fixed.exit_code == 0, fixed.output
    assert (into / "tuned.toml").exists()
