"""`perjoule plan`: the table, JSON, the page, and a campaign that measures a candidate."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perjoule import campaign
from perjoule.cli import cli
from perjoule.cli.exits import exit_code
from places import EXAMPLES, ROOT

NEED = EXAMPLES / "needs" / "archive.toml"


def said(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(cli, ["plan", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.stdout


def test_the_table_names_a_pick_for_each_aim_and_describes_the_one_with_least_regret() -> None:
    text = said(NEED)
    for words in (
        "candidates",
        "energy",
        "money",
        "carbon",
        "throughput",
        "least regret of those that meet the need in 90 % of the draws or more, candidate",
        "MJ per TB-year",
        "kJ per TiB moved",
    ):
        assert words in text


def test_json_has_the_documented_keys_and_values_with_bands() -> None:
    found = json.loads(said(NEED, "--json"))
    page = (ROOT / "docs/reference/json.md").read_text()
    (lines,) = re.findall(r"^- `plan`:\n((?: .*\n)+)", page, re.MULTILINE)
    listed = re.findall(r"^  - (`[^:]+):", lines, re.MULTILINE)
    assert {*found} - {"format", "version"} == set(re.findall(r"`(\w+)`", " ".join(listed)))
    for row in found["rows"]:
        for key, band in row["values"].items():
            assert band["low"] <= band["high"], key
    assert found["nearest"] is None and found["moves"] == []


@pytest.mark.slow  # by day: one process: tests/unit/planning/test_answer.py
def test_the_same_need_has_the_same_answer_in_every_process() -> None:
    """Draws go by the order of the values, which must not follow that of a set."""
    argv = [Path(sys.executable).with_name("perjoule"), "plan", NEED, "--json"]
    run = functools.partial(subprocess.run, argv, capture_output=True, check=True, timeout=60)
    first, second = (run(env={**os.environ, "PYTHONHASHSEED": seed}).stdout for seed in ("1", "2"))
    assert first == second


@pytest.mark.slow  # by day: tests/unit/planning/test_answer.py
def test_an_impossible_need_says_which_limit_to_move_and_exits_with_one(tmp_path: Path) -> None:
    need = tmp_path / "need.toml"
    need.write_text(NEED.read_text().replace('"400 MiB/s"', '"10 GiB/s"').replace('"800 W"', '"20 W"'))
    text = said(need, code=1)
    assert "nearest: " in text and "raise clients from 8 to 10 and raise limits.power from 20 W to " in text
    found = json.loads(said(need, "--json", code=1))
    assert found["rows"] == [] and found["nearest"]["server"]
    assert said(need, "--page", tmp_path / "plan.html", code=1)
    written = (tmp_path / "plan.html").read_text()
    assert "None of" in written and "No single limit to move; any of these together:" in written
    assert said(need, "--candidate", 1, "--write", tmp_path / "c.toml", code=1) == text
    assert not (tmp_path / "c.toml").exists()


@pytest.mark.slow  # by day: of one candidate, below
def test_a_candidate_becomes_a_campaign_for_real_hosts(tmp_path: Path) -> None:
    found = json.loads(said(NEED, "--json"))["rows"]
    for row in {row["filesystem"]: row for row in found}.values():
        said(NEED, "--candidate", row["id"], "--write", tmp_path / "c.toml")
        asked = campaign.read(tmp_path / "c.toml")
        hosts: Any = asked.trials[0].testbed.options["hosts"]
        roles = [host["role"] for host in hosts]
        assert roles.count("storage") == row["servers_count"]
        assert len(roles) - roles.count("client") == row["servers_count"] + row["further_hosts_count"]
        assert {trial.filesystem.kind for trial in asked.trials} == {row["filesystem"]}
        assert not campaign.impossible(asked)


def test_a_campaign_for_real_hosts_has_a_table_of_a_meter_to_fill_in(tmp_path: Path) -> None:
    said(NEED, "--candidate", 1, "--write", tmp_path / "c.toml")
    text = (tmp_path / "c.toml").read_text()
    assert {meter.kind for trial in campaign.parse(text).trials for meter in trial.meters} == {"system"}
    rest, mark, table = text.partition("# [[meter]]\n")
    filled = rest + "".join(line.removeprefix("# ") for line in (mark + table).splitlines(keepends=True))
    meters = {
        (meter.kind, meter.options["address"])
        for trial in campaign.parse(filled).trials
        for meter in trial.meters
    }
    assert meters == {("snmp_pdu", "192.0.2.40")}
    assert not campaign.impossible(campaign.parse(filled))


def test_a_candidate_of_catalogued_boards_becomes_a_campaign_on_virtual_hosts(tmp_path: Path) -> None:
    need = tmp_path / "need.toml"
    need.write_text(NEED.read_text() + '\n[choose]\nservers = ["odroid-hc4"]\n')
    said(need, "--candidate", 1, "--write", tmp_path / "c.toml", "--scale", 0.1)
    asked = campaign.read(tmp_path / "c.toml")
    assert asked.trials[0].testbed.kind == "virtual"
    assert "The virtual hosts are those of odroid-hc4" in " ".join(
        (tmp_path / "c.toml").read_text().replace("#", "").split()
    )


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--candidate", "99999"], "and no number 99999"),
        (["--write", "c.toml"], "a campaign measures one candidate"),
    ],
)
def test_a_wrong_request_is_refused(words: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(lambda: cli.main(["plan", str(NEED), *words], standalone_mode=False)) == 2
    assert what in capsys.readouterr().err
