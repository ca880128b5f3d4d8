"""A meter's calibration: kept with the trial, refused from the future, and a doubt once it is old."""

import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from measured import measured
from perjoule import campaign, drivers
from perjoule.cli import cli
from perjoule.model import Campaign, Json, Spec
from perjoule.model.errors import CampaignError
from perjoule.report.methods import methods
from perjoule.simulators import gude
from perjoule.simulators._behaviour import Behaviour
from perjoule.views.content import Content

TODAY = datetime.now(UTC).date()
STATED = {"date": "2026-03-01", "laboratory": "PTB", "certificate": "42"}
TEXT = """
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
[[workload]]
kind = "simulated"
[[meter]]
kind = "gude"
address = "192.0.2.26"
[meter.calibration]
"""


def parsed(stated: str) -> Campaign:
    return campaign.parse(TEXT + stated, source="lab.toml")


def test_it_is_kept_in_the_trial_as_it_was_written() -> None:
    (trial, *_) = parsed('date = "2026-03-01"\nlaboratory = "PTB"\ncertificate = "42"').trials
    (spec,) = trial.meters
    assert spec.options["calibration"] == STATED
    (plain,) = campaign.parse(TEXT.replace("[meter.calibration]", ""), source="lab.toml").trials[0].meters
    assert "calibration" not in plain.options


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        (f'date = "{TODAY + timedelta(days=2)}"', "has not come yet"),
        ('date = "2026-03-01"\ndue = "2026-03-01"', "is not after its calibration on 2026-03-01"),
        ('date = "March"', "date"),
        ('laboratory = "PTB"', "date"),
        ('date = "2026-03-01"\nwhere = "PTB"', "where"),
    ],
)
def test_what_can_not_be_is_refused(stated: str, sentence: str) -> None:
    with pytest.raises(CampaignError, match=sentence):
        parsed(stated)


def test_results_of_a_machine_whose_clock_was_ahead_are_still_read() -> None:
    later = {"calibration": {"date": str(TODAY + timedelta(days=99))}, "address": "192.0.2.26"}
    assert drivers.meter(Spec("gude", later))


@pytest.mark.parametrize(
    ("passed_days", "due_days", "doubts"),
    [(729, None, 0), (731, None, 1), (400, 399, 1), (4000, -1, 0)],  # due so many days ago
)
def test_an_old_one_is_a_doubt_of_each_recording(listen, passed_days, due_days, doubts):
    due = {} if due_days is None else {"due": str(TODAY - timedelta(days=due_days))}
    stated: dict[str, Json] = {"date": str(TODAY - timedelta(days=passed_days)), **due}
    with gude.serve(Behaviour()) as table:
        heard = listen({**table, "rate": "20 Hz", "calibration": stated}, lambda heard: heard.samples)
    assert [doubt.id for doubt in heard.doubts] == ["meters.calibration_old"] * doubts
    assert all(f"gude: calibrated on {stated['date']}" in doubt for doubt in heard.doubts)


def test_report_show_and_artifact_say_when_by_whom_and_the_certificate(tmp_path: Path) -> None:
    with gude.serve(Behaviour()) as table:
        meter = f"""kind = "gude"
            address = "{table["address"]}"
            rate = "20 Hz"
            calibration = {{date = "2026-03-01", laboratory = "PTB", certificate = "42"}}"""
        results = measured(tmp_path / "results", 'settle = "50 ms"', meter=meter)
    text = "2026-03-01 by PTB (certificate 42)"
    assert f'The meter "gude" was calibrated on {text}.' in " ".join(methods(Content(results)))
    shown = CliRunner().invoke(cli, ["show", str(results.folder), "--budget"], catch_exceptions=False)
    assert f'meter "gude": calibrated {text}' in shown.output
    target = tmp_path / "artifact.zip"
    words = ["export", str(results.folder), "--artifact", str(target)]
    assert CliRunner().invoke(cli, words, catch_exceptions=False).exit_code == 0
    with zipfile.ZipFile(target) as packed:
        lines = packed.read("README.md").decode().splitlines()
    tables = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    column = next(line.index("calibrated") for line in tables if "calibrated" in line)
    assert {line[column] for line in tables if line[1:2] == ["gude"]} == {text}
