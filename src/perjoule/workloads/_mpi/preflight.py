"""Which launcher starts ranks here: each one is tried with two ranks before it starts a load.

A batch system starts ranks itself (`Host.launcher`), in ways of which some fail or hang with some MPI
libraries. The two ranks load the library that the program is linked with, and wait for each other. What
worked is kept in the hosts' facts, and used from then on.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from perjoule.drivers.protocols import Host, Launcher
from perjoule.machine.removal import remove_file
from perjoule.model import Json
from perjoule.model.errors import WorkloadError
from perjoule.workloads._mpi import launched, mpirun
from perjoule.workloads._mpi.ranks import SHORT_S, Ranks

MPIRUN = "mpirun"
LIMIT_S = 20.0  # for two ranks
# MPI_COMM_WORLD is an object in Open MPI, a number in MPICH and what comes from it.
HELLO = """
import ctypes, sys
mpi = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
try:
    world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
except ValueError:
    world = ctypes.c_int(0x44000000)
rank, size = ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mpi.MPI_Barrier(world)
print(f"perjoule: rank {rank.value} of {size.value}", flush=True)
mpi.MPI_Finalize()
"""
_LINKED = 'type -P python3 > /dev/null || { echo "no python3"; exit; }; ldd "$(type -P -- "$1")"'


def ready(clients: Sequence[Host], ranks: Ranks) -> str:
    """Return the launcher for a program on these clients: a way of theirs, or MPIRUN.

    Raises:
        WorkloadError: none starts two ranks, and why.
    """
    launcher = clients[0].launcher
    if launcher is None:
        return MPIRUN
    several = len(clients) > 1
    key = f"{ranks.argv[0]} on {'several hosts' if several else 'one host'}"
    tried = launcher.facts.get(key)
    if not isinstance(tried, dict):
        tried = _tried(launcher, clients[:2], ranks)
        launcher.facts[key] = tried
    if name := tried.get("launcher"):
        return str(name)
    failed = tried["failed"]
    reasons = (
        "; ".join(f"{tried_way}: {why}" for tried_way, why in failed.items())
        if isinstance(failed, dict)
        else ""
    )
    advice = "load the MPI module that the program was built with, or ask who runs the cluster"
    raise WorkloadError(f"nothing starts two ranks of MPI here: {reasons}", next=advice)


def _tried(launcher: Launcher, clients: Sequence[Host], ranks: Ranks) -> dict[str, Json]:
    """Try one way after the other; return the first that works, and why others failed."""
    stdout = (
        clients[0]
        .run(["bash", "--norc", "-c", _LINKED, "perjoule-ldd", ranks.argv[0]], timeout_s=SHORT_S, check=False)
        .stdout
    )
    library = linked(stdout)
    if not library:
        why = (
            "python3 is missing on the nodes"
            if "no python3" in stdout
            else "the program is linked with no shared library of MPI"
        )
        return {"launcher": MPIRUN, "preflight": f"none: {why}"}
    failed: dict[str, Json] = {}
    count = 1 if len(clients) > 1 else 2
    for number, launcher_way in enumerate((*launcher.ways, MPIRUN)):
        log = ranks.log.with_name(f"preflight-{number}.log")
        remove_file(log)
        hello = replace(ranks, argv=["python3", "-I", "-c", HELLO, library], count=count, log=log)
        try:
            start(launcher_way, clients, hello, time_limit_s=LIMIT_S)
            if why := apart(log.read_text(errors="replace")):
                failed[launcher_way] = why
                continue
        except WorkloadError as error:
            failed[launcher_way] = error.what
            continue
        return {"launcher": launcher_way, "library": library, "failed": failed}
    return {"launcher": "", "library": library, "failed": failed}


def start(launcher_way: str, clients: Sequence[Host], ranks: Ranks, *, time_limit_s: float) -> None:
    """Run a program to its end by a launcher. Raises WorkloadError, TransientError."""
    if launcher_way == MPIRUN:
        mpirun.run(clients, ranks, time_limit_s=time_limit_s)
    else:
        launched.run(launcher_way, clients, ranks, time_limit_s=time_limit_s)


def linked(stdout: str) -> str:
    """Return the path of the MPI library among what ldd prints; "" without one."""
    match = re.search(r"^[ \t]*libmpi(?:ch)?(?:_\w+)?\.so\S* => (/\S+)", stdout, re.MULTILINE)
    return match[1] if match else ""


def apart(stdout: str) -> str:
    """Return why two ranks are not two ranks of one program; "" if they are."""
    ranks_of = sorted(re.findall(r"^perjoule: rank (\d+) of (\d+)$", stdout, re.MULTILINE))
    if ranks_of == [("0", "2"), ("1", "2")]:
        return ""
    return (
        "the ranks did not find each other "
        f"({', '.join(f'rank {rank} of {size}' for rank, size in ranks_of) or 'no output'})"
    )
