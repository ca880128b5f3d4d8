"""Ranks by Open MPI 4's mpirun. https://www.open-mpi.org/doc/v4.1/man1/mpirun.1.php

mpirun runs on the first client. For each of the others it calls an agent, usually ssh, to start its daemon
(orted) there. Our agent only writes down the command; perjoule reads it and starts it on the client like any
other program. So it needs no ssh, works wherever hosts are, and every process is a child of ours, ended with
its host at the latest.
"""

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.model.errors import ProgramFailed, WorkloadError
from perjoule.workloads._mpi.ranks import OPEN_MPI, Ranks, check, environment, ipv4, network, room
from perjoule.workloads._running import codes, last_words, stop

# Called with a host and a command; what is written is complete once it bears its name.
AGENT = '#!/bin/sh\nhost=$1\nshift\nprintf "%s\\n" "$*" > "$0.$host.part"\nmv "$0.$host.part" "$0.$host"\n'
GLOBALS = (
    *("--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--leave-session-attached"),
    *(argument for name, value in OPEN_MPI.items() for argument in ("--mca", name, value)),
    *("--mca", "plm_rsh_no_tree_spawn", "1"),
)
LOOK_S = 0.01  # at what the agent wrote
RARE_S = 0.05  # when all daemons are there
STUCK_S = 5.0


def run(clients: Sequence[Host], ranks: Ranks, *, time_limit_s: float) -> None:
    """Run a program to its end. Raises as `perjoule.workloads._mpi.run` does."""
    first, *further = clients
    until_s = time.monotonic() + time_limit_s
    addresses = {client.name: ipv4(client, clients) for client in clients}
    agent = room(first) / "agent"
    for client in clients:  # each orted looks for it, too, though none but the first client's mpirun calls it
        client.put(AGENT, room(client) / "agent", mode=0o755)
    running: dict[str, Process] = {}
    try:
        argv = _command(addresses, clients, ranks)
        running[first.name] = mpirun = first.spawn([*_clean(first), *argv], log=ranks.log)
        waiting = list(further)
        while mpirun.returncode is None and time.monotonic() < until_s:
            for client in list(waiting):
                if command := _asked(first, Path(f"{agent}.{addresses[client.name]}")):
                    waiting.remove(client)
                    daemon_log = ranks.log.with_name(f"{ranks.log.stem}-orted-{client.name}.log")
                    running[client.name] = client.spawn(
                        [*_clean(client), *_at_home(daemon(command), first, client)], log=daemon_log
                    )
            _daemons_live(running, mpirun)
            time.sleep(LOOK_S if waiting else RARE_S)
        codes(ranks.name, {first.name: mpirun}, until_s=until_s, time_limit_s=time_limit_s)
        check(ranks.name, mpirun.returncode or 0, ranks.log.read_text(errors="replace"))
    finally:
        stop(running.values())


def _at_home(argv: Sequence[str], first: Host, client: Host) -> list[str]:
    """Return a client's own room for a path in the first client's: separate hosts have only their own."""
    return [argument.replace(str(room(first)), str(room(client))) for argument in argv]


def _daemons_live(running: Mapping[str, Process], mpirun: Process) -> None:
    """Check the daemons: mpirun waits forever for one that failed to start."""
    failed = next(
        (name for name, process in running.items() if process is not mpirun and process.returncode), ""
    )
    if failed:
        try:
            mpirun.wait(timeout_s=STUCK_S)  # it may be about to say why
        except TimeoutError:
            message = last_words(running[failed].output())
            raise ProgramFailed(
                f"MPI's daemon ended with {running[failed].returncode}: {message}", where=failed
            ) from None


def _command(addresses: Mapping[str, str], clients: Sequence[Host], ranks: Ranks) -> list[str | Path]:
    net = network(addresses.values())
    argv: list[str | Path] = [
        "mpirun",
        *GLOBALS,
        "--mca",
        "btl_tcp_if_include",
        net,
        "--mca",
        "oob_tcp_if_include",
        net,
    ]
    argv += ["--mca", "plm_rsh_agent", room(clients[0]) / "agent"]
    for client in clients:
        host = ["--host", f"{addresses[client.name]}:{ranks.count}"]
        argv += ["-np", str(ranks.count), *host, *ranks.prefix(client), *ranks.argv, ":"]
    return argv[:-1]


def _clean(client: Host) -> list[str]:
    return [
        "env",
        "-i",
        *(f"{name}={value}" for name, value in environment().items()),
        f"TMPDIR={room(client)}",
    ]


def _asked(first: Host, path: Path) -> str:
    try:
        return first.read(path).decode(errors="replace")
    except WorkloadError:  # not yet
        return ""


def daemon(command: str) -> list[str]:
    """Parse the command that the agent got, which is quoted for a remote shell, into an argument list.

    With a prefix, lines that set variables come first.
    """
    argv = shlex.split(command)
    starts = [number for number, argument in enumerate(argv) if Path(argument).name == "orted"]
    if not starts:
        raise WorkloadError(
            f"mpirun tried to start something other than its daemon: {command.strip()}", next="use Open MPI 4"
        )
    return argv[starts[0] :]
