"""MPI programs with ranks inside the clients, started by the hosts' batch system, or by Open MPI 4's mpirun.

Ranks get a small environment that is always the same, and a folder of their client's.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Check, Host, Mounted
from perjoule.machine import removal
from perjoule.machine.programs import guards
from perjoule.workloads._mpi import preflight
from perjoule.workloads._mpi.ranks import CLIENT, SHORT_S, Ranks, room
from perjoule.workloads._running import daemons_first

__all__ = ["CLIENT", "checks", "client_of", "has_api", "program", "ready", "room", "run"]

PREFIX = "PERJOULE_IOR_PREFIX"  # of the environment, where the option is not set


def checks(name: str, prefix: str) -> tuple[Check, ...]:
    """Check for a program of the IOR suite and for Open MPI 4."""
    path_named = program(name, prefix)
    path = shutil.which(path_named)
    place = f"not in {Path(path_named).parent}" if Path(path_named).is_absolute() else "not on the PATH"
    fix = f"install IOR with Open MPI as its documentation says, then set {PREFIX} to its prefix"
    found = Check(name, bool(path), path or place, fix, look=f"program {path_named}")
    return (found, *guards(prefix), _mpirun())


def has_api(path: str, api: str) -> Check:
    """Return whether a build of IOR has this I/O interface, according to its help."""
    with removal.scratch("perjoule-mpi-") as folder:  # MPI leaves one of its own where TMPDIR is
        env = {**os.environ, "TMPDIR": str(folder)}
        help_text = subprocess.run(
            [path, "--help"], capture_output=True, text=True, timeout=SHORT_S, check=False, env=env
        ).stdout
    has = any(api in line for line in help_text.splitlines() if "API for I/O" in line)
    fix = "" if has else "build it with MPI-IO, or use another api"
    return Check(f"ior {api}", has, "built in" if has else "not built in", fix)


def _mpirun() -> Check:
    path = shutil.which("mpirun")
    fix, look = "apt-get install openmpi-bin", "program mpirun"
    if path is None:
        return Check("mpirun", False, "not found", fix, look=look)
    stdout = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=SHORT_S, check=False
    ).stdout
    version = stdout.strip().partition("\n")[0]
    if "(Open MPI) 4." not in version:
        return Check("mpirun", False, f"{path} is not Open MPI 4 ({version or 'no output'})", fix, look=look)
    return Check("mpirun", True, f"{path}, {version}", fix, look=look)


def program(name: str, prefix: str) -> str:
    """Return a program's path if a prefix is given, else its name."""
    prefix = prefix or os.environ.get(PREFIX, "")
    return str(Path(prefix, "bin", name).absolute()) if prefix else name


def run(
    clients: Sequence[Host],
    mounted: Mounted,
    argv: Sequence[str],
    *,
    ranks_count: int,
    log: Path,
    time_limit_s: float,
) -> None:
    """Run a program to its end with this many ranks per client, each in its client's folder in the file
    system.

    Ranks are numbered client by client. The program's output goes to `log`.

    Raises:
        TransientError: it is not done within the time limit, or a mount or daemon is gone.
        WorkloadError: it failed, with its message, or nothing here starts ranks.
    """
    with daemons_first(mounted):
        ranks = Ranks(argv, mounted.directories, ranks_count, log)
        _make_rooms(clients, mounted)
        preflight.start(preflight.ready(clients, ranks), clients, ranks, time_limit_s=time_limit_s)


def ready(clients: Sequence[Host], mounted: Mounted, program: str, folder: Path) -> None:
    """Find out what starts a program's ranks on these clients, before the measured window; logs go to
    `folder`.

    Raises:
        WorkloadError: nothing does.
    """
    if clients[0].launcher is None:
        return
    with daemons_first(mounted):
        _make_rooms(clients, mounted)
        preflight.ready(clients, Ranks([program], mounted.directories, 1, folder / "preflight.log"))


def _make_rooms(clients: Sequence[Host], mounted: Mounted) -> None:
    for client in clients:
        # on a mount that is gone the disk below would be filled
        client.run(["test", "-d", mounted.directories[client.name]], timeout_s=SHORT_S)
        client.run(["rm", "-rf", room(client)], timeout_s=SHORT_S)
        client.run(["mkdir", "-p", room(client)], timeout_s=SHORT_S)


def client_of(clients: Sequence[str], ranks_count: int) -> Mapping[int, str]:
    """Return the client of each rank."""
    return {rank: clients[rank // ranks_count] for rank in range(len(clients) * ranks_count)}
