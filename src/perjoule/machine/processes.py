"""Which process is which, even after its number went to another one: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html"""

import os
from dataclasses import dataclass
from pathlib import Path
from platform import node

_BOOT = Path("/proc/sys/kernel/random/boot_id")


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
    """Return whether a process still runs; None if that can't be seen from here (another machine, another container)."""
    if (process.boot, process.pids) != (_boot(), _pids()):
        return None
    return _birth_ticks(process.pid) == process.birth_ticks


def _boot() -> str:
    return _BOOT.read_text().strip()


def _pids() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _birth_ticks(pid: int) -> int | None:
    """Return when a process started; None if there is no such process, or it has ended and only waits to be forgotten."""
    try:
        state, *numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in "ZX" else int(numbers[18])
