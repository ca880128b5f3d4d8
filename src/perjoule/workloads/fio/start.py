"""Start one fio per client at the same moment, and wait until all have ended, whatever happens."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from perjoule.drivers.protocols import Host, Process
from perjoule.model.errors import WorkloadError
from perjoule.workloads._running import codes, rooms, stop
from perjoule.workloads._start import Gates
from perjoule.workloads.fio.report import check

LOOK_S = 0.1  # between two looks at reports that grow
REPORT_S = 30.0  # for a fio that is ended to write its report


class FioStart(NamedTuple):
    """One fio: its host, and its command, given the folder of the trial's files and the command to run
    before its first I/O.
    """

    host: Host
    argv: Callable[[Path, str], Sequence[str | Path]]


def together(
    jobs: Mapping[str, FioStart],
    folder: Path,
    *files: str,
    time_limit_s: float,
    ahead_s: Mapping[str, float] | None = None,
    enough: Callable[[Mapping[str, str]], bool] | None = None,
) -> float | None:
    """Run the jobs (by name) to their end; each leaves `<name>.json` and `<name>.log` in `folder`.

    Args:
        jobs: with `ahead_s` their prerun is the command they get, which prints when they began.
        folder: for their output.
        files: of that folder which they read.
        time_limit_s: by when all must have ended.
        ahead_s: by how much the clock of each host is ahead, for a common start; without, each begins as soon
            as it can.
        enough: polled with their reports so far (by name) while they run; once it is true, they are ended.

    Returns:
        The moment of the common start, in this machine's UTC.

    Raises:
        TransientError: one is not done within the time limit, or its mount is gone.
        WorkloadError: one failed, with fio's message.
    """
    until_s = time.monotonic() + time_limit_s
    running: dict[str, Process] = {}
    stopped, moment_s = False, None
    hosts = {name: job.host for name, job in jobs.items()}
    with rooms(list(hosts.values()), folder, *files) as room_of:
        try:
            gates = Gates(hosts) if ahead_s is not None else None
            for name, job in jobs.items():
                argv = job.argv(room_of[job.host.name], gates.command(name) if gates else "")
                running[name] = job.host.spawn(argv, log=folder / f"{name}.log")
            if gates and ahead_s is not None:
                moment_s = gates.open(running, ahead_s, until_s=until_s)
            if enough is not None:
                reports = {name: (host, room_of[host.name] / f"{name}.json") for name, host in hosts.items()}
                stopped = _wait_enough(
                    running,
                    until_s,
                    lambda: enough({n: _so_far(*report_files) for n, report_files in reports.items()}),
                )
            ended = codes("fio", running, until_s=until_s, time_limit_s=time_limit_s)
        finally:
            stop(running.values())
    for name, code in ended.items():
        check(
            name, code, *(text_of(folder / f"{name}.{ending}") for ending in ("json", "log")), stopped=stopped
        )
    return moment_s


def _so_far(host: Host, report: Path) -> str:
    try:
        return host.read(report).decode(errors="replace")
    except WorkloadError:  # none yet
        return ""


def _wait_enough(running: Mapping[str, Process], until_s: float, enough: Callable[[], bool]) -> bool:
    """End all once it is enough; return whether that was before one ended by itself."""
    while time.monotonic() < until_s and all(process.returncode is None for process in running.values()):
        if enough():
            with ThreadPoolExecutor(len(running)) as pool:
                list(pool.map(_end, running.values()))
            return True
        time.sleep(LOOK_S)
    return False


def _end(process: Process) -> None:
    process.stop(timeout_s=REPORT_S)


def text_of(path: Path) -> str:
    """Read a fio's output; "" if it is missing."""
    return path.read_text(errors="replace") if path.exists() else ""
