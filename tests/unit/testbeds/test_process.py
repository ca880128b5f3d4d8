"""How this machine drops its caches, on one that only seems to have ZFS."""

import os
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Completed
from perjoule.machine.caches import DROP_ZFS
from perjoule.model.errors import ProgramFailed, TimeLimit, WorkloadError
from perjoule.testbeds import _process


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(os, "sync", lambda: found.append("sync"))
    monkeypatch.setattr(Path, "write_text", lambda path, text: found.append(f"{text} > {path}"))
    return found


def test_the_page_cache_is_dropped_once_all_is_written_back(
    dropped: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_process, "loaded", lambda module: False)
    _process.drop_caches(where="client-1")
    assert dropped == ["sync", "3 > /proc/sys/vm/drop_caches"]


@pytest.mark.parametrize("code", [0, 1])
def test_zfs_is_emptied_where_it_is_loaded_or_says_why_not(
    code: int, dropped: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ran(lead: object, argv: list[str], **_: object) -> Completed:
        dropped.append("zfs" if argv == ["sh", "-c", DROP_ZFS] else "?")
        return Completed(tuple(argv), code, "", "ZFS keeps 9 bytes of buffers\n")

    monkeypatch.setattr(_process, "loaded", lambda module: module == "zfs")
    monkeypatch.setattr(_process, "run", ran)
    if code:
        with pytest.raises(
            WorkloadError, match=r"^client-1: can't empty ZFS's caches: ZFS keeps 9 bytes of buffers$"
        ):
            _process.drop_caches(where="client-1")
    else:
        _process.drop_caches(where="client-1")
    assert dropped == ["sync", "3 > /proc/sys/vm/drop_caches", "zfs"]


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (("weed", "shell", "-master=a", "-filer=b"), "weed shell -master=a"),
        (("env", "PATH=/opt/bin", "LD_LIBRARY_PATH=/opt/lib", "weed", "version"), "weed version"),
        (
            ("setpriv", "--reuid=nobody", "--clear-groups", "env", "HOME=/x", "weed", "a", "b", "c"),
            "weed a b",
        ),
        (("env", "PATH=/opt/bin"), "env PATH=/opt/bin"),
    ],
)
def test_an_error_names_the_program_and_not_what_runs_it(argv: tuple[str, ...], shown: str) -> None:
    with pytest.raises(ProgramFailed, match=f"^client-1: {shown} ended with 1: no$"):
        _process.judged(Completed(argv, 1, "", "no\n"), where="client-1", check=True, late_s=None)
    with pytest.raises(TimeLimit, match=f"^client-1: {shown.split()[0]} .* 2 s$"):
        _process.judged(Completed(argv, 0, "", ""), where="client-1", check=True, late_s=2.0)
