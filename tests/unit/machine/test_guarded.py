"""A folder is refused that another user could change or lead elsewhere, wherever on its way."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuse import lent
from perjoule.machine import guarded, removal
from perjoule.machine.scripts import BASH, GUARDED
from perjoule.machine.strangers import meddlers
from perjoule.testbeds.local import LocalHost, power

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be attacked by another user")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can write to, with the sticky bit."""
    folder = Path(tempfile.mkdtemp(prefix="open-"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def test_a_missing_folder_is_made_for_others_to_pass_through_alone_whatever_the_umask_is(
    open_folder: Path,
) -> None:
    before = os.umask(0o077)
    try:
        guarded.require(open_folder / "a" / "b", make=True)
    finally:
        os.umask(before)
    assert [(open_folder / name).stat().st_mode & 0o777 for name in ("a", "a/b")] == [0o711, 0o711]
    with pytest.raises(FileNotFoundError):
        guarded.require(open_folder / "c" / "d")
    assert not (open_folder / "c").exists()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o770])
def test_a_folder_that_others_can_write_to_is_refused_on_the_way_too(open_folder: Path, mode: int) -> None:
    (way := open_folder / "way").mkdir()
    way.chmod(mode)
    for place in (way, way / "below", way / ".." / "way" / "below"):
        with pytest.raises(
            PermissionError, match="other users can write to it, and it is not sticky"
        ) as caught:
            guarded.require(place, make=True)
        assert caught.value.filename == str(way)
    assert list(way.iterdir()) == []


@AS_ROOT
def test_a_folder_or_link_of_another_user_is_refused_and_a_link_of_roots_is_judged_by_where_it_leads(
    open_folder: Path,
) -> None:
    theirs, ours = open_folder / "theirs", open_folder / "ours"
    for folder in (theirs, ours):
        folder.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    (theirs / "roots").mkdir()
    for name, target in (
        ("good", ours),
        ("bad", theirs / "roots"),
        ("stranger", ours),
        ("loop", Path("loop")),
    ):
        (open_folder / name).symlink_to(target)
    os.chown(open_folder / "stranger", NOBODY, NOBODY, follow_symlinks=False)
    guarded.require(open_folder / "good" / "x", make=True)
    assert (ours / "x").is_dir()
    for place, what in (
        (theirs / "roots", "another user"),
        (open_folder / "bad", "another user"),
        (open_folder / "stranger", "link"),
    ):
        with pytest.raises(PermissionError, match=what):
            guarded.require(place, make=True)
    with pytest.raises(OSError, match="Too many levels"):
        guarded.require(open_folder / "loop")


@AS_ROOT
def test_no_scratch_folder_of_roots_is_made_or_removed_where_another_user_could_swap_it(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (theirs := open_folder / "theirs").mkdir()
    (theirs / "perjoule-local-0123abcd").mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    monkeypatch.setattr("tempfile.tempdir", str(theirs))
    with pytest.raises(PermissionError, match="belongs to another user"), removal.scratch("perjoule-local-"):
        pass
    assert removal.sweep() == ((), (f"{theirs}: belongs to another user, so nothing is removed there",))
    assert [path.name for path in theirs.iterdir()] == ["perjoule-local-0123abcd"]


def meddled(path: Path) -> str:
    """What a host says of a path that root would use; "" if no other user could change it."""
    argv = [*BASH, GUARDED, "perjoule-guarded", path]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20)
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr.strip()


@AS_ROOT
def test_a_host_names_each_folder_and_link_that_a_path_leads_through_and_another_user_could_change(
    open_folder: Path,
) -> None:
    theirs, safe, ours = open_folder / "theirs", open_folder / "safe", open_folder / "ours"
    for folder in (theirs, safe, safe / "below"):
        folder.mkdir()
    (theirs / "on").symlink_to(safe)
    for path in (theirs, theirs / "on"):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    ours.symlink_to(theirs / "on")  # leads through a folder of theirs, and out of it again
    for path in (ours, ours / "below", theirs / "on", theirs / "on/below"):
        assert meddled(path) == f"{theirs} belongs to another user (uid {NOBODY})"
    ours.unlink()
    ours.symlink_to("./safe/../safe/below/")
    assert [meddled(path) for path in (ours, ours / "..", Path("/"), open_folder)] == [""] * 4
    safe.chmod(0o777)
    assert meddled(ours) == f"{safe} can be written to by other users, and is not sticky"


@AS_ROOT
def test_a_host_that_can_not_follow_a_path_says_so(open_folder: Path) -> None:
    (open_folder / "a").symlink_to("b")
    (open_folder / "b").symlink_to("a")
    assert meddled(open_folder / "a").endswith("/a has too many links")
    assert "No such file" in meddled(open_folder / "missing/below")
    (strange := open_folder / "x\n0 41ed /").mkdir()
    assert meddled(strange).endswith("a control character in its name")


@AS_ROOT
@pytest.mark.timeout(30)
def test_what_another_user_has_mounted_is_not_taken_for_roots_whatever_it_says(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may say that root has all in it; this one says nothing, and so holds up whoever touches it."""
    (theirs := open_folder / "perjoule-power-0123abcd").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(open_folder))
    with lent(theirs):
        for place in (theirs, theirs / "below"):
            with pytest.raises(PermissionError, match="another user has mounted it") as caught:
                guarded.require(place)
            assert caught.value.filename == str(theirs)
            assert meddled(place) == f"{theirs} is what another user has mounted"
        assert removal.sweep() == ((), (f"{theirs}: another user has mounted it",))
        assert power.clean(LocalHost(open_folder)) == ([], [])
    with lent(theirs, uid=0):
        assert str(theirs) not in guarded.mounted_by_others()


@AS_ROOT
@pytest.mark.timeout(30)
def test_what_another_user_has_mounted_is_found_whatever_is_in_its_path(open_folder: Path) -> None:
    """The kernel writes a blank as three digits, which others may follow."""
    (theirs := open_folder / "disk 1 of \\7").mkdir()
    with lent(theirs):
        assert meddled(theirs / "below") == f"{theirs} is what another user has mounted"


@AS_ROOT
@pytest.mark.timeout(30)
def test_results_are_not_written_where_another_user_has_mounted_something(open_folder: Path) -> None:
    (theirs := open_folder / "theirs").mkdir()
    with lent(theirs):
        assert meddlers(theirs / "results") == f"another user has mounted {theirs}"
    assert meddlers(theirs / "results") == ""
