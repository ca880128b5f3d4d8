"""A control group that allows no further process, in the middle of a run: a sentence, nothing left, and it
continues later.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

PERJOULE = Path(sys.executable).with_name("perjoule")
GROUPS = Path("/sys/fs/cgroup")
LIMIT_S = 60.0
TEXT = """
name = "small"
repetitions = 3
seed = 1
clients = 1
settle = "200 ms"
quiet = 0
[testbed]
kind = "local"
work = "{work}"
[[filesystem]]
kind = "local"
type = "ext4"
[[workload]]
kind = "fio"
size = "8 MiB"
transfer = "64 KiB"
"""

pytestmark = pytest.mark.live


@pytest.fixture
def group() -> Generator[Path]:
    """A control group of version 1 or 2 that counts processes."""
    parent = GROUPS / "pids" if (GROUPS / "pids").is_dir() else GROUPS
    if parent == GROUPS:
        (GROUPS / "cgroup.subtree_control").write_text("+pids")
    made = parent / f"pj-test-{os.getpid()}"  # not a name that perjoule, in another test, takes for its own
    made.mkdir()
    yield made
    made.rmdir()  # fails if a process is left


def journal(folder: Path) -> list[dict[str, str]]:
    path = folder / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def left(work: Path) -> list[str]:
    """What is left of a run below its folder: files, mounts, loop devices."""
    backing = [path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file")]
    lines = [*backing, *Path("/proc/mounts").read_text().splitlines()]
    return [*map(str, work.iterdir()), *(line for line in lines if str(work) in line)]


@contextmanager
def running(group: Path, work: Path, folder: Path) -> Generator[subprocess.Popen[str]]:
    """A run in the group that has kept its first trial."""
    work.mkdir()
    (campaign := work.parent / "small.toml").write_text(TEXT.format(work=work))

    def join() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    argv = [PERJOULE, "run", campaign, "--into", folder]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=join
    ) as process:
        until_s = time.monotonic() + LIMIT_S
        while not journal(folder) and process.poll() is None and time.monotonic() < until_s:
            time.sleep(0.01)
        yield process


def finished(folder: Path) -> None:
    """Go on, and find each trial once."""
    done = subprocess.run(
        [PERJOULE, "resume", folder, "--failed"], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    assert len({line["trial"] for line in journal(folder)}) == 3
    assert subprocess.run([PERJOULE, "verify", folder], capture_output=True, timeout=LIMIT_S).returncode == 0


@pytest.mark.slow  # by day: without threads: tests/command/test_attacks.py; a kill, below
@pytest.mark.parametrize("spare_count", [0, 2])
def test_without_processes_a_run_is_one_sentence_and_continues_later(
    spare_count: int, group: Path, tmp_path: Path
) -> None:
    work, folder = tmp_path / "work", tmp_path / "results"
    with running(group, work, folder) as process:
        there_count = int((group / "pids.current").read_text())
        (group / "pids.max").write_text(str(there_count + spare_count))
        said = process.communicate(timeout=LIMIT_S)[1]
    assert int((group / "pids.events").read_text().split()[1]) > 0, "it never wanted another process"
    assert "Traceback" not in said
    if process.returncode == 3:
        assert (
            "perjoule: no more threads or processes can be started; end other programs, or raise the limits"
            in said
        )
    else:
        assert process.returncode == 1, said
        assert "could not be started (Resource temporarily unavailable)" in said
    assert left(work) == []
    finished(folder)


def test_what_a_killed_run_left_where_no_process_could_be_started_goes_with_the_next_command(
    group: Path, tmp_path: Path
) -> None:
    """The guard of its disk can't start the programs that would remove it."""
    work, folder = tmp_path / "work", tmp_path / "results"
    with running(group, work, folder) as process:
        (group / "pids.max").write_text("0")
        process.kill()
        process.communicate(timeout=LIMIT_S)
    until_s = time.monotonic() + LIMIT_S
    while (group / "cgroup.procs").read_text() and time.monotonic() < until_s:
        time.sleep(0.02)  # for what it had started to end
    assert left(work), "the guard removed the disk, so this test shows nothing"
    finished(folder)
    assert left(work) == []
