"""Whoever may rename a results folder, or what is in it, puts something else in its place at the worst
moment.
"""

import os
import shutil
import stat
from pathlib import Path

import pytest

from perjoule import store
from perjoule.machine import locks, removal
from perjoule.machine.strangers import meddlers
from perjoule.model.errors import MachineError
from perjoule.store.ageing import new_ageing
from perjoule.store.disk import spoken
from perjoule.store.journal import sha256
from perjoule.store.patterns import new_pattern
from perjoule.store.place import entered, give, make_folders

TEXT = 'name = "demo"\n'


@pytest.fixture
def results(tmp_path):
    return store.create(tmp_path / "demo", TEXT, "demo")


@pytest.fixture
def precious(tmp_path):
    """A folder and files that are not perjoule's, with their state."""
    folder = tmp_path / "precious"
    folder.mkdir(mode=0o700)
    for name in ("shadow", "record.json", "journal.jsonl", "x.json"):
        (folder / name).write_text("years\n")
    return folder


def state(folder):
    return {
        p.name: (p.stat().st_mode, p.read_text() if p.is_file() else "")
        for p in [folder, *sorted(folder.iterdir())]
    }


def swapped(results, precious):
    """Put a copy of a results folder in its place in which every file and folder is a link to somebody's;
    return the real one.
    """
    real = results.folder.rename(results.folder.with_name("moved"))
    for path in sorted(real.rglob("*")):
        copy = results.folder / path.relative_to(real)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and path.name.startswith("partial-"):
            copy.symlink_to(precious)
        elif path.is_dir() and not copy.parent.is_symlink():
            copy.mkdir(exist_ok=True)
        elif not copy.parent.is_symlink():
            copy.symlink_to(precious / "shadow")
    return real


def test_an_attempt_stays_in_the_folder_that_was_opened_whatever_is_put_in_its_place(results, precious, made):
    before = state(precious)
    with results.hold(), results.attempt(made.trial()) as attempt:
        real = swapped(results, precious)
        attempt.sink.append(made.channel(), 1.0, 42.0)
        (attempt.raw / "fio.json").write_text("{}")
        (attempt.logs / "daemon.log").write_text("ready\n")
        attempt.keep(made.record())
    assert state(precious) == before
    again = store.open_results(real)
    assert again.records() == (made.record(),)
    (entry,) = again.entries()
    folder = again.folder_of_attempt(entry.trial, entry.attempt)
    assert {name: sha256(folder / name) for name in entry.files} == entry.files
    assert sorted(entry.files) == ["raw/fio.json", "record.json", "series.parquet"]


def test_an_attempt_that_is_given_up_removes_nothing_of_what_is_put_in_its_place(results, precious, made):
    before = state(precious)
    with results.hold(), results.attempt(made.trial()):
        real = swapped(results, precious)
    assert state(precious) == before
    assert list((real / "trials").iterdir()) == []


def test_no_journal_line_is_appended_through_a_link_that_came_during_the_run(results, precious, made):
    before = state(precious)
    with results.hold(), results.attempt(made.trial()) as attempt:
        results.journal.unlink()
        results.journal.symlink_to(precious / "shadow")
        with pytest.raises(
            MachineError, match=r"demo: this is a symbolic link|journal\.jsonl: this is a symbolic link"
        ):
            attempt.keep(made.record())
    assert state(precious) == before


@pytest.mark.parametrize("kind", ["hard link", "pipe"])
def test_a_journal_that_is_a_hard_link_or_a_pipe_is_refused_at_once(results, precious, made, kind):
    before = state(precious)
    with results.hold(), results.attempt(made.trial()) as attempt:
        results.journal.unlink()
        if kind == "pipe":
            os.mkfifo(results.journal)
        else:
            results.journal.hardlink_to(precious / "shadow")
        with pytest.raises(MachineError):
            attempt.keep(made.record())
    assert state(precious) == before
    with pytest.raises(MachineError), results.hold():
        pass
    assert state(precious) == before


def test_the_permissions_of_a_link_in_the_place_of_an_attempt_do_not_change(results, precious, made):
    before = state(precious)
    with results.hold(), results.attempt(made.trial()) as attempt:
        attempt.partial.rename(attempt.partial.with_name("elsewhere"))
        attempt.partial.symlink_to(precious)
        with pytest.raises(MachineError, match="put in the place of the attempt's folder"):
            attempt.keep(made.record())
    assert state(precious) == before
    assert results.entries() == ()


def test_a_lock_that_is_a_hard_link_keeps_its_permissions(results, precious):
    (precious / "shadow").chmod(0o644)
    (results.folder / "lock").hardlink_to(precious / "shadow")
    with pytest.raises(MachineError, match="hard link"), results.hold():
        pass
    assert stat.S_IMODE((precious / "shadow").stat().st_mode) == 0o644
    os.mkfifo(precious / "pipe")
    with pytest.raises(OSError, match="pipe"):
        locks.opened(precious / "pipe")


@pytest.mark.parametrize("kind", ["alignment", "ageing"])
def test_samples_of_patterns_and_of_ageing_go_where_the_folder_was_opened(results, precious, kind):
    before = state(precious)
    with results.hold(), results.place() as place:
        real = swapped(results, precious)
        (results.folder / kind).symlink_to(precious)
        with new_pattern(place) if kind == "alignment" else new_ageing(place):
            pass
    assert state(precious) == before
    assert (real / kind / "1" / "series.parquet").exists()


@pytest.mark.parametrize("name", ["table.json", "joined/x.csv", "sub/deep/file.json"])
def test_what_is_put_into_a_folder_replaces_links_and_follows_none(results, precious, name):
    before = state(precious)
    path = results.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(precious / "shadow")
    path.with_name(f"{path.name}.partial").symlink_to(precious / "shadow")
    with results.place() as place:
        place.put(name, "ours")
    assert state(precious) == before
    assert path.read_text() == "ours" and not path.is_symlink()
    if "/" in name:
        shutil.rmtree(results.folder / Path(name).parts[0])
        (results.folder / Path(name).parts[0]).symlink_to(precious)
        with results.place() as place, pytest.raises(OSError, match="symbolic links"):
            place.put(name, "ours")
        assert state(precious) == before


def as_root(monkeypatch):
    """Decide as root would for whom the folders of this test belong to the user who called sudo."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(os.getuid()))


@pytest.mark.parametrize("step", ["hall", "hall/room", "hall/room/demo"])
def test_root_writes_no_results_where_others_may_rename_a_folder(tmp_path, monkeypatch, step):
    as_root(monkeypatch)
    (tmp_path / "hall" / "room").mkdir(parents=True)
    folder = tmp_path / "hall" / "room" / "demo"
    store.create(folder, TEXT, "demo")
    (tmp_path / step).chmod(0o777)
    for writes in (
        lambda: (
            store.create(folder.with_name("new"), TEXT, "demo")
            if "demo" not in step
            else make_folders(folder / "new")
        ),
        lambda: store.open_results(folder).hold().__enter__(),
        lambda: store.open_results(folder).keep_table(()),
    ):
        with pytest.raises(
            MachineError, match=f"all users may write to .*{step}, so root's results"
        ) as caught:
            writes()
        assert "choose a folder" in str(caught.value.next)
    assert not folder.with_name("new").exists()
    if step != "hall/room/demo":
        (tmp_path / step).chmod(0o1777)  # sticky: others can't rename what is ours
        with store.open_results(folder).hold():
            pass


def test_root_trusts_nobody_elses_folder_and_no_link_in_one(tmp_path, monkeypatch):
    as_root(monkeypatch)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs" / "link").symlink_to("../ours")
    assert meddlers(tmp_path / "theirs" / "link") == ""
    (tmp_path / "theirs").chmod(0o757)
    assert f"{tmp_path}/theirs" in meddlers(tmp_path / "theirs" / "link")
    assert meddlers(tmp_path / "ours") == ""
    monkeypatch.delenv("SUDO_UID")
    real = Path.stat

    def of_another(path, **words):
        found = real(path, **words)
        return os.stat_result((*found[:4], 4711, *found[5:10])) if path.name == "ours" else found

    monkeypatch.setattr(Path, "stat", of_another)
    if os.getuid() == 0:  # of nobody else's files does it ask
        assert "belongs to another user (uid 4711)" in meddlers(tmp_path / "ours")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(OSError, match="symbolic links"):
        meddlers(tmp_path / "round")


def test_each_folder_that_is_made_on_the_way_is_on_the_disk_before_the_next(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda fd: (synced.append(Path(f"/proc/self/fd/{fd}").readlink()), real(fd))[1]
    )
    make_folders(tmp_path / "a" / "b" / "c")
    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    synced.clear()
    store.create(tmp_path / "d" / "e", TEXT, "demo", files={"loads/deep/a.fio": "x"})
    for folder in (
        tmp_path,
        tmp_path / "d",
        tmp_path / "d" / "e",
        *(tmp_path / "d" / "e" / n for n in ("loads", "loads/deep")),
    ):
        assert folder in synced


def test_an_open_folder_is_named_in_messages_as_people_know_it(tmp_path):
    with entered(tmp_path) as place, pytest.raises(MachineError) as caught, spoken(place.through):
        (place.through / "missing" / "x").write_text("")
    assert str(caught.value.where) == str(tmp_path / "missing" / "x")
    assert removal.is_folder(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_sudo_gives_back_what_root_made_and_nothing_that_was_put_there(
    tmp_path, results, precious, made, monkeypatch
):
    monkeypatch.setenv("SUDO_UID", "65534")
    before = state(precious)
    with results.hold(), results.attempt(made.trial()) as attempt:
        attempt.keep(made.record())
    (results.folder / "hard").hardlink_to(precious / "shadow")
    (results.folder / "soft").symlink_to(precious / "shadow")
    (results.folder / "folder").symlink_to(precious)
    with entered(results.folder) as place:
        real = swapped(results, precious)
        give(place, 65534, 65534)
    assert state(precious) == before
    assert {p.stat().st_uid for p in (precious, *precious.iterdir())} == {0}
    assert {
        p.stat().st_uid for p in (real, *real.rglob("*")) if p.name not in ("hard", "soft", "folder")
    } == {65534}
    with entered(real) as place:
        (tmp_path / "open").mkdir()
        real.rename(tmp_path / "open" / "inside")
        (tmp_path / "open").chmod(0o1777)
        give(place, 65534, 65534, above_count=1)
    assert (tmp_path / "open").stat().st_uid == 0


def test_all_of_an_attempt_is_on_the_disk_before_its_line_in_the_journal_and_nothing_is_waited_for_twice(
    results, made, monkeypatch
):
    """What is not kept need not be durable: an import of 2000 files waited a third more often."""
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.fstat(fd).st_ino), real(fd))[1])
    with results.hold():
        synced.clear()
        with results.attempt(made.trial()) as attempt:
            (attempt.raw / "0").mkdir()
            (attempt.raw / "0" / "report.json").write_text("{}")
            attempt.keep(made.record())
    kept = results.folder_of(made.record())
    folders = (kept, kept.parent, kept.parent.parent)
    files = [path.stat().st_ino for path in (*kept.rglob("*"), *folders)]
    assert (kept / "record.json").stat().st_ino in files
    assert sorted(synced[:-1]) == sorted(files)
    assert synced[-1] == (results.folder / "journal.jsonl").stat().st_ino
