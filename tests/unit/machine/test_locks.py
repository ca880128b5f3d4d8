"""Locks: nobody else may hold them, and who does nevertheless is named while we wait."""

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from perjoule.machine import locks


@pytest.fixture
def held(tmp_path):
    """A lock file, and a descriptor by which somebody shares its lock."""
    path = tmp_path / "lock"
    path.touch(0o644)
    somebody = os.open(path, os.O_RDONLY)
    fcntl.flock(somebody, fcntl.LOCK_SH)
    yield path, somebody
    os.close(somebody)


@pytest.mark.parametrize("there", [True, False])
def test_a_lock_file_is_for_its_owner_alone_one_that_was_there_too(tmp_path, there):
    path = tmp_path / "lock"
    if there:
        path.touch(0o644)
    os.close(locks.opened(path))
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_a_lock_is_refused(tmp_path):
    (tmp_path / "lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        locks.opened(tmp_path / "lock")
    assert not (tmp_path / "other").exists()


def test_who_holds_a_lock_is_named(held):
    own = locks.opened(held[0])
    assert not locks.taken(own)
    assert locks.holders(own) == f"process {os.getpid()} ({Path('/proc/self/comm').read_text().strip()})"
    fcntl.flock(held[1], fcntl.LOCK_UN)
    assert locks.holders(own) == ""
    assert locks.taken(own)
    os.close(own)


def test_a_lock_that_is_held_is_waited_for_with_a_sentence(held, capsys):
    path, somebody = held
    own = locks.opened(path)
    waiting = threading.Thread(target=locks.wait, args=(own, path), kwargs={"grace_s": 0.0})
    waiting.start()
    until_s = time.monotonic() + 5
    while "waiting" not in (said := capsys.readouterr().err) and time.monotonic() < until_s:
        time.sleep(0.001)
    assert said.startswith(f"perjoule: waiting for {path}, held by process {os.getpid()}")
    fcntl.flock(somebody, fcntl.LOCK_UN)
    waiting.join(5)
    assert not waiting.is_alive()
    os.close(own)


def test_a_lock_that_is_free_is_taken_without_a_word(tmp_path, capsys):
    own = locks.opened(tmp_path / "lock")
    locks.wait(own, tmp_path / "lock")
    assert capsys.readouterr().err == ""
    os.close(own)
