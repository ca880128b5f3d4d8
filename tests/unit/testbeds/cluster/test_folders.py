"""A keeper's work folder on a host with other users: what they could write to, or lead elsewhere, is
refused with the way out.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from endless import endless
from fuse import lent
from perjoule.drivers.protocols import Check
from perjoule.machine.scripts import BASH
from perjoule.testbeds.cluster.facts import probe
from perjoule.testbeds.cluster.findings import lacking, readiness
from perjoule.testbeds.cluster.scripts import KEEP
from perjoule.testbeds.cluster.units import UNITS
from sshd import until

NOBODY = 65534
RUN = f"{os.getpid() % 10**8:08}"
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be attacked by another user")


def said(work: Path, *words: str, name: str = "h1", keep: str = KEEP) -> list[str]:
    """What a keeper answers to these words after `keep`."""
    argv = [*BASH, keep, "perjoule-keeper", str(work), name]
    text = "\n".join((f"keep {RUN}", *words, ""))
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.splitlines()


def answer(work: Path, *words: str) -> str:
    lines = said(work, *words)
    return lines[lines.index("probed") + 1]


@pytest.fixture
def host() -> Iterator[Path]:
    """A folder that everybody can reach, as /var/tmp is, with the sticky bit."""
    folder = Path(tempfile.mkdtemp(prefix="host-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


def by_nobody(*argv: str | Path) -> None:
    subprocess.run(argv, check=True, user=NOBODY, group=NOBODY, extra_groups=[])


def of_another(work: Path) -> None:
    by_nobody("mkdir", "-m", "755", work)


def of_another_with_a_cluster_of_roots(work: Path) -> None:
    of_another(work)
    (work / "cluster").mkdir(mode=0o755)
    (work / "cluster/perjoule-made-this").touch()


def cluster_of_another(work: Path) -> None:
    work.mkdir(mode=0o1777)
    work.chmod(0o1777)
    by_nobody("mkdir", work / "cluster")


def link(work: Path) -> None:
    (work.parent / "target").mkdir()
    by_nobody("ln", "-s", work.parent / "target", work)


def open_to_all(work: Path) -> None:
    work.mkdir()
    work.chmod(0o777)


def open_to_a_group(work: Path) -> None:
    work.mkdir()
    os.chown(work, 0, 100)
    work.chmod(0o775)


def cluster_open_to_a_group(work: Path) -> None:
    (work / "cluster").mkdir(parents=True)
    (work / "cluster/perjoule-made-this").touch()
    (work / "cluster").chmod(0o775)


def cluster_is_a_link(work: Path) -> None:
    (work.parent / "target").mkdir()
    (work.parent / "target/perjoule-made-this").touch()
    work.mkdir()
    (work / "cluster").symlink_to(work.parent / "target")


def lock_is_a_link(work: Path) -> None:
    (work / "cluster").mkdir(parents=True)
    (work / "cluster/perjoule-made-this").touch()
    (work.parent / "target").write_text("precious")
    (work / "cluster/h1.lock").symlink_to(work.parent / "target")


def lock_is_a_hard_link(work: Path) -> None:
    (work / "cluster").mkdir(parents=True)
    (work / "cluster/perjoule-made-this").touch()
    (work.parent / "target").write_text("precious")
    os.link(work.parent / "target", work / "cluster/h1.lock")


def lock_is_a_pipe(work: Path) -> None:
    (work / "cluster").mkdir(parents=True)
    (work / "cluster/perjoule-made-this").touch()
    os.mkfifo(work / "cluster/h1.lock", 0o600)


def content_of_another(work: Path) -> None:
    (work / "cluster/00000000-h1").mkdir(parents=True)
    for folder in (work / "cluster", work / "cluster/00000000-h1"):
        (folder / "perjoule-made-this").touch()
    os.chown(work / "cluster/00000000-h1", NOBODY, NOBODY)


@AS_ROOT
@pytest.mark.parametrize(
    ("prepare", "what"),
    [
        (of_another, "{work} belongs to another user (uid 65534)"),
        (of_another_with_a_cluster_of_roots, "{work} belongs to another user (uid 65534)"),
        (cluster_of_another, "{work}/cluster belongs to another user (uid 65534)"),
        (link, "{work} is a link"),
        (open_to_all, "users other than its owner can write to {work}, and it is not sticky"),
        (open_to_a_group, "users other than its owner can write to {work}, and it is not sticky"),
        (cluster_open_to_a_group, "users other than its owner can write to {work}/cluster"),
        (cluster_is_a_link, "{work}/cluster is a link"),
        (lock_is_a_link, "{work}/cluster/h1.lock is a link"),
        (lock_is_a_pipe, "{work}/cluster/h1.lock is a link, or no file"),
        (lock_is_a_hard_link, "{work}/cluster/h1.lock has a second name"),
        (content_of_another, "{work}/cluster/00000000-h1 belongs to another user (uid 65534)"),
    ],
)
def test_a_work_folder_that_others_can_write_to_is_refused_and_stays_as_it_was(
    host: Path, prepare: Callable[[Path], None], what: str
) -> None:
    prepare(work := host / "work")
    before = sorted((path, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in host.rglob("*"))
    found = what.format(work=work)
    sentence = answer(work)
    assert sentence.startswith(f"refused {found}")
    assert "; " in sentence  # and what to do
    assert (
        sorted((path, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in host.rglob("*")) == before
    )
    check = readiness("h1", probe("\n".join(said(work)), "h1"))
    # `doctor` says so, too
    assert (check.ok, check.detail.startswith(found), check.fix != "") == (False, True, True)


@AS_ROOT
@pytest.mark.parametrize("parent", ["work", "above"])
def test_a_folder_above_that_others_can_rename_is_refused(host: Path, parent: str) -> None:
    place = host / "above" / "work"
    place.mkdir(parents=True)
    os.chown(place if parent == "work" else place.parent, NOBODY, NOBODY)
    assert answer(place / "deeper").startswith(
        f"refused {place if parent == 'work' else place.parent} belongs to another user"
    )
    assert list(place.iterdir()) == []


def test_a_folder_with_a_sticky_bit_is_as_good_as_the_temporary_one(host: Path) -> None:
    assert answer(host / "work") == "ready"
    assert answer(host) == "ready"
    assert [path.name for path in host.iterdir()] == ["work"]


def test_nobody_else_can_look_into_the_folders_or_write_there_whatever_the_logins_umask_is(
    host: Path,
) -> None:
    work, before = host / "work", os.umask(0)
    try:
        argv = ["find", f"{work}/cluster", "-mindepth", "1", "-printf", "%m:%y "]
        with subprocess.Popen([*BASH, KEEP, "k", work, "h1"], stdin=-1, stdout=-1, text=True) as keeper:
            assert keeper.stdin
            assert keeper.stdout
            keeper.stdin.write(f"keep {RUN}\nrun 1 {len(argv)} 0\n" + "".join(f"{word}\0" for word in argv))
            keeper.stdin.flush()
            while not keeper.stdout.readline().startswith("answer 1"):
                pass
            entries = {f"{path.stat().st_mode & 0o777:o}:d" for path in (work, work / "cluster")}
            keeper.stdin.close()
            entries |= {*keeper.stdout.read().split()}
            keeper.wait(20)
    finally:
        os.umask(before)
    assert entries
    assert not [entry for entry in entries if int(entry.partition(":")[0], 8) & 0o22]
    assert not [entry for entry in entries if entry.endswith(":d") and int(entry.partition(":")[0], 8) & 0o44]


@AS_ROOT
def test_a_host_says_beforehand_where_root_would_meet_other_users(host: Path) -> None:
    (shared := host / "shared").mkdir()
    shared.chmod(0o777)
    places = [shared, shared / "missing", host, host / "missing"]
    argv = [*BASH, KEEP, "perjoule-keeper", host / "work", "h1"]
    text = "".join(f"look guarded {place}\n" for place in places)
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    said = lines[lines.index("probed") + 1 :]
    assert said == [
        f"lacks {shared} can be written to by other users, and is not sticky",
        "has",
        "has",
        "has",
    ]
    check = Check("folder", True, "", "chmod +t", look=f"guarded {shared}")
    finding = lacking("client-1", check, said[0].removeprefix("lacks "))
    assert (finding.ok, finding.detail) == (
        False,
        f"root is not safe there: {said[0].removeprefix('lacks ')}",
    )


def dead_run(work: Path) -> Path:
    old = work / "cluster/00000000-h1"
    old.mkdir(parents=True)
    for folder in (old, old.parent):
        (folder / "perjoule-made-this").touch()
    return old


@AS_ROOT
@pytest.mark.parametrize("what", ["inodes", "bytes"])
def test_a_host_with_a_full_disk_is_refused_and_nothing_stays_there(host: Path, what: str) -> None:
    image, disk = host / "image", host / "disk"
    disk.mkdir()
    subprocess.run(["truncate", "-s", "2M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-N", "16", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, disk], check=True)
    try:
        files = [disk / f"file-{number}" for number in range(99)]
        with contextlib.suppress(OSError):
            for file in files:
                file.touch()
                if what == "bytes":
                    with file.open("wb", buffering=0) as content:
                        while content.write(bytes(1024)):
                            pass
        outcomes: list[str] = []
        for file in [file for file in files if file.exists()]:  # one more is free each time
            outcomes.append(answer(disk / "work"))
            assert not list(disk.glob("work/*"))
            file.unlink()
        assert outcomes[0].startswith(f"refused {disk}/work/cluster")
        assert "ready" not in outcomes[:2]
    finally:  # a program that was just ended may still be leaving it
        until(lambda: subprocess.run(["umount", disk], check=False).returncode == 0)


@AS_ROOT
@pytest.mark.parametrize("name", ["disk.end", "power.end"])
@pytest.mark.parametrize("how", ["link", "of another", "open to all"])
def test_no_program_is_run_at_the_end_that_others_could_have_written(host: Path, name: str, how: str) -> None:
    old, theirs = dead_run(host / "work"), host / "theirs"
    theirs.write_text(f"id > {host}/ran\n")
    theirs.chmod(0o755)
    os.chown(theirs, NOBODY, NOBODY)
    if how == "link":
        (old / name).symlink_to(theirs)
    else:
        theirs.rename(old / name)
    if how == "open to all":
        os.chown(old / name, 0, 0)
        (old / name).chmod(0o666)
    lines = said(host / "work")
    assert not (host / "ran").exists()
    assert old.exists()
    assert next(line for line in lines if line.startswith(("left", "refused", "removed"))).startswith(
        f"left {old}" if name == "disk.end" else "refused a killed run changed power states"
    )


@AS_ROOT
@pytest.mark.timeout(30)
def test_a_work_folder_that_another_user_has_mounted_is_refused_and_not_touched(host: Path) -> None:
    """It may say that root has all in it, the programs at a run's end too."""
    (work := host / "work").mkdir()
    with lent(work):
        assert (
            answer(work)
            == f"refused {work}/cluster is what another user has mounted; set work to another folder"
        )


def test_what_could_not_undo_stays_with_the_folder_and_is_named(host: Path) -> None:
    old = dead_run(host / "work")
    (old / "disk.end").write_text(f"[ -e {host}/free ]\n")
    assert f"left {old}" in said(host / "work")
    assert (old / "disk.end").exists()
    (host / "free").touch()
    assert f"removed {old}" in said(host / "work")
    assert not (host / "work/cluster").exists()


@AS_ROOT
def test_exports_of_a_killed_run_end_before_its_disks_do_and_no_others(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for exportfs(8) and its list, as many kernels have no NFS server: it says what it is to
    end, and ends that.
    """
    (tool := host / "bin/exportfs").parent.mkdir()
    tool.write_text(f"""#!/bin/sh
[ -d "${{3#*:}}" ] && [ ! -e {host}/refusing ] || exit 1
echo "$@" >> {host}/ended
grep -v "^${{3#*:}}[[:blank:]]${{3%%:*}}(" {host}/etab > {host}/etab.new
mv {host}/etab.new {host}/etab
""")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{host}/bin", prepend=":")
    old = dead_run(host / "work")
    dead = [f"{old}/beneath/nfs/export\t10.0.0.{number}(rw,sync,no_root_squash)\n" for number in (1, 2)]
    current = f"{old.with_name(f'{RUN}-h1')}/programs\t10.0.0.3(rw)\n"
    others = [f"{folder}\t10.0.0.1(rw)\n" for folder in ("/srv/homes", f"{old}x/export", old.parent)]
    (host / "etab").write_text("".join([others[0], *dead, current, *others[1:]]))
    keep = KEEP.replace("/var/lib/nfs/etab", f"{host}/etab")
    (old / "beneath").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "beneath", old / "beneath"], check=True)
    try:
        (old / "beneath/nfs/export").mkdir(parents=True)
        assert f"removed {old}" in said(host / "work", keep=keep)
    finally:
        subprocess.run(["umount", old / "beneath"], check=False, capture_output=True)
    ended = [f"-u -- 10.0.0.{number}:{old}/beneath/nfs/export" for number in (1, 2)]
    ended.append(f"-u -- 10.0.0.3:{old.with_name(f'{RUN}-h1')}/programs")
    assert (host / "ended").read_text().splitlines() == ended
    assert (host / "etab").read_text() == "".join(others)
    dead_run(host / "work").joinpath("export").mkdir()
    (host / "etab").write_text(f"{old}/export\t10.0.0.1(rw)\n")
    (host / "refusing").touch()
    assert f"left {old}" in said(host / "work", keep=keep)
    (host / "refusing").unlink()
    assert f"removed {old}" in said(host / "work", keep=keep)


@AS_ROOT
def test_a_mount_elsewhere_whose_path_has_the_runs_in_it_stays(host: Path) -> None:
    """Any user may mount by FUSE, in folders of theirs that are called as ours are."""
    old = dead_run(host / "work")
    theirs, beneath = Path(f"{host}/theirs{old}/x"), old / "beneath"
    for place in (theirs, beneath):
        place.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        assert f"removed {old}" in said(host / "work")
        assert theirs.is_mount()
    finally:
        for place in (theirs, beneath):
            subprocess.run(["umount", place], check=False, capture_output=True)


@AS_ROOT
def test_no_mount_is_undone_by_a_path_that_users_of_a_disk_lead_elsewhere(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They swap the folder above their mount as soon as root begins to unmount, and the paths are known."""
    old = dead_run(host / "work")
    disk, theirs, victim = old / "disk", old / "disk/theirs", host / "victim"
    for place in (disk, theirs / "x", victim / "x"):
        place.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    tools = host / "tools"
    tools.mkdir()
    (tools / "umount").write_text(
        f"#!/bin/sh\n! mv {theirs} {disk}/away || ln -s {victim} {theirs}\n"
        f'exec {shutil.which("umount")} "$@"\n'
    )
    (tools / "umount").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    try:
        assert f"removed {old}" in said(host / "work")
        assert (victim / "x").is_mount()
    finally:
        for place in (victim / "x", theirs / "x", disk / "away/x", disk):
            subprocess.run(["umount", place], check=False, capture_output=True)


@AS_ROOT
def test_what_lies_over_another_mount_goes_with_it(host: Path) -> None:
    old = dead_run(host / "work")
    place = old / "disk"
    place.mkdir()
    for _ in range(3):
        subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    assert f"removed {old}" in said(host / "work")


@AS_ROOT
def test_no_mount_in_a_folder_of_another_user_is_undone(host: Path) -> None:
    old = dead_run(host / "work")
    place = old / "theirs/x"
    place.mkdir(parents=True)
    os.chown(place.parent, NOBODY, NOBODY)
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
    try:
        assert f"left {old}" in said(host / "work")
        assert place.is_mount()
    finally:
        subprocess.run(["umount", place], check=True)


@AS_ROOT
@pytest.mark.parametrize(
    ("program", "ready"),
    [
        ("exec sleep 1000", "Name:\tsleep\n"),
        (
            'exec -a /usr/bin/python3 "$0" -I -c "import os, time; os.setuid(0); time.sleep(1000)"',
            "Uid:\t0\t0",
        ),
    ],
    ids=["of theirs", "that runs as root for all who call it"],
)
def test_a_mark_that_another_user_writes_ends_no_session_of_others(
    host: Path, program: str, ready: str
) -> None:
    old = dead_run(host / "work").rename(host / f"work/cluster/{os.getpid() % 10**7:07}f-h1")
    setuid = shutil.copy(Path("/usr/bin/python3").resolve(), host / "setuid")
    Path(setuid).chmod(0o4755)
    daemon = (
        'setpriv --reuid=65534 --regid=65534 --clear-groups env "$1" bash --norc -c "$2" "$3" & echo $!\n'
        "exec sleep 1001"
    )
    argv = ["bash", "--norc", "-c", daemon, "daemon", f"PERJOULE_HOST={old.name}", program, setuid]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        try:
            assert leader.stdout
            theirs = Path("/proc", leader.stdout.readline().strip())
            until(lambda: ready in (theirs / "status").read_text())
            assert f"removed {old}" in said(host / "work")
            assert leader.poll() is None
            assert "State:\tZ" in (theirs / "status").read_text(), "it bears our mark, so it has ended"
        finally:
            os.killpg(leader.pid, signal.SIGKILL)


@AS_ROOT
def test_a_mark_that_another_user_writes_again_and_again_does_not_hold_up_the_end(host: Path) -> None:
    old = dead_run(host / "work").rename(host / f"work/cluster/{os.getpid() % 10**7:07}e-h1")
    again = "export PERJOULE_HOST=$1; while :; do setsid sleep 1 & setsid sleep 1 & wait; done"
    argv = ["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", "bash", "--norc", "-c"]
    with subprocess.Popen([*argv, again, "bash", old.name], start_new_session=True) as theirs:
        try:
            assert f"removed {old}" in said(host / "work")
            assert theirs.poll() is None
        finally:
            os.killpg(theirs.pid, signal.SIGKILL)


@AS_ROOT
def test_a_process_of_another_user_that_has_no_end_does_not_hold_up_the_end(host: Path) -> None:
    old = dead_run(host / "work").rename(host / f"work/cluster/{os.getpid() % 10**7:07}d-h1")
    ours = subprocess.Popen(["sleep", "600"], env={"PERJOULE_HOST": old.name}, start_new_session=True)
    try:
        with endless():
            assert f"removed {old}" in said(host / "work")
        assert ours.wait(timeout=10) == -signal.SIGKILL
    finally:
        ours.kill()


def test_a_journal_that_is_stuck_does_not_keep_the_runs_locks(host: Path) -> None:
    (host / "journal").mkdir()
    (logger := host / "logger").write_text("#!/bin/sh\nexec sleep 1000\n")
    logger.chmod(0o755)
    (journal,) = (line for line in UNITS.splitlines() if line.lstrip().startswith("exec 4>"))
    script = f"""
    unit=$1 PATH=$1:$PATH
    exec 8<> "$1/8.lock" 9<> "$1/9.lock" && flock 8 && flock 9 || exit
    {journal}
    exec 8<&- 9<&-
    flock -w 5 "$1/8.lock" true && flock -w 5 "$1/9.lock" true
    code=$?
    kill "$!"
    exit "$code"
    """
    subprocess.run([*BASH, script, "keeper", host], check=True, timeout=60)


@contextlib.contextmanager
def swapping(work: Path, target: Path) -> Generator[None]:
    """As nobody, have `work` be by turns a link to a folder of root's, and a folder of nobody's own with a
    link in it.
    """
    if (pid := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            link, own = (work.with_suffix(suffix) for suffix in (".link", ".own"))
            own.mkdir()
            link.symlink_to(target)
            (own / "cluster").symlink_to(target / "cluster")
            while True:
                for path in (link, own):
                    # root has made it meanwhile: nothing more can be put there
                    with contextlib.suppress(OSError):
                        path.rename(work)
                        work.rename(path)
        finally:
            os._exit(1)
    try:
        time.sleep(0.05)
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@AS_ROOT
def test_nothing_is_written_run_or_removed_elsewhere_while_another_user_swaps_the_folder(host: Path) -> None:
    work, target = host / "work", host / "target"
    old = dead_run(target)
    (old / "disk.end").write_text(f"touch {host}/ran\n")
    precious = (target / "cluster/h1.lock", old / "made/perjoule-0123456789")
    precious[1].parent.mkdir()
    for file in precious:
        file.write_text("precious")
    before = sorted((path, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in target.rglob("*"))
    outcomes: list[str] = []
    for _ in range(15):
        with swapping(work, target):
            outcomes.append(answer(work).split()[0])
        for path in host.glob("work*"):
            path.unlink() if path.is_symlink() else shutil.rmtree(path)
    assert set(outcomes) <= {"refused", "ready"}, outcomes
    assert not (host / "ran").exists()
    assert (
        sorted((path, path.lstat().st_mode, path.lstat().st_mtime_ns) for path in target.rglob("*")) == before
    )
