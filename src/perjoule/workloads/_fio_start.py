"""Start one fio per client at the same instant, and see all of them end, come what may."""

import fcntl
import os
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from perjoule.errors import TransientError
from perjoule.protocols import Host, Process
from perjoule.units import seconds_text
from perjoule.workloads._fio_report import check

WAIT_FOR_START = "flock --shared . date +%s.%N"  # fio's prerun, last before its first I/O: wait at the barrier, note the time
READY_S = 0.05  # from the moment a fio opens its prerun's output until it waits at the barrier for sure
STOP_S = 3.0  # a fio that hangs in a dead mount can't be killed: it is left to the testbed's end


def together(jobs: Mapping[str, tuple[Host, Sequence[str | Path]]], folder: Path, *, time_limit_s: float) -> None:
    """Run the jobs (by name: a host, its arguments) to their end; each leaves `<name>.json` and `<name>.log` in `folder`.

    Raises:
        TransientError: one is not done within the time limit, or its mount is gone.
        WorkloadError: one failed, in fio's own words.
    """
    until_s = time.monotonic() + time_limit_s
    running: dict[str, Process] = {}
    try:
        with _barrier(folder):
            for name, (host, argv) in jobs.items():
                running[name] = host.spawn(argv, log=folder / f"{name}.log")
            _wait_ready(folder, running, until_s)
        codes = {name: _code(process, running, until_s, time_limit_s) for name, process in running.items()}
    finally:
        _stop(running.values())
    for name, code in codes.items():
        check(name, code, *(_text(folder / f"{name}.{ending}") for ending in ("json", "log")))


def _code(process: Process, running: Mapping[str, Process], until_s: float, time_limit_s: float) -> int:
    try:
        return process.wait(timeout_s=max(0.01, until_s - time.monotonic()))
    except TimeoutError:
        late = ", ".join(name for name, process in running.items() if process.returncode is None)
        raise TransientError(
            f"fio not done within {seconds_text(time_limit_s)} on {late}",
            next="raise time_limit, or look at the file system's logs, kept with the trial",
        ) from None


@contextmanager
def _barrier(folder: Path) -> Generator[None]:
    """Hold back all fio of a folder while the block runs, by a lock on the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _wait_ready(folder: Path, running: Mapping[str, Process], until_s: float) -> None:
    """Wait until every fio has opened its prerun's output and stands at the barrier; one that ended is judged later."""
    while time.monotonic() < until_s and all(process.returncode is None for process in running.values()):
        if all((folder / f"{name}.prerun.txt").exists() for name in running):
            break
        time.sleep(0.005)
    time.sleep(READY_S)


def _stop(processes: Iterable[Process]) -> None:
    """End what still runs, together and without waiting for what can't be ended."""

    def stop(process: Process) -> None:
        with suppress(Exception):  # it may hang in the kernel; the testbed removes what is left
            process.stop()

    threads = [Thread(target=stop, args=[p], daemon=True) for p in processes if p.returncode is None]
    for thread in threads:
        thread.start()
    until_s = time.monotonic() + STOP_S
    for thread in threads:
        thread.join(max(0.0, until_s - time.monotonic()))


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
