"""Dask on the hosts of a job: a scheduler, a worker per host, the job, and their end.
https://distributed.dask.org
"""

import json
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from perjoule.drivers.protocols import Host, Process
from perjoule.machine.untrusted import json_from
from perjoule.model import Json
from perjoule.model.errors import DaemonEnded, NotReady, ProgramFailed, WorkloadError
from perjoule.model.units import seconds_text
from perjoule.workloads._running import last_words, stop
from perjoule.workloads.hep import seal

T = TypeVar("T")

LOOK_S = 0.1  # between two looks at whether all still run
SHORT_S = 60.0  # for commands that only ask
MODULE = "perjoule.workloads._muons.job"
QUIET = ("--no-dashboard", "--no-show")
SEAL = "seal.pem"  # in the room of each host


def job(
    first: Host,
    workers: Sequence[Host],
    options: Mapping[str, Json],
    folder: Path,
    *,
    time_limit_s: float,
    scheduler_file: str = "",
) -> dict[str, int]:
    """Run a job on a Dask of its own, to its end; it leaves its outputs in `folder`, and each process a log.

    The scheduler and the job run on the first client. Only this job has them, and workers, run anything. With a
    scheduler file there, the job runs on the workers of that scheduler. Returns the bytes that each worker's
    host received meanwhile, if it knows.

    Raises:
        TransientError: a process of Dask ended, or the time limit passed.
        WorkloadError: the job failed, with its last message.
    """
    until_s = time.monotonic() + time_limit_s
    running: dict[str, Process] = {}
    room = f"hep-{secrets.token_hex(4)}"  # several users may run jobs at once
    rooms = {host.name: host.directory / room for host in (first, *workers)}

    def wait(name_awaited: str, ready: Callable[[], T | None]) -> T:
        while (result := ready()) is None:
            for name, process in running.items():
                if process.returncode is not None:
                    raise DaemonEnded(
                        f"{name} ended while waiting for {name_awaited}: {last_words(process.output())}"
                    )
            if time.monotonic() > until_s:
                what_now = f"{name_awaited} did not appear within {seconds_text(time_limit_s)}"
                raise NotReady(what_now, next="raise time_limit, or check the logs in the trial's raw folder")
            time.sleep(LOOK_S)
        return result

    def start(name: str, host: Host, *arguments: str | Path) -> Process:
        environment = {"DASK_TEMPORARY_DIRECTORY": str(rooms[host.name]), "OMP_NUM_THREADS": "1"}
        if not scheduler_file:
            environment |= seal.environment(rooms[host.name] / SEAL)
        return host.spawn(
            [sys.executable, "-P", "-m", *arguments], log=folder / f"{name}.log", env=environment
        )

    try:
        for host in (first, *workers):
            host.run(["mkdir", "-p", rooms[host.name]], timeout_s=SHORT_S)
        address = Path(scheduler_file or rooms[first.name] / "scheduler.json")
        if not scheduler_file:
            pem = seal.sealed()
            for host in {host.name: host for host in (first, *workers)}.values():
                host.put(pem, rooms[host.name] / SEAL, mode=0o600)
            first.run(["rm", "-f", address], timeout_s=SHORT_S)
        bound = ["--host", first.address, "--port", "0", "--scheduler-file", address, *QUIET]
        if not scheduler_file:
            running["the scheduler"] = start("scheduler", first, "distributed.cli.dask_scheduler", *bound)
        scheduler = wait("Dask's scheduler", lambda: _address(first, address))
        for host in workers if not scheduler_file else ():
            place = ["--host", host.address, "--name", host.name, "--local-directory", rooms[host.name]]
            size = [
                "--nthreads",
                "1",
                "--nworkers",
                "1",
                "--no-nanny",
                "--memory-limit",
                "0",
                "--no-dashboard",
            ]
            arguments = (
                "distributed.cli.dask_worker",
                scheduler,
                *place,
                *size,
                "--death-timeout",
                f"{time_limit_s:.0f}",
            )
            running[f"the worker on {host.name}"] = start(f"worker-{host.name}", host, *arguments)
        addresses = {host.name: host.address for host in workers}
        job = {"scheduler": scheduler, "time_limit_s": time_limit_s, "addresses": addresses, **options}
        (folder / "job.json").write_text(json.dumps(job))
        before = {host.name: host.counters().network_received_bytes for host in workers}
        with first.room(folder, "job.json") as job_room:
            worker_job = start("job", first, MODULE, job_room / "job.json")
            try:
                code = wait("the job's end", lambda: worker_job.returncode)
            finally:
                stop([worker_job])
        if code:
            raise ProgramFailed(
                f"the analysis failed (exit code {code}): {last_words(worker_job.output())}", where=first.name
            )
        after = {host.name: host.counters().network_received_bytes for host in workers}
    finally:
        stop(running.values())
        for host in (first, *workers):
            with suppress(WorkloadError):
                host.run(["rm", "-rf", "--one-file-system", "--", rooms[host.name]], timeout_s=SHORT_S)
    both_counts = {name: (before[name], after[name]) for name in before}
    return {
        name: new - old for name, (old, new) in both_counts.items() if old is not None and new is not None
    }


def _address(host: Host, path: Path) -> str | None:
    """Return the address that a scheduler has written, or None if it has not yet."""
    try:
        return str(json_from(host.read(path))["address"])
    except (WorkloadError, ValueError, LookupError):
        return None
