"""`perjoule check --connect` and `perjoule doctor CAMPAIGN` say what each meter of a campaign answers, or why not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perjoule import simulators
from perjoule.model.waveform import Waveform

PERJOULE = [sys.executable, "-m", "perjoule"]
CAMPAIGN = """
[testbed]
kind = "local"
[[filesystem]]
kind = "directory"
path = "{path}"
[[workload]]
kind = "fio"
operation = "write"
size = "64 MiB"
[[meter]]
kind = "system"
[[meter]]
kind = "shelly"
address = "{address}"
covers = ["local"]
[[meter]]
kind = "shelly"
name = "dead"
address = "127.0.0.1:9"
covers = ["local"]
"""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["check", "--connect"], "meter shelly dead"),
        pytest.param(["doctor"], "1 requirement not met", marks=pytest.mark.slow),
    ],
)
def test_each_meter_says_what_it_shows_or_why_it_does_not_answer(
    tmp_path: Path, command: list[str], said: str
) -> None:
    file = tmp_path / "mine.toml"
    with simulators.serve("shelly", simulators.Behaviour(Waveform("constant", 42.0, 42.0, 10.0))) as table:
        text = CAMPAIGN.format(path=tmp_path, address=table["address"])
        alone = text[: text.rindex("[[meter]]")]
        answers: list[subprocess.CompletedProcess[str]] = []
        for content in (text, alone):
            file.write_text(content)
            argv = [*PERJOULE, *command, str(file)]
            answers.append(
                subprocess.run([*argv, "--json"], capture_output=True, text=True, timeout=120, check=False)
            )
    both, single = answers
    assert both.returncode == 3, both.stderr
    shown = {check["name"]: check for check in json.loads(both.stdout)["checks"]}
    alive = [check for name, check in shown.items() if name.startswith("meter shelly") and check["ok"]]
    assert [check["detail"] for check in alive] == ["shelly, 2.00 updates per second, now 42.00 W"]
    (dead,) = [check for name, check in shown.items() if name.startswith("meter") and not check["ok"]]
    assert "refused" in dead["detail"]
    assert said in both.stderr
    assert "meter" not in single.stderr
