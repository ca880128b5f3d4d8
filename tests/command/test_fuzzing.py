"""Inputs from outside, changed at random: nothing but perjoule's own errors, within 5 s and 500 MiB each."""

import subprocess
import sys

import pytest

from places import ROOT


def drawn(*words: str) -> None:
    argv = [sys.executable, str(ROOT / "benchmarks" / "fuzzing.py"), *words]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def test_some_inputs_of_each_kind() -> None:
    drawn("150", "--seconds", "60", "--seed", "1")


@pytest.mark.slow
def test_inputs_of_two_minutes() -> None:
    """The same ones each time, for a gate must not fail by chance; `benchmarks/fuzzing.py --seed N` draws others by hand."""
    drawn("--seconds", "110", "--seed", "2026")
