"""The command on real hosts and real disks: what it makes works, and whatever stops it, nothing stays."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from day import by_day
from perjoule import store
from perjoule.machine import removal

pytestmark = pytest.mark.live

PERJOULE = Path(sys.executable).with_name("perjoule")
CAMPAIGN = """
name = "tiny"
repetitions = 3
seed = 1
settle = "50 ms"
quiet = 0
[testbed]
kind = "virtual"
disk = "directory"
cpu_cap = false
[[filesystem]]
kind = "moosefs"
[[workload]]
kind = "fio"
size = "4 MiB"
transfer = "1 MiB"
"""


def state(work: Path, runs: set[str]) -> list[str]:
    """All that is there of some runs, found by other means than perjoule uses."""
    found = [str(path) for path in work.glob("pj-*")]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(work) in line]
    loops = subprocess.run(["losetup", "-l", "-n"], capture_output=True, text=True, check=True).stdout
    found += [line for line in loops.splitlines() if str(work) in line]
    found += [
        folder
        for folder, _, _ in os.walk("/sys/fs/cgroup")  # passes over what other tests remove meanwhile
        if Path(folder).name.removeprefix("perjoule-") in runs
    ]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if f"{work}/pj-" in text:
            found.append(text[-200:])
    return found


def names(work: Path) -> set[str]:
    return {path.name.removeprefix("pj-") for path in work.glob("pj-*")}


def perjoule(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PERJOULE, *map(str, words)], capture_output=True, text=True, timeout=180, check=False
    )


@contextmanager
def started(*words: object) -> Generator[subprocess.Popen[str]]:
    """The command in a process group of its own, as a shell starts it on a terminal."""
    argv = ["env", "--default-signal=INT,TERM", PERJOULE, *map(str, words)]
    with subprocess.Popen(
        argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_line(process: subprocess.Popen[str], begun: str) -> None:
    assert process.stderr is not None
    assert any(line.startswith(begun) for line in process.stderr), f'it ended before it said "{begun}"'


def wait_until(there: Callable[[], bool], timeout_s: float = 200) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not there():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def campaign(folder: Path, name: str = "tiny", text: str = CAMPAIGN) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


@pytest.mark.usefixtures("cleaning")
def test_a_cluster_to_play_with_is_entered_by_the_printed_line_kept_by_down_and_removed_when_named(
    work: Path,
) -> None:
    up = perjoule("up", "moosefs", "--set", "testbed.disk=directory", "--set", "testbed.cpu_cap=false")
    assert up.returncode == 0, up.stderr
    entrance = re.search(r"^  client-1, file system on (\S+): (nsenter -t \d+ -a)$", up.stdout, re.MULTILINE)
    assert entrance is not None, up.stdout
    words, file = entrance[2].split(), f"{entrance[1]}/hello"
    subprocess.run(
        [*words, "dd", "of=" + file, "conv=fsync"],
        input=b"hello",
        check=True,
        timeout=20,
        capture_output=True,
    )
    assert (
        subprocess.run([*words, "cat", file], check=True, timeout=20, capture_output=True).stdout == b"hello"
    )
    assert not Path(file).exists()  # the mount is the client's alone

    (run,) = names(work)
    down = perjoule("down")
    assert down.returncode == 0
    assert f"kept run {run}, made by `perjoule up`; `perjoule down {run}` removes it" in down.stdout
    assert f"  client-1: {entrance[2]}\n" in down.stdout
    assert (
        subprocess.run([*words, "cat", file], check=True, timeout=20, capture_output=True).stdout == b"hello"
    )

    wrong = perjoule("down", "nothere")
    assert wrong.returncode == 2
    assert '`perjoule up` has not made a cluster "nothere"; known: ' in wrong.stderr
    assert run in wrong.stderr

    down = perjoule("down", run)
    assert down.returncode == 0
    assert f"removed run {run}: " in down.stdout
    assert state(work, {run}) == []


@pytest.mark.usefixtures("cleaning")
def test_down_removes_what_killed_perjoules_left_in_the_temporary_directory_and_names_what_is_not_ours(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ours, theirs, stranger = tmp_path / "pjs-0badcafe", tmp_path / "pjs-00000000", work / "pj-00000000"
    for folder in (ours, theirs, stranger):
        folder.mkdir()
        (folder / "thesis.tex").write_text("years")
    removal.mark(ours)
    down = perjoule("down")
    assert down.returncode == 0, down.stderr
    assert f"removed {ours}\n" in down.stdout
    assert f"left {theirs}: not marked as made by perjoule\n" in down.stdout
    assert f"left {stranger}: no lock of a run in it\n" in down.stdout
    assert "nothing left behind" not in down.stdout
    assert [path.exists() for path in (ours, theirs, stranger)] == [False, True, True]


@pytest.mark.usefixtures("cleaning")
def test_down_says_by_its_exit_code_that_something_could_not_be_removed(work: Path) -> None:
    left = work / "pj-0dead0ff" / "host" / "stays"
    left.parent.mkdir(parents=True)
    left.touch()
    (work / "pj-0dead0ff" / "lock").touch()
    subprocess.run(["chattr", "+i", left], check=True, timeout=20)
    try:
        down = perjoule("down")
        assert down.returncode == 3, down.stdout
        assert (
            "0dead0ff could not be removed entirely: something is still busy; run `perjoule down` again"
            in down.stderr
        )
    finally:
        subprocess.run(["chattr", "-i", left], check=True, timeout=20)
    assert perjoule("down").returncode == 0
    assert not left.parents[1].exists()


def test_a_file_system_that_can_t_come_up_leaves_no_cluster(work: Path) -> None:
    up = perjoule(
        "up",
        "moosefs",
        "--set",
        "goal=5",
        "--set",
        "testbed.disk=directory",
        "--set",
        "testbed.cpu_cap=false",
    )
    assert up.returncode == 2, up.stdout
    assert up.stderr.startswith("perjoule: ")
    assert "Traceback" not in up.stderr
    assert state(work, set()) == []


def test_a_campaign_killed_in_the_middle_is_resumed_and_leaves_nothing(work: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with started("run", campaign(tmp_path), "--into", folder) as process:
        wait_for_line(process, "1/3 ")
        runs = names(work)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    done = perjoule("resume", folder)
    assert done.returncode == 0, done.stderr
    records = store.open_results(folder).records()
    assert sorted(record.trial.repetition for record in records) == [1, 2, 3]
    assert state(work, runs) == []


@pytest.mark.slow  # by day: two clusters side by side: test_virtual.py
def test_two_campaigns_side_by_side_do_not_meet(work: Path, tmp_path: Path) -> None:
    with (
        started("run", campaign(tmp_path, "one"), "--into", tmp_path / "1") as one,
        started("run", campaign(tmp_path, "two"), "--into", tmp_path / "2") as two,
    ):
        wait_until(lambda: len(names(work)) == 2)
        runs = names(work)
        for process in (one, two):
            assert process.stderr is not None
            errors = process.stderr.read()
            assert process.wait(timeout=120) == 0, errors
    for folder in ("1", "2"):
        assert [record.status for record in store.open_results(tmp_path / folder).records()] == ["valid"] * 3
    assert state(work, runs) == []


MOMENTS: dict[str, str] = {
    "the run has a folder": "pj-*",
    "a host has a folder": "pj-*/client-1",
    "a daemon has a folder": "pj-*/*/moosefs",
    "the client mounts": "pj-*/client-1/moosefs/*",
}


@pytest.mark.parametrize("moment", by_day(MOMENTS, "a daemon has a folder"))
@pytest.mark.parametrize("count", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_ctrl_c_while_hosts_come_up_leaves_nothing(
    moment: str, count: int, work: Path, tmp_path: Path
) -> None:
    with started("run", campaign(tmp_path), "--into", tmp_path / "r") as process:
        wait_until(lambda: any(work.glob(MOMENTS[moment])))
        runs = names(work)
        for _ in range(count):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.05)  # a second key press
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(timeout=60) == 5, errors
    assert "Traceback" not in errors
    assert "interrupted; everything was taken down; continue with: perjoule resume" in errors
    assert state(work, runs) == []


STEADY = """kind = "duty"
load = "50 %"
full = "2 MiB/s"
duration = "6 s"
[[meter]]
kind = "system"
rate = "10 Hz"
"""


@pytest.mark.slow  # by day: test_pauses.py, over SSH
@pytest.mark.parametrize(("stood_s", "kept"), [(1.5, ["valid"]), (3.0, ["failed", "valid"])])
def test_a_run_that_stands_still_keeps_its_hosts_and_says_so_and_for_long_it_measures_again(
    stood_s: float, kept: list[str], work: Path, tmp_path: Path
) -> None:
    text = CAMPAIGN.replace("repetitions = 3", "repetitions = 1").partition('kind = "fio"')[0] + STEADY
    progress = tmp_path / "r" / "progress.jsonl"
    with started("run", campaign(tmp_path, text=text), "--into", tmp_path / "r") as process:
        wait_until(lambda: progress.exists() and '"phase":"measure"' in progress.read_text())
        runs = names(work)
        time.sleep(1.5)
        process.send_signal(signal.SIGSTOP)
        time.sleep(stood_s)
        assert names(work) == runs
        process.send_signal(signal.SIGCONT)
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(timeout=120) == 0, errors
    records = list(store.open_results(tmp_path / "r").records())
    assert [record.status for record in records] == kept, [record.reason for record in records]
    said = "perjoule or its machine stood still for "
    assert [doubt.startswith(said) for doubt in records[0].doubts].count(True) == 1, records[0].doubts
    assert records[0].reason.startswith(said) == (kept[0] == "failed")
    (said,) = [
        doubt for doubt in records[0].doubts if doubt.startswith("system: ") and "samples left out" in doubt
    ]
    assert int(said.split()[1]) >= 7.5 * stood_s  # of ten per second
    assert state(work, runs) == []


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A disk of 6 GiB with a file system of its own, for runs."""
    with TemporaryDirectory(prefix="perjoule-test-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        image, place = folder / "image", folder / "disk"
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(6 * 1024**3)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, place], check=True)
        monkeypatch.setenv("PERJOULE_WORK", str(place / "work"))
        yield place
        subprocess.run(["umount", place], check=True)


@pytest.mark.slow  # by day: test_store_full_disk.py, and over SSH test_cluster.py
def test_a_disk_that_fills_up_stops_the_load_and_resume_continues_when_there_is_room(
    tmp_path: Path, small_disk: Path
) -> None:
    asked = campaign(
        tmp_path,
        text=CAMPAIGN.replace('"directory"', '"ext4"').replace("repetitions = 3", "repetitions = 12"),
    )
    filler = small_disk / "filler"
    with started("run", asked, "--into", tmp_path / "r") as process:
        wait_for_line(process, "2/12 ")
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(small_disk).free - 512 * 1024**2)
        began_s = time.monotonic()
        assert process.stderr is not None
        errors = process.stderr.read()
        assert process.wait(timeout=60) == 3, errors
        assert time.monotonic() - began_s < 60
    assert "Traceback" not in errors
    last = errors.splitlines()[-1]
    assert last.startswith(f"perjoule: the disk of {small_disk}")
    assert last.endswith("stopped in time; free space, then run `perjoule resume`")
    assert not any((small_disk / "work").glob("pj-*"))
    kept_count = len(store.open_results(tmp_path / "r").records())
    assert 2 <= kept_count < 12
    full = perjoule("resume", tmp_path / "r")
    assert full.returncode == 3
    assert "does not fit" in full.stderr
    filler.unlink()
    done = perjoule("resume", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert len(store.open_results(tmp_path / "r").records()) == 12
