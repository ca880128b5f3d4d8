"""`perjoule show --doubts`: each doubt with its trials, and the command that measures just those again."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from measured import measured
from perjoule.cli import cli
from perjoule.model.errors import CampaignError
from perjoule.store import open_results

GAPS = 'kind = "simulated"\nwaveform = "constant"\nrate = "200 Hz"\ngap = 0.3'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two repetitions, read by a meter that leaves out many samples."""
    return measured(tmp_path / "results", "repetitions = 2", meter=GAPS).folder


def typed(*words: str | Path) -> str:
    outcome = CliRunner().invoke(cli, [*map(str, words)], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def test_the_trials_with_a_doubt_are_named_and_the_command_measures_just_those_again(folder: Path) -> None:
    attempts = {record.trial.id: record.attempt for record in open_results(folder).latest()}
    text = typed("show", folder, "--doubts")
    (line,) = re.findall(r"measure these again: (perjoule resume .*)", text)
    again = [word.removeprefix("--trial=") for word in shlex.split(line) if word.startswith("--trial=")]
    assert again and set(again) <= attempts.keys()
    assert all(f"    {trial}: " in text for trial in again)
    typed("resume", folder, f"--trial={again[0]}")
    assert {record.trial.id: record.attempt for record in open_results(folder).latest()} == {
        trial: number + (trial == again[0]) for trial, number in attempts.items()
    }


def test_what_another_tool_measured_is_not_to_be_measured_again(tmp_path: Path) -> None:
    fio = Path(__file__).parents[1] / "transcripts/imported/joined/client-1.json"
    typed("import", tmp_path / "results", fio)
    text = typed("show", tmp_path / "results", "--doubts")
    assert "    " in text and "measure these again" not in text
    with pytest.raises(CampaignError, match="imported"):
        typed("resume", tmp_path / "results")


def test_a_trial_that_is_not_of_the_campaign_is_refused(folder: Path) -> None:
    outcome = CliRunner().invoke(cli, ["resume", str(folder), "--trial", "nfs-r1"])
    assert outcome.exit_code != 0
    with pytest.raises(Exception, match='no trial "nfs-r1"'):
        CliRunner().invoke(cli, ["resume", str(folder), "--trial", "nfs-r1"], catch_exceptions=False)
