"""Ranks that a batch system starts: `Host.launcher`."""

import time
from collections.abc import Sequence

from perjoule.drivers.protocols import Host
from perjoule.workloads._mpi.ranks import OPEN_MPI, Ranks, check, environment, ipv4, network, room
from perjoule.workloads._running import codes, stop


def run(launcher_way: str, clients: Sequence[Host], ranks: Ranks, *, time_limit_s: float) -> None:
    """Run a program to its end, in one of the launcher's ways.

    Raises as `perjoule.workloads._mpi.run` does.
    """
    first = clients[0]
    assert first.launcher
    until_s = time.monotonic() + time_limit_s
    # what mpirun would pass on to ranks
    parameters = {**OPEN_MPI, "btl_tcp_if_include": network([ipv4(client, clients) for client in clients])}
    env = environment() | {f"OMPI_MCA_{name}": value for name, value in parameters.items()}
    prefixes = {client.name: [*ranks.prefix(client), f"TMPDIR={room(client)}"] for client in clients}
    process = first.launcher.spawn(
        launcher_way, prefixes, ranks.argv, count=ranks.count, log=ranks.log, env=env
    )
    try:
        codes(ranks.name, {first.name: process}, until_s=until_s, time_limit_s=time_limit_s)
        check(ranks.name, process.returncode or 0, ranks.log.read_text(errors="replace"))
    finally:
        stop([process])
