"""What is ours: a run's folder with its lock, and the mark that every process of its hosts bears in its argument list.

A run is alive while a perjoule holds its lock, which nobody else may open. Nothing here trusts a state file: processes are found
by their mark, control groups by their name, loop devices by their files, folders by their path; a file only says where else to
look.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import select
import signal
import stat
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from perjoule.machine import locks, removal
from perjoule.model.errors import MachineError
from perjoule.testbeds import _disk
from perjoule.testbeds.virtual import cgroup

MARK = "perjoule-host"
REGISTRY = Path("/run/perjoule")  # links to run folders, wherever they are; PERJOULE_WORK may differ from run to run
# Of run folders: daemons that run as users of their own pass through; others can't look into them, and see no name in them.
FOLDER_MODE = 0o711
_STUBBORN_S = 5.0  # what does not die of SIGKILL in this time waits in the kernel
_FOLDER = re.compile(r"(?P<folder>/.*/pj-(?P<run>[0-9a-f]{8}))(?:/.*)?")


def work_root() -> Path:
    """Return the parent of run folders: PERJOULE_WORK, or /var/tmp/perjoule (disks of gigabytes don't belong in a tmpfs)."""
    return Path(os.environ.get("PERJOULE_WORK") or "/var/tmp/perjoule").absolute()


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
    def kept(self) -> Path:
        """A file that exists if the run may outlive its perjoule."""
        return self.folder / "kept"

    def alive(self) -> bool:
        """Return whether its perjoule lives. The tools that a dead one started may still hold the lock for a moment."""
        for _ in range(100):
            try:
                with self.lock.open() as lock:
                    try:
                        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # a perjoule's is exclusive; no other counts
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
            time.sleep(0.02)
        return True

    def blocked(self) -> str:
        """Return who holds the lock of a run whose perjoule is gone; "" if nobody does."""
        with contextlib.suppress(OSError, ValueError):
            owner = int(self.lock.read_text())
            if not Path("/proc", str(owner)).exists() and self.alive():
                with self.lock.open() as lock:
                    return f"its perjoule (process {owner}) is gone, but {locks.holders(lock.fileno())} holds its lock"
        return ""

    def strange(self) -> str:
        """Return why a run's folder, or other parts of it, is not ours to remove; "" if it is ours."""
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
        """Return who sees the files of a run that has none here: a container or a chroot shares processes and devices with us.

        Only there is it visible whether the run is alive, so only there may it be taken down.
        """
        for process in marked():
            if process.mark.run.id == self.id and Path(f"/proc/{process.pid}/root{self.lock}").exists():
                return f"process {process.pid} has it in a root of its own (a container, a chroot): run `perjoule down` there"
        if any(not loop.deleted for loop in _disk.below(self.folder)):
            return "a loop device has its file in another root (a container, a chroot): run `perjoule down` there"
        if cgroup.groups(self.id).unseen():
            return "its processes are those of a container: run `perjoule down` there"
        return ""


@dataclass(frozen=True)
class Mark:
    """The mark of our processes, in their argument list."""

    run: Run
    host: str
    mode: Literal["run", "keep"]

    def words(self) -> list[str]:
        """Return the mark as arguments."""
        return [MARK, self.run.id, str(self.run.folder), str(self.run.lock), self.host, self.mode]


@dataclass(frozen=True)
class Marked:
    """A process that bears our mark: a host's holder (pid 1 inside it), or the process that started it."""

    pid: int
    mark: Mark
    holder: bool


def parse(cmdline: bytes) -> tuple[Mark, bool] | None:
    """Parse the mark from the bytes of /proc/PID/cmdline, and whether it is a holder's; None if the process is not ours."""
    words = cmdline.decode(errors="replace").split("\0")
    if words[0].rpartition("/")[2] not in ("sh", "unshare", "bash") or MARK not in words:
        return None
    at = words.index(MARK)
    match words[at + 1 : at + 6]:
        case [run, folder, lock, host, ("run" | "keep") as mode] if (
            folder.endswith(f"/pj-{run}") and _FOLDER.fullmatch(folder) and lock == f"{folder}/lock"
        ):
            return Mark(Run(run, Path(folder)), host, mode), words[:2] == ["bash", "-c"] and at == 3
        case _:
            return None


def marked() -> tuple[Marked, ...]:
    """Find every process that bears our mark."""
    found: list[Marked] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parsed = parse((folder / "cmdline").read_bytes())
            if parsed and folder.stat().st_uid == 0:  # anybody may write our mark
                found.append(Marked(int(folder.name), *parsed))
    return tuple(found)


@contextlib.contextmanager
def _registry() -> Generator[None]:
    """Lock the registry, so only one perjoule claims or cleans at a time."""
    REGISTRY.mkdir(mode=0o700, exist_ok=True)
    REGISTRY.chmod(0o700)  # an older perjoule made it for all to read
    path = REGISTRY / "lock"
    lock = locks.opened(path)
    try:
        locks.wait(lock, path)
        yield
    finally:
        os.close(lock)


def fresh() -> Run:
    """Return an unused name for a run and make nothing, so its claimer can take it down whenever it is interrupted."""
    name = secrets.token_hex(4)
    return Run(name, work_root() / f"pj-{name}")


def claim(run: Run) -> int:
    """Make a run's folder and take its lock; the run is dead once the returned descriptor is closed.

    Raises:
        OSError: the folder can't be made.
    """
    with _registry():
        root = run.folder.parent
        if not root.exists():
            root.mkdir(parents=True)
            root.chmod(FOLDER_MODE)
        if root.stat().st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "belongs to another user", str(root))
        run.folder.mkdir()
        run.folder.chmod(FOLDER_MODE)  # whatever the umask is: daemons have to pass
        lock = locks.opened(run.lock)
        locks.wait(lock, run.lock)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        (REGISTRY / run.id).symlink_to(run.folder)
    return lock


def runs() -> tuple[Run, ...]:
    """Return every run that has any trace on this machine, alive or dead."""
    return tuple(one for one in _found() if not one.strange())


def strangers() -> tuple[str, ...]:
    """Return for each folder with the name of a run that is not ours why it is left alone."""
    return tuple(f"{one.folder}: {why}" for one in _found() if (why := one.strange()))


def blocked() -> tuple[str, ...]:
    """Return for each run whose perjoule is gone who still holds its lock, so it counts as alive."""
    return tuple(f"{one.folder}: {why}" for one in runs() if (why := one.blocked()))


def _found() -> tuple[Run, ...]:
    folders = [str(path) for path in work_root().glob("pj-*")]
    folders += [str(link.readlink()) for link in REGISTRY.glob("*") if link.is_symlink()]
    folders += [str(process.mark.run.folder) for process in marked()]
    folders += [str(loop.backing) for loop in _disk.loops()]
    matches = [match for folder in folders if (match := _FOLDER.fullmatch(folder))]
    found = {match["run"]: Run(match["run"], Path(match["folder"])) for match in matches}
    for name in cgroup.runs() - found.keys():
        found[name] = Run(name, work_root() / f"pj-{name}")
    return tuple(found[name] for name in sorted(found))


def kept() -> dict[Run, dict[str, int]]:
    """Find the clusters that outlive the perjoule that made them: their hosts' names and holders."""
    found: dict[Run, dict[str, int]] = {}
    for process in marked():
        if process.holder and process.mark.run.kept.exists():
            found.setdefault(process.mark.run, {})[process.mark.host] = process.pid
    return found


def dead(*, everything: bool = False) -> tuple[Run, ...]:
    """Return every run that left something and whose perjoule is gone; with `everything` also kept clusters."""
    spared = set[str]() if everything else {one.id for one in kept()}
    return tuple(one for one in runs() if one.id not in spared and not one.alive())


def clean(*, everything: bool = False, run: str = "") -> tuple[str, ...]:
    """Remove all that dead runs left; with `everything` also kept clusters; only one run if it is named.

    Living runs are never touched. Returns what was removed, in words.

    Raises:
        MachineError: there is something to remove and this is not root.
    """
    root = os.geteuid() == 0
    with _registry() if root else contextlib.nullcontext():
        left = [one for one in dead(everything=everything) if run in ("", one.id)]
        if left and not root:
            raise MachineError(f"run {left[0].id} can't be removed", where=str(left[0].folder), next="sudo perjoule down")
        return tuple(remove(one) for one in left)


def remove(run: Run) -> str:
    """Take a run down in whatever state it is; return what existed, and what could not be removed."""
    groups = cgroup.groups(run.id)
    # A process that waits for a capped disk can't die before its write is done.
    cgroup.uncap(run.id, [loop.device for loop in _disk.below(run.folder)])
    ours = [process for process in marked() if process.mark.run.id == run.id]
    _disk.unplug_inside(run.folder, [process.pid for process in ours if process.holder])
    _kill([process.pid for process in ours if process.holder])  # the kernel ends everything inside, its mounts and links
    _kill([process.pid for process in ours if not process.holder])
    deadline_s = time.monotonic() + _STUBBORN_S
    # A process may join while others are killed, and a group stays busy for a moment after its last one.
    while not (gone := groups.remove()) and time.monotonic() < deadline_s:
        _kill(sorted(groups.pids()))
        time.sleep(0.01)
    words = f"run {run.id}: {len({process.mark.host for process in ours})} hosts, {run.folder}"
    try:
        _disk.remove(run.folder)
    except MachineError as error:
        return f"{words} ({error})"
    mark = run.lock.name if run.lock.is_file() else ""  # an older perjoule's removal did not leave it to the end
    if (left := removal.remove_folder(run.folder, mark=mark)) or not gone:
        what = f"{left[0]} could not be removed" if left else "something is still busy"
        return f"{words} ({what}: run `perjoule down` again)"
    removal.remove_file(REGISTRY / run.id)
    return words


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
