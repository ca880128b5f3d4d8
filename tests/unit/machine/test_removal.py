"""What is removed, and what is never."""

import fcntl
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from perjoule.machine import removal
from perjoule.machine.removal import MARK, mark, remove_folder, scratch, sweep
from places import ROOT, SOURCES

KILLED = """
import os, sys
from pathlib import Path
from perjoule.machine.removal import scratch
with scratch(sys.argv[1], Path(sys.argv[2])) as folder:
    (folder / "x").write_text("x")
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def ours(tmp_path):
    folder = tmp_path / "ours"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_text("x")
    mark(folder)
    return folder


@pytest.fixture
def theirs(tmp_path):
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years")
    return folder


# The one that removes; NFS's client, whose methods bear FUSE's names and remove what its users do on the
# server; and the programs that age a file system and that lay out a training job's data set, which delete files
# that they wrote themselves, on clients.
OWN_WORDS = ("machine/removal.py", "nfs/mount.py", "_ageing/files.py", "_ranks/dataset.py")


def test_nothing_else_in_the_code_removes_files_or_folders():
    removing = re.compile(r"\b(rmtree|unlink|rmdir|removedirs|os\.remove)\(")
    sources = {path: path.read_text() for path in SOURCES.rglob("*.py") if not str(path).endswith(OWN_WORDS)}
    assert [str(path) for path, text in sources.items() if removing.search(text)] == []


def test_all_folders_for_a_while_are_scratch_folders_that_a_sweep_knows():
    """What a killed perjoule leaves in the temporary directory is found by its name."""
    texts = {path: path.read_text() for path in SOURCES.rglob("*.py")}
    making = re.compile(r"\b(mkdtemp|mkstemp|TemporaryDirectory|NamedTemporaryFile)\(")
    assert [path.name for path, text in texts.items() if making.search(text)] == ["removal.py"]
    named = re.compile(r"\bscratch\(\"(.+?)\"")
    benchmarks = (path.read_text() for path in (ROOT / "benchmarks").glob("*.py"))
    assert {name for text in (*texts.values(), *benchmarks) for name in named.findall(text)} == set(
        removal.SCRATCH
    )


def test_a_marked_folder_goes_with_all_that_is_in_it(ours):
    assert remove_folder(ours) == ()
    assert not ours.exists()
    assert remove_folder(ours) == ()


def test_a_folder_without_our_mark_stays_unless_it_is_empty(theirs, tmp_path):
    assert remove_folder(theirs) == (theirs,)
    assert (theirs / "thesis.tex").exists()
    (tmp_path / "empty").mkdir()
    assert remove_folder(tmp_path / "empty") == ()


def test_a_link_or_a_folder_in_the_place_of_a_mark_is_none(ours, theirs):
    for path in (theirs / MARK, theirs / "other"):
        path.symlink_to(ours / MARK)
    assert remove_folder(theirs) == (theirs,)
    (theirs / MARK).unlink()
    (theirs / MARK).mkdir()
    assert remove_folder(theirs) == (theirs,)


def test_links_go_and_what_they_lead_to_stays(ours, theirs, tmp_path):
    (ours / "a" / "link").symlink_to(theirs)
    (ours / "file").symlink_to(theirs / "thesis.tex")
    assert remove_folder(ours) == ()
    assert (theirs / "thesis.tex").read_text() == "years"
    mark(theirs)
    (tmp_path / "link").symlink_to(theirs)
    assert remove_folder(tmp_path / "link") == (tmp_path / "link",)
    assert (theirs / "thesis.tex").exists()


def test_the_mark_goes_last_and_stays_while_anything_else_does(ours, monkeypatch):
    unlink, gone = os.unlink, []

    def stubborn(name, **words):
        gone.append(name)
        if name == "file" and gone.count("file") == 1:
            raise PermissionError
        unlink(name, **words)

    (ours / "z").write_text("")
    monkeypatch.setattr(os, "unlink", stubborn)
    assert remove_folder(ours) == (ours / "a" / "b" / "file",)
    assert (ours / MARK).exists()
    assert remove_folder(ours) == ()
    assert gone[-1] == MARK


def test_a_removal_that_is_killed_anywhere_can_go_on(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    unlink = os.unlink
    for after_count in range(3):
        folder = tmp_path / str(after_count)
        folder.mkdir()
        (folder / "one").write_text("")
        mark(folder)
        done = []

        def some(name, done=done, after_count=after_count, **words):
            if len(done) == after_count:
                raise Killed
            done.append(name)
            unlink(name, **words)

        monkeypatch.setattr(os, "unlink", some)
        if after_count < 2:
            with pytest.raises(Killed):
                remove_folder(folder)
        monkeypatch.setattr(os, "unlink", unlink)
        assert remove_folder(folder) == ()
        assert not folder.exists()


def test_what_is_mounted_in_a_folder_of_ours_is_never_entered(ours, theirs, monkeypatch):
    mounts = removal._mount
    inode = (ours / "a" / "b").stat().st_ino
    monkeypatch.setattr(removal, "_mount", lambda fd: "other" if os.fstat(fd).st_ino == inode else mounts(fd))
    assert remove_folder(ours) == (ours / "a" / "b",)
    assert (ours / "a" / "b" / "file").exists()


def test_a_folder_of_thousands_below_each_other_does_not_end_us(ours):
    here = os.open(ours, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert all(path.is_relative_to(ours) for path in remove_folder(ours))  # what is too deep is named
    subprocess.run(["rm", "-rf", ours], check=True)


def test_a_scratch_folder_is_ours_alone_and_goes_with_its_block(tmp_path):
    with scratch("pjs-", tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "x").write_text("x")
        assert sweep(tmp_path) == ((), ())  # it is in use
        assert (folder / "x").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("prefix", removal.SCRATCH)
def test_a_killed_perjoules_scratch_folder_is_swept(tmp_path, prefix):
    with pytest.raises(subprocess.CalledProcessError, match="SIGKILL"):
        subprocess.run([sys.executable, "-c", KILLED, prefix, tmp_path], check=True)
    (left,) = tmp_path.iterdir()
    assert sweep(tmp_path) == ((left,), ())
    assert list(tmp_path.iterdir()) == []


def test_sockets_that_an_older_perjoule_left_are_swept_unless_ssh_still_listens():
    # a socket's path is short
    with tempfile.TemporaryDirectory(dir="/tmp") as place, socket.socket(socket.AF_UNIX) as listening:
        folder = Path(place) / "pjs-0badcafe"
        folder.mkdir(0o700)
        listening.bind(str(folder / "0"))
        assert sweep(Path(place)) == ((), (f"{folder}: a process still listens there",))
        listening.close()
        assert sweep(Path(place)) == ((folder,), ())


@pytest.mark.parametrize(
    "use", ["something is still mounted there", "a loop device still has its file there"]
)
def test_a_folder_in_which_a_disk_is_still_being_taken_down_is_left_and_named(tmp_path, monkeypatch, use):
    folder = tmp_path / "perjoule-local-0badcafe"
    folder.mkdir()
    mark(folder)
    told = tmp_path / "told"
    told.write_text(
        f"36 35 7:0 / {folder}/disk rw - ext4 /dev/loop0 rw\n" if "mounted" in use else f"{folder}/disk.img\n"
    )
    read, glob = Path.read_bytes, Path.glob
    monkeypatch.setattr(
        Path,
        "read_bytes",
        lambda p, **w: read(told if p == Path("/proc/self/mountinfo") and "mounted" in use else p, **w),
    )
    monkeypatch.setattr(
        Path,
        "glob",
        lambda p, what: [told] if what.endswith("backing_file") and "loop" in use else glob(p, what),
    )
    assert sweep(tmp_path) == ((), (f"{folder}: {use}",))
    monkeypatch.undo()
    assert sweep(tmp_path) == ((folder,), ())


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_what_other_users_may_have_elsewhere_keeps_no_folder_of_ours(short_path):
    """A mount whose path ends as ours is called or would begin a line with it, a socket of a name without a file, and
    ones of the very names of ours elsewhere.
    """
    folder = short_path / "perjoule-local-0badcafe"
    folder.mkdir()
    mark(folder)
    places = [
        Path(f"{short_path}/theirs{folder}/x"),
        Path(f"{short_path}/theirs\x0c1\u20032\u20033:4\u2003root\u2003{folder}/x\u2003"),
        short_path / "theirs\udcff\x0c\r",
    ]
    for place in places:
        place.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    script = """
    mount -t tmpfs none "$1" && mkdir "$2" && cd "$2" && exec "$3" -I -c "$4" "$2/s" "$2/$5"
    """
    listen = """if True:
    import socket, sys, time
    sockets = [socket.socket(socket.AF_UNIX) for _ in sys.argv[1:]]
    for listening, name in zip(sockets, sys.argv[1:]):
        listening.bind(name)
        listening.listen()
    print(flush=True)
    time.sleep(600)
    """
    argv = ["unshare", "--mount", "sh", "-c", script, "sh", short_path, folder, sys.executable, listen, MARK]
    try:
        with (
            socket.socket(socket.AF_UNIX) as abstract,
            subprocess.Popen(argv, stdout=subprocess.PIPE) as elsewhere,
        ):
            try:
                abstract.bind(f"\0{folder}/s")
                abstract.listen()
                assert elsewhere.stdout
                assert elsewhere.stdout.readline() == b"\n"
                assert f"{folder}/s" in Path("/proc/net/unix").read_text()
                assert sweep(short_path) == ((folder,), ())
            finally:
                elsewhere.kill()
    finally:
        for place in places:
            subprocess.run(["umount", place], check=True)


def test_what_is_only_called_like_ours_is_left_and_named(tmp_path, theirs, monkeypatch):
    named, linked, other = (tmp_path / f"pjs-0badcaf{n}" for n in range(3))
    theirs.rename(named)
    linked.symlink_to(named)
    (tmp_path / "pjs-notes").mkdir()
    assert sweep(tmp_path) == ((), (f"{named}: not marked as made by perjoule", f"{linked}: a link"))
    other.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert f"{other}: belongs to another user" in sweep(tmp_path)[1]
    assert (named / "thesis.tex").exists()


def test_a_folder_of_which_somebody_holds_the_lock_is_in_use(tmp_path, theirs):
    folder = tmp_path / "pjs-0badcafe"
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert sweep(tmp_path) == ((), ())
    os.close(descriptor)
    assert sweep(tmp_path) == ((folder,), ())
