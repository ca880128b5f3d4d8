"""The runs on this machine: each claims its folder at its start; what dead ones left is found and removed."""

import contextlib
import os
import secrets
import select
import signal
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from perjoule.machine import guarded, locks, mapped, removal
from perjoule.model.errors import MachineError
from perjoule.testbeds import _disk
from perjoule.testbeds.virtual import cgroup, fuse, mark, memory
from perjoule.testbeds.virtual.mark import Run

_STUBBORN_S = 5.0  # what does not die of SIGKILL in this time waits in the kernel


@contextlib.contextmanager
def _registry() -> Generator[None]:
    """Lock the registry, so only one perjoule claims or cleans at a time."""
    mark.REGISTRY.mkdir(mode=0o700, exist_ok=True)
    mark.REGISTRY.chmod(0o700)  # an older perjoule made it for all to read
    path = mark.REGISTRY / "lock"
    lock = locks.opened(path)
    try:
        locks.wait(lock, path)
        yield
    finally:
        os.close(lock)


def fresh() -> Run:
    """Return an unused name for a run and make nothing, so its claimer can take it down whenever it is
    interrupted.
    """
    name = secrets.token_hex(4)
    return Run(name, mark.work_root() / f"pj-{name}")


def claim(run: Run) -> int:
    """Make a run's folder and take its lock; the run is dead once the returned descriptor is closed.

    Raises:
        OSError: the folder can't be made.
    """
    with _registry():
        guarded.require(run.folder.parent, make=True)
        run.folder.mkdir(mode=0o700)
        run.folder.chmod(mark.FOLDER_MODE)  # whatever the umask is: daemons have to pass
        lock = locks.opened(run.lock)
        locks.wait(lock, run.lock)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        (mark.REGISTRY / run.id).symlink_to(run.folder)
    return lock


def runs() -> tuple[Run, ...]:
    """Return every run that has any trace on this machine, alive or dead."""
    return tuple(run for run in _found() if not run.strange())


def strangers() -> tuple[str, ...]:
    """Return for each folder with the name of a run that is not ours why it is left alone."""
    return tuple(f"{run.folder}: {why}" for run in _found() if (why := run.strange()))


def blocked() -> tuple[str, ...]:
    """Return for each run whose perjoule is gone who still holds its lock, so it counts as alive."""
    until_s = mark.let_go_s()
    return tuple(f"{run.folder}: {why}" for run in runs() if (why := run.blocked(until_s)))


def _found() -> tuple[Run, ...]:
    folders = [str(path) for path in mark.work_root().glob("pj-*")]
    folders += [str(link.readlink()) for link in mark.REGISTRY.glob("*") if link.is_symlink()]
    folders += [str(process.mark.run.folder) for process in mark.marked()]
    folders += [str(loop.backing) for loop in _disk.loops()]
    matches = [match for folder in folders if (match := mark.FOLDER.fullmatch(folder))]
    runs_found: dict[str, Run] = {}
    for match in (
        matches
    ):  # what only root writes comes first: other users may have loop devices, and name their files
        runs_found.setdefault(match["run"], Run(match["run"], Path(match["folder"])))
    for name in cgroup.runs() - runs_found.keys():
        runs_found[name] = Run(name, mark.work_root() / f"pj-{name}")
    return tuple(runs_found[name] for name in sorted(runs_found))


def kept() -> dict[Run, dict[str, int]]:
    """Find the clusters that outlive the perjoule that made them: their hosts' names and holders."""
    clusters: dict[Run, dict[str, int]] = {}
    for process in mark.marked():
        if process.holder and process.mark.run.kept_file.exists():
            clusters.setdefault(process.mark.run, {})[process.mark.host] = process.pid
    return clusters


def dead(*, everything: bool = False) -> tuple[Run, ...]:
    """Return every run that left something and whose perjoule is gone; with `everything` also kept
    clusters.
    """
    spared = set[str]() if everything else {run.id for run in kept()}
    until_s = mark.let_go_s()
    return tuple(run for run in runs() if run.id not in spared and not run.alive(until_s))


def clean(*, everything: bool = False, run: str = "") -> tuple[str, ...]:
    """Remove all that dead runs left; with `everything` also kept clusters; only one run if it is named.

    Living runs are never touched. Returns what was removed, in words.

    Raises:
        MachineError: there is something to remove and this is not root.
    """
    root = os.geteuid() == 0
    with _registry() if root else contextlib.nullcontext():
        dead_runs = [dead_run for dead_run in dead(everything=everything) if run in ("", dead_run.id)]
        if dead_runs and not root:
            raise MachineError(
                f"run {dead_runs[0].id} can't be removed",
                where=str(dead_runs[0].folder),
                next="sudo perjoule down",
            )
        return tuple(remove(dead_run) for dead_run in dead_runs)


def remove(run: Run) -> str:
    """Take a run down in whatever state it is; return what existed, and what could not be removed."""
    groups = cgroup.groups(run.id)
    # A process that waits for a capped disk can't die before its write is done.
    devices = [loop.device for loop in _disk.below(run.folder)]
    cgroup.uncap(run.id, devices)
    for device in devices:
        memory.unlimit(device)
    ours = [process for process in mark.marked() if process.mark.run.id == run.id]
    _disk.unplug_inside(run.folder, [process.pid for process in ours if process.holder])
    holders = [process.pid for process in ours if process.holder]
    # a daemon that has ended no longer says which it served
    mounts = fuse.connections(run.folder, {*holders, *groups.pids()})

    def end(pids: Sequence[int]) -> None:
        if not _kill(pids):  # a FUSE daemon that waits for its own mount ends only with its connection
            fuse.abort(mounts)

    end(holders)  # the kernel ends everything inside, its mounts and links
    end([process.pid for process in ours if not process.holder])
    still = mapped.unmap(run.folder)  # what waits for such a device ends with it
    deadline_s = time.monotonic() + _STUBBORN_S
    # A process may join while others are killed, and a group stays busy for a moment after its last one.
    while not (gone := groups.remove()) and time.monotonic() < deadline_s:
        end(sorted(groups.pids()))
        time.sleep(0.01)
    summary = f"run {run.id}: {len({process.mark.host for process in ours})} hosts, {run.folder}"
    if still:
        return f"{summary} ({still[0]} still waits for servers that are gone: run `perjoule down` again)"
    try:
        _disk.remove(run.folder)
    except MachineError as error:
        return f"{summary} ({error})"
    # an older perjoule's removal did not leave it to the end
    lock = run.lock.name if run.lock.is_file() else ""
    if (remaining := removal.remove_folder(run.folder, mark=lock)) or not gone:
        problem = f"{remaining[0]} could not be removed" if remaining else "something is still busy"
        return f"{summary} ({problem}: run `perjoule down` again)"
    removal.remove_file(mark.REGISTRY / run.id)
    return summary


def _kill(pids: Sequence[int], *, timeout_s: float = 3.0) -> bool:
    """Kill processes and wait until they have ended; return whether they have."""
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
    return not waiting
