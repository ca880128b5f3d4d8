"""`perjoule measure`, through the installed command: the first number, what it keeps, and what it refuses."""

import re
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest

from documents import commands
from perjoule import campaign, simulators, store
from perjoule.model.waveform import Waveform
from places import ROOT

PERJOULE = [sys.executable, "-m", "perjoule"]
TUTORIAL = ROOT / "docs" / "tutorials" / "my-nas.md"


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def measure(*words: str, code: int = 0, within: Path | None = None) -> str:
    argv = [*PERJOULE, "measure", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=280, check=False, cwd=within)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def plug() -> Generator[str]:
    truth = simulators.Behaviour(Waveform("constant", 24.0, 24.0, 10.0))
    with simulators.serve("shelly", truth) as table:
        yield f"shelly://{table['address']}"


@pytest.mark.alone
def test_the_tutorials_folder_and_plug_give_mib_per_joule_and_a_campaign_that_run_repeats(
    tmp_path: Path,
) -> None:
    simulated, short, _, *_ = [shlex.split(line)[1:] for line in commands(TUTORIAL)]
    data, into, port = tmp_path / "data", tmp_path / "out", free_port()
    data.mkdir()
    assert simulated[:3] == ["meters", "simulate", "shelly"]
    plug = subprocess.Popen([*PERJOULE, *simulated[:-1], port], stdout=subprocess.PIPE, text=True)
    try:
        assert plug.stdout is not None
        assert plug.stdout.readline() == "[[meter]]\n"
        words = [word.replace(simulated[-1], port) for word in short[1:]]
        said = measure(*words, "--repetitions", "2", "--into", str(into), within=data)
    finally:
        plug.terminate()
        plug.communicate(timeout=30)
    assert re.search(r"meter +shelly://\S+, 2.00 Hz, answers in .*now .* W; idle .* W over 10 s", said)
    line = re.search(
        r"  write +(\S+).* MiB/s +(\S+).* W +(\S+).* MiB/J +\(wall; this machine with its disks\)", said
    )
    assert line, said
    rate, watts, per_j = map(float, line.groups())
    assert watts == pytest.approx(50, rel=0.1)  # a square wave between 40 and 60 W
    assert per_j == pytest.approx(rate / watts, rel=0.1)
    assert f"again: perjoule run {into}/campaign.toml" in said
    assert list(data.iterdir()) == []
    kept = (into / "campaign.toml").read_text()
    assert campaign.parse(kept).text == kept
    assert tomllib.loads(kept)["meter"][1] == {
        "kind": "shelly", "address": f"127.0.0.1:{port}", "covers": ["local"],
    }  # fmt: skip
    assert [record.status for record in store.open_results(into).latest()] == ["valid"] * 2


def test_what_cannot_be_measured_is_refused_before_anything_is_written(tmp_path: Path, plug: str) -> None:
    assert "PATH: the path is empty" in measure("", "--meter", plug, code=2)
    percent = measure(str(tmp_path), "--meter", f"{plug}?accuracy=1", code=2)
    assert 'accuracy = 1 is out of range; write accuracy = "1 %"' in percent
    assert "not a folder" in measure(__file__, "--meter", plug, code=3)
    assert "check its address" in measure(str(tmp_path), "--meter", "shelly://127.0.0.1:1", code=3)
    assert "no NAS takes part" in measure(str(tmp_path), "--meter", f"nas={plug}", code=2)
    refused = measure(str(tmp_path), "--meter", plug, "--seconds", "5", code=2)
    assert "a window of 5 s has only 10 of its updates, and 20 are needed" in refused
    assert "write --seconds 10," in refused
    assert list(tmp_path.iterdir()) == []
