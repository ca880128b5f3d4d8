"""What is ours: a run's folder with its lock, and the mark that every process of its hosts bears in its
argument list.

A run is alive while a perjoule holds its lock, which nobody else may open. Nothing here trusts a state file:
processes are found by their mark, control groups by their name, loop devices by their files, folders by their
path; a file only says where else to look.
"""

import contextlib
import fcntl
import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perjoule.machine import guarded, locks
from perjoule.machine.processes import started_by
from perjoule.testbeds import _disk
from perjoule.testbeds.virtual import cgroup

MARK = "perjoule-host"
# links to run folders, wherever they are; PERJOULE_WORK may differ from run to run
REGISTRY = Path("/run/perjoule")
# Of run folders: daemons that run as users of their own pass through; others can't look into them, and see no
# name in them.
FOLDER_MODE = 0o711
LETTING_GO_S = 2.0  # in which tools that a dead perjoule started end, and release its lock
_LOOK_S = 0.02
FOLDER = re.compile(r"(?P<folder>/.*/pj-(?P<run>[0-9a-f]{8}))(?:/.*)?")


def work_root() -> Path:
    """Return the parent of run folders: PERJOULE_WORK, or /var/tmp/perjoule (disks of gigabytes don't
    belong in a tmpfs).
    """
    return Path(os.environ.get("PERJOULE_WORK") or "/var/tmp/perjoule").absolute()


def let_go_s() -> float:
    """Return until when tools of perjoules that are dead by now may hold their locks, in time.monotonic()."""
    return time.monotonic() + LETTING_GO_S


@dataclass(frozen=True)
class Run:
    """The hosts of one `hold`."""

    id: str
    folder: Path

    @property
    def lock(self) -> Path:
        """The lock that the run's perjoule holds; contains its pid."""
        return self.folder / "lock"

    @property
    def kept_file(self) -> Path:
        """A file that exists if the run may outlive its perjoule."""
        return self.folder / "kept"

    def alive(self, until_s: float | None = None) -> bool:
        """Return whether its perjoule lives.

        The tools that a dead one started may still hold the lock until this time.
        """
        until_s = let_go_s() if until_s is None else until_s
        while True:
            try:
                with self.lock.open() as lock:
                    try:
                        # a perjoule's is exclusive; no other counts
                        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    except BlockingIOError:
                        owner = lock.read().strip()
                        if not owner or Path("/proc", owner).exists():
                            return True
                    else:
                        return False
            except PermissionError:  # root's, and we are not: only root can tell
                return True
            except OSError:
                return False
            if time.monotonic() > until_s:
                return True
            time.sleep(_LOOK_S)

    def blocked(self, until_s: float) -> str:
        """Return who holds the lock of a run whose perjoule is gone, still at that time; "" if nobody
        does.
        """
        with contextlib.suppress(OSError, ValueError):
            owner = int(self.lock.read_text())
            if not Path("/proc", str(owner)).exists() and self.alive(until_s):
                with self.lock.open() as lock:
                    holder = locks.holders(lock.fileno())
                gone = f"its perjoule (process {owner}) is gone"
                return (
                    f"{gone}, but {holder} holds its lock"
                    if holder
                    else f"{gone}, or in another container: its lock is held"
                )
        return ""

    def strange(self) -> str:
        """Return why a run's folder, or other parts of it, is not ours to remove; "" if it is ours."""
        above = next(path for path in self.folder.parents if os.path.lexists(path))
        try:
            guarded.require(
                above
            )  # as whoever makes one does: else another user could put another in its place
        except OSError as error:
            return f"{error.filename}: {(error.strerror or str(error)).lower()}"
        try:
            state = self.folder.lstat()
        except OSError:
            return self._elsewhere()
        if not stat.S_ISDIR(state.st_mode):
            return "a link" if stat.S_ISLNK(state.st_mode) else "not a folder"
        if state.st_uid != 0:
            return "belongs to another user"
        with contextlib.suppress(OSError):
            if not (self.lock.is_file() or (REGISTRY / self.id).is_symlink()) and any(self.folder.iterdir()):
                return "no lock of a run in it"
        return ""

    def _elsewhere(self) -> str:
        """Return who sees the files of a run that has none here: a container or a chroot shares processes and
        devices with us.

        Only there is it visible whether the run is alive, so only there may it be taken down.
        """
        for process in marked():
            if process.mark.run.id == self.id and Path(f"/proc/{process.pid}/root{self.lock}").exists():
                return (
                    f"process {process.pid} has it in a root of its own (a container, a chroot): run "
                    "`perjoule down` there"
                )
        if any(not loop.deleted for loop in _disk.below(self.folder)):
            return (
                "a loop device has its file in another root (a container, a chroot): run `perjoule down` "
                "there"
            )
        if cgroup.groups(self.id).unseen():
            return "its processes are those of a container: run `perjoule down` there"
        return ""


@dataclass(frozen=True)
class Mark:
    """The mark of our processes, in their argument list."""

    run: Run
    host: str
    mode: Literal["run", "keep"]

    def arguments(self) -> list[str]:
        """Return the mark as arguments."""
        return [MARK, self.run.id, str(self.run.folder), str(self.run.lock), self.host, self.mode]


@dataclass(frozen=True)
class Marked:
    """A process that bears our mark: a host's holder (pid 1 inside it), or the process that started it."""

    pid: int
    mark: Mark
    holder: bool


def parse(cmdline: bytes) -> tuple[Mark, bool] | None:
    """Parse the mark from the bytes of /proc/PID/cmdline, and whether it is a holder's; None if the
    process is not ours.
    """
    arguments = cmdline.decode(errors="replace").split("\0")
    if arguments[0].rpartition("/")[2] not in ("sh", "unshare", "bash") or MARK not in arguments:
        return None
    at = arguments.index(MARK)
    match arguments[at + 1 : at + 6]:
        case [run, folder, lock, host, ("run" | "keep") as mode] if (
            folder.endswith(f"/pj-{run}") and FOLDER.fullmatch(folder) and lock == f"{folder}/lock"
        ):
            return Mark(Run(run, Path(folder)), host, mode), arguments[:2] == ["bash", "-c"] and at == 3
        case _:
            return None


def marked() -> tuple[Marked, ...]:
    """Find every process that bears our mark."""
    marked_processes: list[Marked] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # anybody may write our mark
            if started_by(0, folder) and (parsed := parse((folder / "cmdline").read_bytes())):
                marked_processes.append(Marked(int(folder.name), *parsed))
    return tuple(marked_processes)
