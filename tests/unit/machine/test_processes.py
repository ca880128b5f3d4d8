"""A process is known again, and so is that it is gone, also when its number is another one's."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from endless import endless
from perjoule.machine import buckets, processes


def test_this_process_is_alive_and_its_number_at_another_time_is_not() -> None:
    own = processes.own()
    assert processes.alive(own) is True
    assert processes.alive(replace(own, birth_ticks=own.birth_ticks - 1)) is False


def test_a_process_that_ended_is_gone_even_before_its_parent_asks() -> None:
    child = subprocess.Popen(["sleep", "60"])
    found = replace(processes.own(), pid=child.pid, birth_ticks=processes._birth_ticks(child.pid) or 0)
    assert processes.alive(found) is True
    child.kill()
    for _ in range(500):
        if processes.alive(found) is False:
            break
        subprocess.run(["sleep", "0.01"], check=True)
    assert processes.alive(found) is False
    child.wait()
    assert processes.alive(found) is False


def test_nothing_is_stated_about_another_machine() -> None:
    assert processes.alive(replace(processes.own(), boot="another")) is None
    assert processes.alive(replace(processes.own(), pids="pid:[1]")) is None


def test_a_process_of_another_user_that_proc_hides_is_not_stated_to_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on login nodes that mount /proc with hidepid=2: what it has in a bucket would be removed."""

    def refuse(pid: int, number: int) -> None:
        assert number == 0
        raise PermissionError

    child = subprocess.Popen(["true"])
    child.wait()
    hidden = replace(processes.own(), pid=child.pid)
    assert processes.alive(hidden) is False
    monkeypatch.setattr(os, "kill", refuse)
    assert processes.alive(hidden) is None
    assert not buckets.is_gone(json.dumps(asdict(hidden)))
    assert processes.alive(processes.own()) is True


def test_only_processes_with_the_entry_in_their_environment_are_ended() -> None:
    """Those that they started, too; not one with another value, or with the entry among its words alone."""
    entry, asleep = "PERJOULE_TEST=/tmp/one", ["sleep", "60"]
    parent = subprocess.Popen(
        ["sh", "-c", "sleep 60 & wait"], env={**os.environ, "PERJOULE_TEST": "/tmp/one"}
    )
    others = [
        subprocess.Popen(asleep, env={**os.environ, "PERJOULE_TEST": "/tmp/one-more"}),
        subprocess.Popen(["sh", "-c", "sleep 60; true", entry]),
    ]
    try:
        while not (child := Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()):
            time.sleep(0.01)
        processes.end(entry)
        assert parent.wait(timeout=10) == -signal.SIGKILL
        until_s = time.monotonic() + 10
        while _runs(child[0]) and time.monotonic() < until_s:
            time.sleep(0.01)
        assert not _runs(child[0])
        assert [other.poll() for other in others] == [None, None]
    finally:
        for process in (parent, *others):
            process.kill()
            process.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts programs of other users")
@pytest.mark.parametrize(
    "look",
    [
        "from perjoule.machine import processes; processes.end('PERJOULE_TEST=/tmp/one')",
        "from perjoule.testbeds.virtual import mark; mark.marked()",
    ],
)
def test_a_process_of_another_user_that_has_no_end_does_not_fill_the_memory(look: str) -> None:
    limited = ["prlimit", f"--as={4 * 2**30}", sys.executable, "-c", look]
    with endless():
        completed = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=60)
    assert (completed.returncode, completed.stderr) == (0, "")


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
