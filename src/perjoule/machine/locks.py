"""Locks whose files only their owner can open, so nobody else can hold them; if somebody does, the holder is
named.

https://man7.org/linux/man-pages/man2/flock.2.html, https://man7.org/linux/man-pages/man5/proc_locks.5.html
"""

import contextlib
import errno
import fcntl
import os
import stat
import sys
import time
from pathlib import Path

GRACE_S = 1.0  # for which a lock is waited for without a word


def opened(path: Path) -> int:
    """Open a lock file, creating it if necessary, with access for its owner alone; follows no link.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    state = os.fstat(descriptor)
    # a pipe; or a hard link, whose other name may be anything of ours
    if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a lock file, but a pipe, a device or a hard link", str(path))
    # an older perjoule made it for all to read
    if state.st_uid == os.geteuid() and stat.S_IMODE(state.st_mode) != 0o600:
        os.fchmod(descriptor, 0o600)
    return descriptor


def close(descriptor: int) -> None:
    """Close a lock file, which gives the lock back; there is nothing in it that a file system which is
    gone could have lost.
    """
    with contextlib.suppress(OSError):
        os.close(descriptor)


def taken(descriptor: int) -> bool:
    """Take a lock if it is free, and return whether it is ours now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait(descriptor: int, path: Path, *, grace_s: float = GRACE_S) -> None:
    """Take a lock; if that takes longer than `grace_s`, print who holds it."""
    until_s = time.monotonic() + grace_s
    while not taken(descriptor):
        if time.monotonic() >= until_s:
            whom = holders(descriptor) or "an unknown process"
            print(f"perjoule: waiting for {path}, held by {whom}", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            return
        time.sleep(0.02)


def holders(descriptor: int) -> str:
    """Name the processes that hold a lock, as in "process 4711 (sleep)"; "" if the kernel names none."""
    state = os.fstat(descriptor)
    file = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    pids: list[str] = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            columns = line.split()
            if columns[1] == "FLOCK" and columns[5] == file:  # those that wait have "->" before
                pids.append(columns[4])
    return " and ".join(f"process {pid}{_name(pid)}" for pid in dict.fromkeys(pids))


def _name(pid: str) -> str:
    with contextlib.suppress(OSError):
        return f" ({Path('/proc', pid, 'comm').read_text(errors='replace').strip()})"
    return ""
