"""What `--json` prints: one object, with the keys that docs/reference/json.md lists for the command, and
only what JSON has.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from measured import STEADY, measured
from perjoule.cli import cli
from perjoule.cli.terminal.json_output import plain
from places import EXAMPLES, ROOT

LISTED = re.compile(r"^- `([^`]+)`:\n((?: .*\n)+)", re.MULTILINE)
KEYS = re.compile(r"^  - (`[^:]+):", re.MULTILINE)
ROW = re.compile(r"A row of `show` has ([^.]+)\.")


def documented(command: str) -> set[str]:
    text = (ROOT / "docs" / "reference" / "json.md").read_text()
    return {
        key
        for listed, lines in LISTED.findall(text)
        if listed == command
        for keys in KEYS.findall(lines)
        for key in re.findall(r"`(\w+)`", keys)
    }


def refused(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


Said = Callable[..., dict[str, Any]]


@pytest.fixture
def said() -> Said:
    """Run a command with `--json`, and read what it prints as a strict reader does."""

    def run(*words: object, code: int = 0) -> dict[str, Any]:
        done = CliRunner().invoke(cli, [*map(str, words), "--json"])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout, parse_constant=refused)

    return run


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured(tmp_path_factory.mktemp("json") / "once", "repetitions = 1", meter=STEADY).folder


def test_show_has_all_metrics_of_all_rows(said: Said, results: Path) -> None:
    found = said("show", results)
    assert (found["format"], found["version"]) == ("perjoule show", 2)
    assert {*found} - {"format", "version"} == documented("show")
    row = found["rows"][0]
    listed = ROW.search((ROOT / "docs" / "reference" / "json.md").read_text())
    assert listed is not None
    assert {*row} == set(re.findall(r"`(\w+)`", listed[1]))
    energy, power = row["metrics"]["energy_j"], row["metrics"]["mean_w"]
    assert (energy["unit"], power["unit"]) == ("J", "W")
    assert energy["mean"] == pytest.approx(power["mean"] * row["metrics"]["duration_s"]["mean"])
    assert energy["high"] is None  # one repetition has no interval
    assert energy["values"] == [energy["mean"]]
    assert found["budgets"][0]["energy_j"] == pytest.approx(energy["mean"])


def test_show_lists_failed_trials_with_the_id_of_the_error(said: Said, tmp_path: Path) -> None:
    failing = '2 MiB"\nfail_at = 2\nfailure = "stable'
    results = measured(tmp_path / "results", "repetitions = 2", size=failing)
    _, record = results.records()
    failed = said("show", results.folder)["failed"]
    assert failed == [{"trial": record.trial.id, "id": "workload", "reason": record.reason}]


def test_an_error_is_the_object_where_there_is_nothing_else_to_print(said: Said, tmp_path: Path) -> None:
    found = said("show", tmp_path / "absent", code=1)
    assert (found["format"], found["id"]) == ("perjoule error", "machine")
    assert {*found} - {"format", "version"} == documented("error")
    assert str(tmp_path / "absent") in found["where"]


def test_show_prints_all_views_or_one(results: Path) -> None:
    done = CliRunner().invoke(cli, ["show", str(results), "--json", "--winners"])
    assert done.exit_code != 0
    assert json.loads(done.stdout)["id"] == "campaign"


def test_a_check_lists_what_a_campaign_costs(said: Said) -> None:
    found = said("check", EXAMPLES / "simulated.toml")
    assert {*found} - {"format", "version"} == documented("check")
    assert found["moved_bytes"] == sum(trial["moved_bytes"] for trial in found["trials"]) > 0
    assert {trial["clients_count"] for trial in found["trials"]} == {1, 2}
    assert found["missing"] == []


def test_a_check_lists_what_this_machine_lacks(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (missing,) = said("check", EXAMPLES / "local.toml")["missing"]
    assert (missing["name"], missing["ok"], missing["needed"]) == ("fio", False, True)
    assert missing["fix"] == "apt-get install fio"
    # the code of any error here
    assert missing in said("check", EXAMPLES / "local.toml", "--connect", code=1)["checks"]


def test_verify_names_what_differs(said: Said, results: Path, tmp_path: Path) -> None:
    found = said("verify", results)
    assert {*found} - {"format", "version"} == documented("verify")
    assert found["differences"] == []
    copied = shutil.copytree(results, tmp_path / "changed")
    record = next((copied / "trials").rglob("record.json"))
    record.write_text(record.read_text().replace("valid", "Valid", 1))
    differences = said("verify", copied, code=1)["differences"]
    assert any("record.json" in one for one in differences)


def test_verify_of_several_has_each_by_its_folder(said: Said, results: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    found = said("verify", results, absent, code=3)
    assert {*found} - {"format", "version"} == documented("verify DIR DIR")
    verified, missing = found["results"]
    assert verified.pop("folder") == str(results)
    assert {*verified} == documented("verify")
    assert (missing["folder"], missing["error"]["id"]) == (str(absent), "machine")


def test_doctor_says_of_each_kind_whether_it_is_ready(said: Said) -> None:
    found = said("doctor", EXAMPLES / "simulated.toml")
    assert {*found} | {"ready", "left_out"} == {"format", "version"} | documented("doctor")
    assert all(one["ok"] for one in found["checks"] if one["needed"])


def test_a_comparison_has_the_values_of_both_sides(said: Said, results: Path, tmp_path: Path) -> None:
    again = shutil.copytree(results, tmp_path / "again")
    found = said("compare", results, again, "--any-change")
    assert {*found} - {"format", "version"} == documented("compare")
    assert found["rows"][0]["before"] == found["rows"][0]["after"]
    assert found["rows"][0]["high"] is None  # one repetition has no interval


@pytest.mark.parametrize(
    ("words", "command", "lacking"),
    [
        (("papers",), "papers", {"paper", "numbers", "figures"}),
        (("papers", "green-storage"), "papers", {"papers"}),
        (("audit", "cubieboard"), "audit", set[str]()),
        (("meters", "list"), "meters list", set[str]()),
    ],
)
def test_others_have_the_keys_that_are_documented(
    said: Said, words: tuple[str, ...], command: str, lacking: set[str]
) -> None:
    found = said(*words)
    assert {*found} - {"format", "version"} == documented(command) - lacking
    assert found["format"] == f"perjoule {command}"


def test_what_json_lacks_is_null() -> None:
    assert plain({"a": [float("inf"), float("nan"), 1.5], "b": (Path("x"), {"y"})}) == {
        "a": [None, None, 1.5],
        "b": ["x", ["y"]],
    }


def test_a_tuning_says_what_it_found_and_what_it_would_try(said: Said, tmp_path: Path) -> None:
    tuning = ("tune", EXAMPLES / "tune.toml", "--for", "MiB/J", "--only", "threads", "--set", "settle=5 ms")
    listed = said(*tuning, "--list")
    assert {*listed} - {"format", "version"} == documented("tune --list")
    assert [(one["option"], one["values"], one["default"]) for one in listed["options"]] == [
        ("threads", [1, 2, 4, 8, 16], 4)
    ]
    found = said(*tuning, "--trials", 10, "--into", tmp_path / "tuned")
    assert {*found} - {"format", "version"} == documented("tune")
    assert {"option", "best", "worst", "ratio", "matters", "may_lose"} == {*found["importance"][0]}
