"""Run fio on all clients together, by perjoule's own start or by fio's servers, with all its output in one
folder.
"""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from perjoule.drivers.protocols import Host, Mounted
from perjoule.machine.each import each
from perjoule.model.errors import MountLost
from perjoule.workloads._running import daemons_first
from perjoule.workloads.fio import latencies, rounds, server
from perjoule.workloads.fio.report import AVERAGED_S
from perjoule.workloads.fio.start import FioStart, together

LOGS = ("lat_percentiles=1", "clat_percentiles=0", f"log_avg_msec={AVERAGED_S * 1e3:.0f}", "log_unix_epoch=1")
JOB = "job.fio"


class Rounds(NamedTuple):
    """A load in rounds of a length, until they are steady or their limit is reached."""

    round_s: float
    most_count: int


def run_jobs(
    clients: Sequence[Host],
    mounted: Mounted,
    folder: Path,
    prefix: str,
    lines_of: Mapping[str, Sequence[str]],
    *,
    time_limit_s: float,
    ahead_s: Mapping[str, float] | None = None,
    by_server: bool = False,
    steady: Rounds | None = None,
    duration_s: float | None = None,
    environment: Sequence[str] = (),
) -> float | None:
    """Run one fio per client to its end; what they leave in `folder` is named by prefix and client.

    Args:
        clients: the hosts.
        mounted: the folders of their files.
        folder: for all output.
        prefix: distinguishes loads of one trial.
        wanted: by client, its load as lines of a job file.
        time_limit_s: by when all must have ended.
        ahead_s: by how much the clock of each host is ahead, for a common start; without, each begins as soon
            as it can.
        by_server: whether fio's own client/server mode starts them.
        steady: when to end an endless load.
        duration_s: when the load ends at the latest, for which it then logs histograms of its latencies.
        environment: what each fio is told by its environment, as NAME=VALUE.

    Returns:
        The moment of the common start, in this machine's UTC.

    Raises:
        TransientError: the folder of a client is gone, a daemon died, or a client is not done in time.
        WorkloadError: fio failed, with its message.
    """
    require_folders(clients, mounted, time_limit_s)
    jobs = {prefix + c.name: (c, [*lines_of[c.name], *_logs(prefix + c.name, duration_s)]) for c in clients}
    with daemons_first(mounted):
        if by_server:
            return server.together(
                jobs,
                folder,
                prefix,
                time_limit_s=time_limit_s,
                ahead_s=ahead_s,
                environment=environment,
            )
        commands = {
            name: FioStart(client, partial(_argv, name, lines, steady, environment))
            for name, (client, lines) in jobs.items()
        }
        enough = partial(_enough, steady.most_count) if steady else None
        return together(commands, folder, time_limit_s=time_limit_s, ahead_s=ahead_s, enough=enough)


def _logs(name: str, duration_s: float | None) -> list[str]:
    return [*LOGS, f"write_bw_log={name}", *(latencies.asked(name, duration_s) if duration_s else ())]


def prepare_file(
    text: str, clients: Sequence[Host], mounted: Mounted, folder: Path, *, time_limit_s: float
) -> None:
    """Put a job file into `folder` as `job.fio`, and have fio make its files, on each client in an empty
    folder.
    """

    def empty(client: Host) -> None:
        client.run(["rm", "-rf", job_room(client, mounted)], timeout_s=time_limit_s)
        client.run(["mkdir", job_room(client, mounted)], timeout_s=time_limit_s)

    each(clients, empty)
    (folder / JOB).write_text(text)
    run_file(clients, mounted, folder, "layout-", time_limit_s=time_limit_s, options=["--create_only=1"])


def run_file(
    clients: Sequence[Host],
    mounted: Mounted,
    folder: Path,
    prefix: str,
    *,
    time_limit_s: float,
    ahead_s: Mapping[str, float] | None = None,
    options: Sequence[str] = (),
) -> float | None:
    """Run `job.fio` of `folder` as it is, on each client in its `job_room`, after `options` and output
    options.

    fio takes options before a job file as defaults, which the file may overrule; a prerun it may not have.
    With `ahead_s` there is one, so that the jobs that begin with fio wait for the common start. Its times go
    where the reports are: the `#` keeps fio from writing a file for them into the file system. Returns and
    raises as `run_jobs` does.
    """
    require_folders(clients, mounted, time_limit_s)

    def argv(name: str, place: Path, folder_there: Path, wait: str) -> list[str | Path]:
        output = ["--eta=never", "--output-format=json", f"--output={folder_there / name}.json"]
        logs = [f"--{line}" for line in (*LOGS, f"write_bw_log={folder_there / name}")]
        begun = shlex.quote(str(folder_there / f"{name}.prerun.txt"))
        gate = [f"--exec_prerun={wait} >> {begun} #"] if wait else []
        return ["env", "-C", place, "fio", *output, *logs, *gate, *options, folder_there / JOB]

    jobs = {
        prefix + c.name: FioStart(c, partial(argv, prefix + c.name, job_room(c, mounted))) for c in clients
    }
    with daemons_first(mounted):
        return together(jobs, folder, JOB, time_limit_s=time_limit_s, ahead_s=ahead_s)


def job_room(client: Host, mounted: Mounted) -> Path:
    """Return the folder in the file system in which a client's job file starts."""
    return mounted.directories[client.name] / f"{client.name}.job"


def require_folders(clients: Sequence[Host], mounted: Mounted, time_limit_s: float) -> None:
    """Check that the file system is mounted: fio makes missing folders, and without the mount it would
    fill the disk below.
    """

    def has_none(client: Host) -> bool:
        return (
            client.run(
                ["test", "-d", mounted.directories[client.name]], timeout_s=time_limit_s, check=False
            ).returncode
            != 0
        )

    for client, gone in zip(clients, each(clients, has_none), strict=True):
        if gone:
            mounted.alive()
            problem = f"the folder in the file system is gone ({mounted.directories[client.name]})"
            raise MountLost(problem, where=client.name)


def _argv(
    name: str,
    lines: Sequence[str],
    steady: Rounds | None,
    environment: Sequence[str],
    folder_there: Path,
    wait: str,
) -> list[str | Path]:
    """Ask for one job, all its outputs in `there`, with interim reports after each round.

    Last before its first I/O, fio runs the prerun: it waits for the start and prints the time. (fio's own
    startdelay is looked at only every 100 ms.)
    """
    interim = ["--output-format=json"]
    if steady:
        interim = ["--output-format=json+", f"--status-interval={steady.round_s * 1e3:.0f}ms"]
    argv: list[str | Path] = [
        "env",
        "-C",
        folder_there,
        *environment,
        "fio",
        "--eta=never",
        *interim,
        f"--output={name}.json",
    ]
    return [
        *argv,
        f"--name={name}",
        *([f"--exec_prerun={wait}"] if wait else []),
        *(f"--{line}" for line in lines),
    ]


def _enough(most_count: int, reports: Mapping[str, str]) -> bool:
    return rounds.read(reports).enough(most_count)
