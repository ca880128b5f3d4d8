"""`benchmarks/attacks.py` tells a promise that held from one that was broken, and runs as a whole in `make
slow`.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from attacks import table
from attacks.table import Attack
from day import by_day
from places import ROOT

PROGRAM = ROOT / "benchmarks" / "attacks.py"


def test_a_broken_promise_is_named_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(room: Path) -> str:
        raise OSError("no such host")

    broken = Attack("b", "q", lambda room: "root's file was overwritten")
    tried = [Attack("a", "p", lambda room: ""), broken, Attack("c", "r", crash)]
    monkeypatch.setattr(table, "attacks", lambda: iter(tried))
    assert table.main([], "") == 1
    lines = capsys.readouterr().out
    assert "root's file was overwritten" in lines and "OSError: no such host" in lines
    assert "3 of 3 attacks tried: 1 held, 2 broken" in lines
    assert table.main(["--only", "a"], "") == 0
    assert table.main(["--only", "a", "--seconds", "-1"], "") == 1


def test_each_test_that_makes_an_attack_exists() -> None:
    named = [attack.run.path for attack in table.attacks() if isinstance(attack.run, table.Tests)]
    assert len(named) > 8
    assert [path for path in named if not (ROOT / "tests" / path).is_file()] == []


@pytest.mark.parametrize("word", by_day(["a campaign: a", "formulas"], "formulas"))
def test_some_attacks_hold(word: str) -> None:
    argv = [sys.executable, PROGRAM, "--only", word]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_all_attacks_hold() -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM], capture_output=True, text=True, timeout=3600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
