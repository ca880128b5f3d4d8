"""What `benchmarks/sigkill.py` kills is a campaign that perjoule takes, with as many trials as it counts."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import kills, sigkill
from perjoule import campaign
from perjoule.cli import cli
from sysfs import Sysfs


@pytest.mark.parametrize("name", sigkill.STUDIES)
def test_each_study_is_a_campaign(name: str, tmp_path: Path) -> None:
    plan = sigkill.STUDIES[name]
    Sysfs(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / f"{name}.toml").write_text(plan.text(tmp_path))
    asked = campaign.read(tmp_path / f"{name}.toml")
    words = [*plan.words, "--list"] if plan.trials_count is None else ["check"]
    done = CliRunner().invoke(cli, [*words, str(tmp_path / f"{name}.toml")])
    assert done.exit_code == 0, done.output
    assert (plan.trials_count or len(asked.trials)) == len(asked.trials)
    assert bool(asked.trials[0].events) == name.startswith("events")
    assert ("power" in tomllib.loads(asked.text)["testbed"]) == (name == "power")


def test_both_benchmarks_of_kills_read_journals_alike() -> None:
    assert kills.journal is sigkill.journal
