"""Parts that loads share: drop caches before, wait for parallel programs together, leave none behind."""

import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from perjoule.drivers.protocols import CachesOnServers, Host, Mounted, Process
from perjoule.machine.each import each
from perjoule.machine.scripts import BASH, REMOVE_OLD
from perjoule.model.doubts import CACHE, Doubt
from perjoule.model.errors import TimeLimit, WorkloadError
from perjoule.model.units import seconds_text

SHORT_S = 60.0  # for commands on one file
# $0 a folder, $1 a pattern. A folder that can't be listed would match nothing.
STOP_S = 3.0  # what hangs in a dead mount can't be killed: it is left to the testbed's end


def codes(
    tool: str, running: Mapping[str, Process], *, until_s: float, time_limit_s: float, why: str = ""
) -> dict[str, int]:
    """Wait until all have ended, and return their exit codes by name.

    Args:
        what: the tool's name in the message.
        running: by the name of the host.
        until_s: the deadline.
        time_limit_s: how long the deadline is after the start, for the message.
        why: a known reason for this tool to hang.

    Raises:
        TransientError: one has not ended by then.
    """
    try:
        return {
            name: process.wait(timeout_s=max(0.01, until_s - time.monotonic()))
            for name, process in running.items()
        }
    except TimeoutError:
        late = ", ".join(name for name, process in running.items() if process.returncode is None)
        raise TimeLimit(
            f"{tool} not finished within {seconds_text(time_limit_s)} on {late}{why}",
            next="raise time_limit, or check the file system's logs, kept with the trial",
        ) from None


def stop(processes: Iterable[Process]) -> None:
    """End those that still run, together, without waiting for any that can't be ended."""

    def end(process: Process) -> None:
        with suppress(Exception):  # it may hang in the kernel; the testbed removes what is left
            process.stop()

    threads = [
        Thread(target=end, args=[process], daemon=True) for process in processes if process.returncode is None
    ]
    for thread in threads:
        thread.start()
    until_s = time.monotonic() + STOP_S
    for thread in threads:
        thread.join(max(0.0, until_s - time.monotonic()))


@contextmanager
def rooms(hosts: Sequence[Host], folder: Path, *files: str) -> Generator[dict[str, Path]]:
    """Lend a folder on each host that stands for `folder` (`Host.room`), by host name.

    Raises TransientError.
    """
    lent = {host.name: host.room(folder, *files) for host in dict.fromkeys(hosts)}
    room_of = dict(zip(lent, each(lent.values(), lambda room: room.__enter__()), strict=True))
    try:
        yield room_of
    finally:
        ended = sys.exc_info()
        each(lent.values(), lambda room: room.__exit__(*ended))


@contextmanager
def daemons_first(mounted: Mounted) -> Generator[None]:
    """If the block fails, and a daemon of the file system has died, that is the reason.

    Raises WorkloadError.
    """
    try:
        yield
    except WorkloadError:
        mounted.alive()
        raise


def last_words(text: str) -> str:
    """Return the last lines that are not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(dict.fromkeys(lines[-3:])) or "no output"


def synced(clients: Sequence[Host], mounted: Mounted, timeout_s: float) -> None:
    """Have all clients write back what they hold of the file system, at once. Raises WorkloadError."""
    each(
        clients,
        lambda client: client.run(["sync", "-f", mounted.directories[client.name]], timeout_s=timeout_s),
    )


def cold(clients: Sequence[Host], mounted: Mounted) -> list[Doubt]:
    """Drop caches, also those of servers' kernels, and return doubts."""
    mounted.drop_caches()
    doubts = [CACHE.left(caches=mounted.undropped)] if mounted.undropped else []
    servers = mounted.caching if isinstance(mounted, CachesOnServers) else ()
    try:
        each(dict.fromkeys((*clients, *servers)), lambda host: host.drop_caches())
    except WorkloadError as error:
        doubts.append(CACHE.not_dropped(error=str(error)))
    return doubts


def remove_old(client: Host, folder: Path, names: str, *, timeout_s: float) -> None:
    """Remove the files of a folder that a pattern of the shell names, and ask for no others.

    Clients that share the folder remove theirs at the same time, and where a file system lists no types,
    `find` asks for every file that it lists and fails if one is gone by then, even with
    `-ignore_readdir_race`. A client may also remember the names of files that went seconds ago.

    Raises:
        WorkloadError: the folder can't be listed, or a file is there and can't be removed.
    """
    client.run([*BASH, REMOVE_OLD, "perjoule-remove-old", folder, names], timeout_s=timeout_s)


def require_common(tool: str, clients: Sequence[Host], mounted: Mounted) -> None:
    """Check that all clients are in the same folder of one file system.

    Raises WorkloadError if each has its own.
    """
    first, *further = clients
    marker = f"perjoule-{time.monotonic_ns()}"
    first.run(["touch", mounted.directories[first.name] / marker], timeout_s=SHORT_S)
    try:
        for client in further:
            looked = client.run(
                ["test", "-e", mounted.directories[client.name] / marker], timeout_s=SHORT_S, check=False
            )
            if looked.returncode != 0:
                problem = f"{tool} needs one folder for all clients, but here each has its own"
                raise WorkloadError(
                    problem, where=client.name, next="use one client, or a file system that they share"
                )
    finally:
        first.run(["rm", "-f", mounted.directories[first.name] / marker], timeout_s=SHORT_S, check=False)
