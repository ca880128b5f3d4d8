"""Which process is which, even after its number went to another one:
https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
"""

import os
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from platform import node

END_S, LOOK_S = 5.0, 0.05  # for which to kill what still appears, and the time between two looks
_BOOT = Path("/proc/sys/kernel/random/boot_id")
# Of who logs in here the first one, and those of services and nobody: https://systemd.io/UIDS-GIDS/,
# https://www.debian.org/doc/debian-policy/ch-opersys.html#uid-and-gid-classes (64045 is Ceph's)
FIRST_UID, SERVICES_UIDS = 1000, range(61184, 65535)


@dataclass(frozen=True)
class Identity:
    """A process, anywhere and at any time."""

    pid: int
    birth_ticks: int  # when it started, on the clock of its boot
    boot: str  # of its kernel
    pids: str  # the namespace in which `pid` counts
    host: str  # for people


def own() -> Identity:
    """Return this process."""
    pid = os.getpid()
    return Identity(pid, _birth_ticks(pid) or 0, _boot(), _pids(), node())


def alive(process: Identity) -> bool | None:
    """Return whether a process still runs; None if that can't be seen from here (another machine, user or
    container).
    """
    if (process.boot, process.pids) != (_boot(), _pids()):
        return None
    birth_ticks = _birth_ticks(process.pid)
    if birth_ticks is None and _is_of_others(process.pid):
        return None
    return birth_ticks == process.birth_ticks


def end(entry: str) -> None:
    """Kill all other processes with this entry ("NAME=VALUE") in their environment, and what they start
    meanwhile.
    """
    until_s = time.monotonic() + END_S
    while (pids := list(_with(entry))) and time.monotonic() < until_s:
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                handle = os.pidfd_open(pid)  # its number may go to another, which has no such entry
                try:
                    if _has(pid, entry):
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                finally:
                    os.close(handle)
        time.sleep(LOOK_S)


def _with(entry: str) -> Iterator[int]:
    numbers = (int(folder.name) for folder in Path("/proc").glob("[0-9]*"))
    return (pid for pid in numbers if pid != os.getpid() and _has(pid, entry))


def _has(pid: int, entry: str) -> bool:
    with suppress(OSError):  # it has ended, or belongs to another user
        process = Path(f"/proc/{pid}")
        # of who logs in here, it may have no end, or never come
        if _is_daemons(uid := process.stat().st_uid) or uid == os.geteuid():
            return os.fsencode(entry) in (process / "environ").read_bytes().split(b"\0")
    return False


def started_by(uid: int, process: Path) -> bool:
    """Return whether a user has started a process, by its folder in /proc: one with the setuid bit bears the words
    of whoever calls it, and of others' words there may be no end, or they may never come. Raises OSError: it has ended.
    """
    if process.stat().st_uid != uid:
        return False
    try:
        return not (process / "exe").stat().st_mode & stat.S_ISUID
    except PermissionError:  # only root may look at root's, and only root ends anything
        return True


def _is_daemons(uid: int) -> bool:
    """Return whether nobody logs in as this user."""
    return uid < FIRST_UID or uid in SERVICES_UIDS


def _is_of_others(pid: int) -> bool:
    """Return whether another user has a process of this number, which /proc may hide (hidepid)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return False


def _boot() -> str:
    return _BOOT.read_text().strip()


def _pids() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _birth_ticks(pid: int) -> int | None:
    """Return when a process started; None if there is no such process, or it has ended and only waits to
    be forgotten.
    """
    try:
        state, *numbers = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(numbers[18])
