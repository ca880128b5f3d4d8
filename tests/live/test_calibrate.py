"""A calibration on a real MooseFS, small: what it measures teaches a profile, which predicts what was
measured.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from perjoule import campaign, prediction
from perjoule.campaign.making import calibration
from perjoule.cli import cli

pytestmark = pytest.mark.live


def said(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(cli, list(map(str, words)))
    assert done.exit_code == code, done.output
    return done.output


@pytest.mark.slow  # by day: shipped points are fitted again: tests/command/test_predict.py
def test_a_calibration_is_resumed_fitted_and_predicts_its_own_points(tmp_path: Path) -> None:
    file, results = tmp_path / "calibration.toml", tmp_path / "results"
    text = calibration.written(["moosefs"], repetitions=2, scale=0.4)
    for long, short in (("[1, 2, 4]", "[1, 2]"), ("[1.0, 0.5]", "1.0")):
        assert long in text
        text = text.replace(long, short)
    file.write_text(text)
    assert len(campaign.read(file).trials) == 2 * 2 * 2 * 2
    said("run", file, "--into", results, "--set", "repetitions=1")
    told = said("calibrate", "--from", results, "--profiles", tmp_path)
    # On a busy machine counters are read too seldom to know a load's CPU time, and a point without it teaches
    # nothing.
    ((checked, count),) = re.findall(
        r"bytes of networks and disks are those of the layout in (\d) of (\d) points", told
    )
    assert 2 <= int(checked) <= int(count) <= 8, told
    few = prediction.read((tmp_path / "moosefs.json").read_text(), "few")
    assert len(few.points) == int(count)
    assert few.emulated
    assert few.data_roles == ("storage",)

    ask = (
        "predict",
        tmp_path / "moosefs.json",
        "--on",
        "odroid-hc4",
        "--size",
        "128 MiB",
        "--clients",
        "1,2",
        "--virtual",
    )
    pledge = tmp_path / "pledge.json"
    said(*ask, "--pledge", pledge)
    assert "4 trials had begun before the pledge" in said("ledger", pledge, "--with", results)
    again = tmp_path / "again"
    said("run", file, "--into", again, "--set", "repetitions=1", "--set", "testbed.server_disk=1.0")
    held = CliRunner().invoke(cli, ["ledger", str(pledge), "--with", str(again)])
    # whether a band holds is not promised of a single repetition
    assert held.exit_code in (0, 1), held.output
    assert re.search(r"of [1-4] bands hold what was measured", held.output), held.output
