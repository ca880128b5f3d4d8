"""Run fio on all clients together, by perjoule's own start or by fio's servers, with all its output in one folder."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from perjoule.drivers.protocols import Host, Mounted
from perjoule.model.errors import TransientError, WorkloadError
from perjoule.workloads.fio import rounds, server
from perjoule.workloads.fio.report import AVERAGED_S
from perjoule.workloads.fio.start import WAIT_FOR_START, text_of, together

LOGS = ("lat_percentiles=1", "clat_percentiles=0", f"log_avg_msec={AVERAGED_S * 1e3:.0f}", "log_unix_epoch=1")


class Rounds(NamedTuple):
    """A load in rounds of a length, until they are steady or their limit is reached."""

    round_s: float
    most_count: int


def run_jobs(
    clients: Sequence[Host],
    mounted: Mounted,
    folder: Path,
    prefix: str,
    wanted: Mapping[str, Sequence[str]],
    *,
    time_limit_s: float,
    by_server: bool = False,
    steady: Rounds | None = None,
) -> None:
    """Run one fio per client to its end; files that they leave in `folder` are named by prefix and client.

    Args:
        clients: the hosts.
        mounted: the folders of their files.
        folder: for all output.
        prefix: distinguishes loads of one trial.
        wanted: by client, its load as lines of a job file.
        time_limit_s: by when all must have ended.
        by_server: whether fio's own client/server mode starts them.
        steady: when to end an endless load.

    Raises:
        TransientError: the folder of a client is gone, a daemon died, or a client is not done in time.
        WorkloadError: fio failed, with its message.
    """
    require_folders(clients, mounted, time_limit_s)
    jobs = {prefix + c.name: (c, [*wanted[c.name], *LOGS, f"write_bw_log={prefix}{c.name}"]) for c in clients}
    try:
        if by_server:
            server.together(jobs, folder, prefix, time_limit_s=time_limit_s)
            return
        argvs = {name: (client, _argv(folder, name, lines, steady)) for name, (client, lines) in jobs.items()}
        enough = partial(_enough, folder, list(jobs), steady.most_count) if steady else None
        together(argvs, folder, time_limit_s=time_limit_s, enough=enough)
    except WorkloadError:
        mounted.alive()  # a daemon that died is the better reason
        raise


def prepare_file(text: str, clients: Sequence[Host], mounted: Mounted, folder: Path, *, time_limit_s: float) -> None:
    """Put a job file into `folder` as `job.fio`, and have fio make its files, on each client in an empty folder."""
    for client in clients:
        client.run(["rm", "-rf", job_room(client, mounted)], timeout_s=time_limit_s)
        client.run(["mkdir", job_room(client, mounted)], timeout_s=time_limit_s)
    (folder / "job.fio").write_text(text)
    run_file(clients, mounted, folder, "layout-", time_limit_s=time_limit_s, options=["--create_only=1"])


def run_file(
    clients: Sequence[Host], mounted: Mounted, folder: Path, prefix: str, *, time_limit_s: float, options: Sequence[str] = ()
) -> None:
    """Run `job.fio` of `folder` as it is, on each client in its `job_room`, after `options` and output options.

    fio takes options before a job file as defaults, which the file may overrule. Raises as `run_jobs` does.
    """
    require_folders(clients, mounted, time_limit_s)
    there = folder.resolve()
    jobs: dict[str, tuple[Host, list[str | Path]]] = {}
    for client in clients:
        name = prefix + client.name
        output = ["--eta=never", "--output-format=json", f"--output={there / name}.json"]
        logs = [f"--{line}" for line in (*LOGS, f"write_bw_log={there / name}")]
        jobs[name] = client, ["env", "-C", job_room(client, mounted), "fio", *output, *logs, *options, there / "job.fio"]
    try:
        together(jobs, folder, time_limit_s=time_limit_s, barrier=False)
    except WorkloadError:
        mounted.alive()
        raise


def job_room(client: Host, mounted: Mounted) -> Path:
    """Return the folder in the file system in which a client's job file starts."""
    return mounted.directories[client.name] / f"{client.name}.job"


def require_folders(clients: Sequence[Host], mounted: Mounted, time_limit_s: float) -> None:
    """Check that the file system is mounted: fio makes missing folders, and without the mount it would fill the disk below."""
    for client in clients:
        directory = mounted.directories[client.name]
        if client.run(["test", "-d", directory], timeout_s=time_limit_s, check=False).returncode != 0:
            mounted.alive()
            raise TransientError(f"the folder in the file system is gone ({directory})", where=client.name)


def _argv(folder: Path, name: str, lines: Sequence[str], steady: Rounds | None) -> list[str | Path]:
    """Return fio's arguments for one job, with all outputs in `folder`, and interim reports after each round.

    As its last step before the first I/O, fio runs the prerun: wait at the barrier, then record the time. (fio checks its own
    startdelay only every 100 ms.)
    """
    interim = ["--output-format=json"]
    if steady:
        interim = ["--output-format=json+", f"--status-interval={steady.round_s * 1e3:.0f}ms"]
    argv: list[str | Path] = ["env", "-C", folder.resolve(), "fio", "--eta=never", *interim, f"--output={name}.json"]
    return [*argv, f"--name={name}", f"--exec_prerun={WAIT_FOR_START}", *(f"--{line}" for line in lines)]


def _enough(folder: Path, names: Sequence[str], most_count: int) -> bool:
    return rounds.read({name: text_of(folder / f"{name}.json") for name in names}).enough(most_count)
