"""`make check` runs every gate and names those that fail."""

import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

# Instead of the gates' own programs: each says what it was asked, and fails where it is to.
GATE = """#!/bin/sh
echo "ran ${0##*/} $*"
case " $FAILING " in *" ${0##*/} "*) exit 1;; esac
"""


@pytest.mark.parametrize(
    ("failing", "code", "summary"),
    [
        ("", 0, ""),
        ("ruff codespell", 2, "failed gates:\n  ruff check\n  ruff format --check\n  codespell\n"),
        ("basedpyright", 2, "failed gates:\n  basedpyright\n"),
    ],
)
def test_every_gate_runs_and_those_that_fail_are_named_at_the_end(
    tmp_path: Path, failing: str, code: int, summary: str
) -> None:
    for name in ("ruff", "basedpyright", "lint-imports", "codespell", "python"):
        (tmp_path / name).write_text(GATE)
        (tmp_path / name).chmod(0o755)
    argv = ["make", "--old-file=.venv/ready-for-development", f"BIN={tmp_path}", "check"]
    environment = {"PATH": "/usr/bin:/bin", "FAILING": failing}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.partition("make")[0] == summary
    assert done.stdout.count("\nran ") == 6
    assert done.stdout.endswith("ran python setup/threat_model.py\n")


def test_codespell_reads_the_files_that_are_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    places = ("README.md", "docs/page.md", "src/module.py", "tests/test_it.py", ".cache/page.md")
    for place in places:
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text("recieve\n")
    argv = [Path(sys.executable).with_name("codespell")]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert {line.partition(":")[0] for line in done.stdout.splitlines()} == {
        f"./{place}" for place in places[:3]
    }
