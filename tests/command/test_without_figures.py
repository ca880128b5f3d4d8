"""A host that only measures, without what draws or fits: it says so before a run, and the report is written
later.
"""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perjoule.cli import cli, measuring
from perjoule.figures import rendering
from perjoule.machine.installing import installs
from perjoule.model.errors import MachineError
from perjoule.prediction import solving
from places import EXAMPLES

FIX = installs("perjoule[figures]")
CAMPAIGN = EXAMPLES / "simulated.toml"


def ran(*words: object, code: int = 0) -> Result:
    done = CliRunner().invoke(cli, [*map(str, words)])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(rendering, "find_spec", lambda name: None)
    return monkeypatch


def test_a_run_says_beforehand_that_it_writes_none_and_keeps_all_numbers(
    without: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    done = ran("run", CAMPAIGN, "--set", "repetitions=1", "--into", results)
    assert "a run writes none" in done.stderr.splitlines()[1]
    assert f"{FIX}, and then, here or elsewhere: perjoule report {results}" in done.stdout
    assert (results / "table.json").exists() and not (results / "report.html").exists()
    assert " 0 differ" in ran("verify", results).stdout
    without.undo()
    ran("report", results)
    assert (results / "report.html").exists()


def test_check_and_doctor_name_what_lacks_and_the_line_that_installs_it(without: pytest.MonkeyPatch) -> None:
    for words in (("doctor", "--all"), ("doctor", CAMPAIGN)):
        done = ran(*words)
        assert "vl-convert" in done.stdout and FIX in done.stdout


def test_what_can_only_draw_is_refused_with_the_line_that_installs_it(without: pytest.MonkeyPatch) -> None:
    with pytest.raises(rendering.MachineError, match="vl-convert: it is not installed") as raised:
        rendering.javascript()
    assert raised.value.next == FIX
    with pytest.raises(rendering.MachineError, match="vl-convert"):
        rendering.svg({})


@pytest.mark.parametrize("words", [("--from", "moosefs"), ("moosefs", "glusterfs")])
def test_profiles_are_refused_before_anything_is_measured_and_predictions_need_no_fit(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(solving, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measuring, "measured", None)  # a test of what refuses to begin never does
    with pytest.raises(MachineError, match=r"^scipy: it is not installed") as raised:
        cli.main(["calibrate", *words], standalone_mode=False)
    assert raised.value.next == solving.FIX
    assert not [*tmp_path.iterdir()]
    ran("predict", "moosefs", "--on", "odroid-hc4")
