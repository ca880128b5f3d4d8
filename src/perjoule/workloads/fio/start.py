"""Start one fio per client at the same instant, and wait until all have ended, whatever happens."""

import fcntl
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.workloads._running import codes, stop
from perjoule.workloads.fio.report import check

WAIT_FOR_START = "flock --shared . date +%s.%N"  # fio's prerun, last before its first I/O: wait at the barrier, note the time
READY_S = 0.05  # from the moment a fio opens its prerun's output until it waits at the barrier for sure
LOOK_S = 0.1  # between two looks at reports that grow
REPORT_S = 30.0  # for a fio that is ended to write its report


def together(
    jobs: Mapping[str, tuple[Host, Sequence[str | Path]]],
    folder: Path,
    *,
    time_limit_s: float,
    barrier: bool = True,
    enough: Callable[[], bool] | None = None,
) -> None:
    """Run the jobs (by name: a host, its arguments) to their end; each leaves `<name>.json` and `<name>.log` in `folder`.

    Args:
        jobs: with `barrier` their prerun is `WAIT_FOR_START`, in `folder`.
        folder: for their output.
        time_limit_s: by when all must have ended.
        barrier: whether they wait for each other; else each starts as soon as it can.
        enough: polled while they run; once it is true, they are ended.

    Raises:
        TransientError: one is not done within the time limit, or its mount is gone.
        WorkloadError: one failed, with fio's message.
    """
    until_s = time.monotonic() + time_limit_s
    running: dict[str, Process] = {}
    asked = False
    try:
        with _barrier(folder):
            for name, (host, argv) in jobs.items():
                running[name] = host.spawn(argv, log=folder / f"{name}.log")
            if barrier:
                _wait_ready(folder, running, until_s)
        if enough is not None:
            asked = _wait_enough(running, until_s, enough)
        ended = codes("fio", running, until_s=until_s, time_limit_s=time_limit_s)
    finally:
        stop(running.values())
    for name, code in ended.items():
        check(name, code, *(text_of(folder / f"{name}.{ending}") for ending in ("json", "log")), asked=asked)


@contextmanager
def _barrier(folder: Path) -> Generator[None]:
    """Hold back all fio of a folder during the block, by a lock on the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _wait_ready(folder: Path, running: Mapping[str, Process], until_s: float) -> None:
    """Wait until every fio has opened its prerun's output and is at the barrier; one that has ended is judged later."""
    while time.monotonic() < until_s and all(process.returncode is None for process in running.values()):
        if all((folder / f"{name}.prerun.txt").exists() for name in running):
            break
        time.sleep(0.005)
    time.sleep(READY_S)


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
