"""The command that installs what is missing, where perjoule runs."""

import sys
from pathlib import Path

import pytest

from perjoule.machine.installing import installs


def test_a_package_is_installed_into_the_environment_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python3"))
    monkeypatch.chdir(tmp_path)
    assert installs("perjoule[figures]") == ".venv/bin/pip install 'perjoule[figures]'"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert installs("mfusepy") == f"{tmp_path}/.venv/bin/pip install mfusepy"
    elsewhere.rmdir()
    assert installs("mfusepy") == f"{tmp_path}/.venv/bin/pip install mfusepy"
    monkeypatch.setattr(sys, "executable", "/opt/my tools/bin/python3")
    assert installs("mfusepy") == "'/opt/my tools/bin/pip' install mfusepy"
