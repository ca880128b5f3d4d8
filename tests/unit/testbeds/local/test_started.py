"""Where programs of this machine start: not in the folder of a campaign, which a stranger may have filled."""

import sys
from pathlib import Path

import pytest

from perjoule.testbeds.local import Local, LocalHost
from places import ROOT


def test_programs_take_nothing_from_the_folder_that_perjoule_was_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "colorsys.py").write_text("raise SystemExit('a module of theirs')\n")
    (tmp_path / "host").mkdir()
    monkeypatch.chdir(tmp_path)
    host = LocalHost(tmp_path / "host")
    argv = [sys.executable, "-c", "import colorsys, os; print(os.getcwd())"]
    assert host.run(argv, timeout_s=30).stdout == "/\n"
    spawned = host.spawn(argv, log=Path("log"))
    assert spawned.wait(timeout_s=30) == 0
    assert (tmp_path / "log").read_text() == spawned.output() == "/\n"


def test_a_work_folder_is_where_its_path_leads_from_the_folder_that_perjoule_was_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    with Local(work="below").hold(1) as hosts:
        host = hosts.clients[0]
        assert host.directory.parent == tmp_path / "below"
        host.put("x", host.directory / "file")
        assert host.run(["cat", host.directory / "file"], timeout_s=10).stdout == "x"


def test_no_python_that_we_start_takes_modules_from_where_it_starts() -> None:
    lines = [
        line
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if "[sys.executable, " in line or "sys.executable,\n" in f"{line}\n"
    ]
    assert len(lines) >= 5
    assert [line for line in lines if '[sys.executable, "-P", ' not in line] == []
