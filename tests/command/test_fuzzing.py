"""Inputs from outside, changed at random: nothing but perjoule's own errors, within 5 s and 500 MiB each."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzing.targets import RAW, Targets, raw_files, write_files
from perjoule import drivers
from perjoule.model import Spec
from places import ROOT


def drawn(*words: str) -> None:
    argv = [sys.executable, str(ROOT / "benchmarks" / "fuzzing.py"), *words]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def test_some_inputs_of_each_kind() -> None:
    drawn("150", "--seconds", "60", "--seed", "1")


def test_no_kind_is_rare() -> None:
    weights = Targets.weights()
    assert min(weights.values()) > 0.005 * sum(weights.values())


@pytest.mark.parametrize("name", RAW)
def test_a_raw_folder_is_accepted_until_it_is_changed(name: str, tmp_path: Path) -> None:
    """Otherwise changes would only be refused for what is wrong without them."""
    write_files(tmp_path, raw_files(name))
    outcome = drivers.workload(Spec(*RAW[name])).outcome(tmp_path)
    assert outcome.results
    assert ("latency" in {one.channel.quantity for one in outcome.series}) == (name == "fio/late")


@pytest.mark.slow  # by day: some inputs, above
def test_it_ends_with_its_counts_and_leaves_nothing_when_it_is_stopped(tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "benchmarks" / "fuzzing.py"), "--only", "day"]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "seed 1, from input 0\n"
        process.terminate()
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "inputs of seed 1: 0 different findings" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_inputs_of_two_minutes() -> None:
    """The same ones each time, for a gate must not fail by chance; `benchmarks/fuzzing.py --seed N` draws
    others by hand.
    """
    drawn("--seconds", "110", "--seed", "2026")
