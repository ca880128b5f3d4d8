"""What is ours: a run's folder with its lock, and the mark that every process of its hosts bears in its argument list.

A run is alive while a perjoule holds its lock. Nothing here trusts a state file: processes are found by their mark, control groups
by their name, loop devices by what lies behind them, folders by where they are; a file only says where else to look.
"""

import contextlib
import fcntl
import os
import re
import secrets
import select
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perjoule.testbeds import _cgroup, _disk

MARK = "perjoule-host"
REGISTRY = Path("/run/perjoule")  # links to run folders, wherever they are; PERJOULE_WORK may differ from run to run
_FOLDER = re.compile(r"(?P<folder>/.*/pj-(?P<run>[0-9a-f]{8}))(?:/.*)?")


def work_root() -> Path:
    """Where run folders lie: PERJOULE_WORK, or /var/tmp/perjoule (disks of gigabytes don't belong into a tmpfs)."""
    return Path(os.environ.get("PERJOULE_WORK") or "/var/tmp/perjoule").absolute()


@dataclass(frozen=True)
class Run:
    """The hosts of one `hold`."""

    id: str
    folder: Path

    @property
    def lock(self) -> Path:
        """Held by the perjoule that the run belongs to; holds its process number."""
        return self.folder / "lock"

    @property
    def kept(self) -> Path:
        """There when the run is to outlive its perjoule."""
        return self.folder / "kept"

    def alive(self) -> bool:
        """Whether its perjoule lives. The tools that a dead one started may still hold the lock: they end soon."""
        for _ in range(100):
            try:
                with self.lock.open() as lock:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        owner = lock.read().strip()
                        if not owner or Path("/proc", owner).exists():
                            return True
                    else:
                        return False
            except OSError:
                return False
            time.sleep(0.02)
        return True


@dataclass(frozen=True)
class Mark:
    """What a process of ours says of itself, in its argument list."""

    run: Run
    host: str
    mode: Literal["run", "keep"]

    def words(self) -> list[str]:
        """The mark as arguments."""
        return [MARK, self.run.id, str(self.run.folder), str(self.run.lock), self.host, self.mode]


@dataclass(frozen=True)
class Marked:
    """A process that bears our mark: a host's holder (pid 1 inside it), or what started it."""

    pid: int
    mark: Mark
    holder: bool


def parse(cmdline: bytes) -> tuple[Mark, bool] | None:
    """Read the mark from the bytes of /proc/PID/cmdline, and whether it is a holder's; None when it is not ours."""
    words = cmdline.decode(errors="replace").split("\0")
    if words[0].rpartition("/")[2] not in ("sh", "unshare") or MARK not in words:
        return None
    at = words.index(MARK)
    match words[at + 1 : at + 6]:
        case [run, folder, lock, host, ("run" | "keep") as mode] if (
            folder.endswith(f"/pj-{run}") and _FOLDER.fullmatch(folder) and lock == f"{folder}/lock"
        ):
            return Mark(Run(run, Path(folder)), host, mode), words[:2] == ["sh", "-c"] and at == 3
        case _:
            return None


def marked() -> tuple[Marked, ...]:
    """Find every process that bears our mark."""
    found: list[Marked] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if parsed := parse(Path("/proc", name, "cmdline").read_bytes()):
                    found.append(Marked(int(name), *parsed))
    return tuple(found)


@contextlib.contextmanager
def _registry() -> Iterator[None]:
    """Nobody claims or cleans at the same time."""
    REGISTRY.mkdir(mode=0o755, exist_ok=True)
    with (REGISTRY / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def claim() -> tuple[Run, int]:
    """Make a run folder and take its lock; the run is dead once the returned descriptor is closed.

    Raises:
        OSError: the folder can't be made.
    """
    with _registry():
        name = secrets.token_hex(4)
        run = Run(name, work_root() / f"pj-{name}")
        run.folder.mkdir(mode=0o755, parents=True)
        lock = os.open(run.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        (REGISTRY / name).symlink_to(run.folder)
    return run, lock


def runs() -> tuple[Run, ...]:
    """Every run of which anything can be found on this machine, alive or dead."""
    folders = [str(path) for path in work_root().glob("pj-*/")]
    folders += [os.readlink(link) for link in REGISTRY.glob("*") if link.is_symlink()]
    folders += [str(process.mark.run.folder) for process in marked()]
    folders += [str(loop.backing) for loop in _disk.loops()]
    matches = [match for folder in folders if (match := _FOLDER.fullmatch(folder))]
    found = {match["run"]: Run(match["run"], Path(match["folder"])) for match in matches}
    for name in _cgroup.runs() - found.keys():
        found[name] = Run(name, work_root() / f"pj-{name}")
    return tuple(found[name] for name in sorted(found))


def clean(*, everything: bool = False) -> tuple[str, ...]:
    """Remove all that dead runs left; kept clusters too with `everything`. Living runs are never touched.

    Returns what was removed, in words.
    """
    if os.geteuid() != 0:
        return ()
    with _registry():
        dead = [run for run in runs() if not run.alive() and (everything or not run.kept.exists())]
        return tuple(remove(run) for run in dead)


def remove(run: Run) -> str:
    """Take a run down, whatever state it is in; say what was there."""
    groups = _cgroup.groups(run.id)
    _cgroup.uncap(run.id)  # a process that waits for a capped disk can't die before its write is done
    ours = [process for process in marked() if process.mark.run.id == run.id]
    _kill([process.pid for process in ours if process.holder])  # the kernel ends everything inside, its mounts and links
    _kill([process.pid for process in ours if not process.holder])
    deadline_s = time.monotonic() + 5
    while (left := groups.pids()) and time.monotonic() < deadline_s:
        _kill(sorted(left))
    disks = _disk.remove(run.folder)
    gone = groups.remove()
    shutil.rmtree(run.folder, ignore_errors=True)
    (REGISTRY / run.id).unlink(missing_ok=True)
    hosts = sorted({process.mark.host for process in ours})
    words = f"run {run.id}: {len(hosts)} hosts, {disks} disks, {run.folder}"
    return words if gone and not run.folder.exists() else f"{words} (something is still busy: run `perjoule down` again)"


def _kill(pids: Sequence[int], *, timeout_s: float = 3.0) -> None:
    """Kill processes and wait until they have ended."""
    pidfds: list[int] = []
    poller = select.poll()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            pidfd = os.pidfd_open(pid)
            pidfds.append(pidfd)
            poller.register(pidfd, select.POLLIN)
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    deadline_s = time.monotonic() + timeout_s
    waiting = set(pidfds)
    while waiting and (left_s := deadline_s - time.monotonic()) > 0:
        for pidfd, _ in poller.poll(left_s * 1000):
            poller.unregister(pidfd)
            waiting.discard(pidfd)
    for pidfd in pidfds:
        os.close(pidfd)
