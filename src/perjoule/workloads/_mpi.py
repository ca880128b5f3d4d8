"""MPI programs with ranks inside the clients, by Open MPI 4. https://www.open-mpi.org/doc/v4.1/man1/mpirun.1.php

mpirun runs on the first client. For each of the others it calls an agent, usually ssh, to start its daemon (orted) there. Our
agent only writes down the command; perjoule reads it and starts it on the client like any other program. So it needs no ssh,
works wherever hosts are, and every process is a child of ours, ended with its host at the latest.

Ranks get a small environment that is always the same. They communicate by TCP, even within one client: killed processes would
leave shared memory in /dev/shm.
"""

import ipaddress
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Check, Host, Mounted, Process
from perjoule.machine import removal
from perjoule.model.errors import TransientError, WorkloadError
from perjoule.workloads._running import codes, daemons_first, last_words, stop

# Called with a host and a command; what is written is complete once it bears its name.
AGENT = '#!/bin/sh\nhost=$1\nshift\nprintf "%s\\n" "$*" > "$0.$host.part"\nmv "$0.$host.part" "$0.$host"\n'
PREFIX = "PERJOULE_IOR_PREFIX"  # of the environment, where the option is not set
CLIENT = "PERJOULE_CLIENT"  # of each rank's environment: the name of its client
KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH")  # of the environment
GLOBALS = (
    *("--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--leave-session-attached"),
    *("--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "plm_rsh_no_tree_spawn", "1"),
)
LOOK_S = 0.01  # at what the agent wrote
RARE_S = 0.05  # when all daemons are there
STUCK_S = 5.0
SHORT_S = 20.0
# What a mount says whose daemon is gone
GONE = ("Transport endpoint is not connected", "Input/output error", "Stale file handle", "Connection timed out")


def checks(name: str, prefix: str) -> tuple[Check, ...]:
    """Check for a program of the IOR suite and for Open MPI 4."""
    found = program(name, prefix)
    path = shutil.which(found)
    where = f"not in {Path(found).parent}" if Path(found).is_absolute() else "not on the PATH"
    fix = f"install IOR with Open MPI as its documentation says, then set {PREFIX} to its prefix"
    return (Check(name, bool(path), path or where, fix, look=f"program {found}"), _mpirun())


def has_api(path: str, api: str) -> Check:
    """Return whether a build of IOR has this I/O interface, according to its help."""
    with removal.scratch("perjoule-mpi-") as folder:  # MPI leaves one of its own where TMPDIR is
        env = {**os.environ, "TMPDIR": str(folder)}
        said = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=SHORT_S, check=False, env=env).stdout
    there = any(api in line for line in said.splitlines() if "API for I/O" in line)
    fix = "" if there else "build it with MPI-IO, or use another api"
    return Check(f"ior {api}", there, "built in" if there else "not built in", fix)


def _mpirun() -> Check:
    path = shutil.which("mpirun")
    fix, look = "apt-get install openmpi-bin", "program mpirun"
    if path is None:
        return Check("mpirun", False, "not found", fix, look=look)
    said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=SHORT_S, check=False).stdout
    version = said.strip().partition("\n")[0]
    if "(Open MPI) 4." not in version:
        return Check("mpirun", False, f"{path} is not Open MPI 4 ({version or 'no output'})", fix, look=look)
    return Check("mpirun", True, f"{path}, {version}", fix, look=look)


def program(name: str, prefix: str) -> str:
    """Return a program's path if a prefix is given, else its name."""
    prefix = prefix or os.environ.get(PREFIX, "")
    return str(Path(prefix, "bin", name).absolute()) if prefix else name


def room(client: Host) -> Path:
    """Return a client's own folder for the launch, and for reports that are read from there."""
    return client.directory / "mpi"


def run(
    clients: Sequence[Host],
    mounted: Mounted,
    argv: Sequence[str],
    *,
    ranks_count: int,
    log: Path,
    time_limit_s: float,
) -> None:
    """Run a program to its end with this many ranks per client, each in its client's folder in the file system.

    Ranks are numbered client by client. The program's output goes to `log`.

    Raises:
        TransientError: it is not done within the time limit, or a mount or daemon is gone.
        WorkloadError: it failed, with its message.
    """
    until_s = time.monotonic() + time_limit_s
    what = Path(argv[0]).name
    with daemons_first(mounted):
        for client in clients:
            # on a mount that is gone the disk below would be filled
            client.run(["test", "-d", mounted.directories[client.name]], timeout_s=SHORT_S)
            client.run(["rm", "-rf", room(client)], timeout_s=SHORT_S)
            client.run(["mkdir", "-p", room(client)], timeout_s=SHORT_S)
        addresses = {client.name: ipv4(client, clients) for client in clients}
        _run(what, clients, addresses, _command(addresses, clients, mounted, argv, ranks_count), log, until_s, time_limit_s)


def _run(
    what: str,
    clients: Sequence[Host],
    addresses: Mapping[str, str],
    argv: Sequence[str | Path],
    log: Path,
    until_s: float,
    time_limit_s: float,
) -> None:
    first, *others = clients
    agent = room(first) / "agent"
    for client in clients:  # each orted looks for it, too, though none but the first client's mpirun calls it
        client.put(AGENT, room(client) / "agent", mode=0o755)
    running: dict[str, Process] = {}
    try:
        running[first.name] = mpirun = first.spawn([*_clean(first), *argv], log=log)
        waiting = list(others)
        while mpirun.returncode is None and time.monotonic() < until_s:
            for client in list(waiting):
                if asked := _asked(first, Path(f"{agent}.{addresses[client.name]}")):
                    waiting.remove(client)
                    daemon_log = log.with_name(f"{log.stem}-orted-{client.name}.log")
                    running[client.name] = client.spawn(
                        [*_clean(client), *_at_home(daemon(asked), first, client)], log=daemon_log
                    )
            _daemons_live(running, mpirun)
            time.sleep(LOOK_S if waiting else RARE_S)
        codes(what, {first.name: mpirun}, until_s=until_s, time_limit_s=time_limit_s)
        check(what, mpirun.returncode or 0, log.read_text(errors="replace"))
    finally:
        stop(running.values())


def _at_home(words: Sequence[str], first: Host, client: Host) -> list[str]:
    """Return a client's own room for a path in the first client's: separate hosts have only their own."""
    return [word.replace(str(room(first)), str(room(client))) for word in words]


def _daemons_live(running: Mapping[str, Process], mpirun: Process) -> None:
    """Check the daemons: mpirun waits for ever for one that failed to start."""
    failed = next((name for name, process in running.items() if process is not mpirun and process.returncode), "")
    if failed:
        try:
            mpirun.wait(timeout_s=STUCK_S)  # it may be about to say why
        except TimeoutError:
            words = last_words(running[failed].output())
            raise WorkloadError(f"MPI's daemon ended with {running[failed].returncode}: {words}", where=failed) from None


def _command(
    addresses: Mapping[str, str], clients: Sequence[Host], mounted: Mounted, argv: Sequence[str], ranks_count: int
) -> list[str | Path]:
    net = network(addresses.values())
    words: list[str | Path] = ["mpirun", *GLOBALS, "--mca", "btl_tcp_if_include", net, "--mca", "oob_tcp_if_include", net]
    words += ["--mca", "plm_rsh_agent", room(clients[0]) / "agent"]
    for client in clients:
        host = ["--host", f"{addresses[client.name]}:{ranks_count}"]
        own = ["env", "-C", mounted.directories[client.name], f"{CLIENT}={client.name}"]
        words += ["-np", str(ranks_count), *host, *own, *argv, ":"]
    return words[:-1]


def _clean(client: Host) -> list[str]:
    """Return the prefix that runs a command in an environment of its own, because IOR prints all of it into its log."""
    kept = [f"{name}={os.environ[name]}" for name in KEPT if name in os.environ]
    return ["env", "-i", *kept, "LC_ALL=C.UTF-8", f"TMPDIR={room(client)}"]


def _asked(first: Host, path: Path) -> str:
    try:
        return first.read(path).decode()
    except WorkloadError:  # not yet
        return ""


def daemon(asked: str) -> list[str]:
    """Parse the command that the agent got, which is quoted for a remote shell, into an argument list.

    With a prefix, lines that set variables come first.
    """
    words = shlex.split(asked)
    starts = [number for number, word in enumerate(words) if Path(word).name == "orted"]
    if not starts:
        raise WorkloadError(f"mpirun tried to start something other than its daemon: {asked.strip()}", next="use Open MPI 4")
    return words[starts[0] :]


def ipv4(client: Host, clients: Sequence[Host]) -> str:
    """Return a client's IPv4 address; if its address is a name, another client looks it up.

    On the client itself its name is often 127.0.1.1. mpirun gets numbers because it would call its agent with a shortened name.

    Raises:
        WorkloadError: it has no address that others reach.
    """
    try:
        return str(ipaddress.IPv4Address(client.address))
    except ValueError:
        asked = next((other for other in clients if other is not client), client)
    said = asked.run(["getent", "ahostsv4", client.address], timeout_s=SHORT_S, check=False)
    found = said.stdout.split()[:1] if said.returncode == 0 else []
    if not found or (ipaddress.IPv4Address(found[0]).is_loopback and len(clients) > 1):
        told = f'MPI needs an IPv4 address, and {asked.name} finds {found[0] if found else "none"} for "{client.address}"'
        raise WorkloadError(told, where=client.name, next="set its IPv4 address in the testbed's table")
    return found[0]


def network(addresses: Iterable[str]) -> str:
    """Return the smallest network with all addresses: MPI uses the interfaces that have an address in it."""
    numbers = [int(ipaddress.IPv4Address(address)) for address in addresses]
    prefix = 32 - (min(numbers) ^ max(numbers)).bit_length()
    return str(ipaddress.ip_network((numbers[0], prefix), strict=False))


def check(what: str, returncode: int, log: str) -> None:
    """Judge how a run ended. Raises WorkloadError with the program's message, TransientError if a mount is gone."""
    if returncode == 0:
        return
    told = [line for line in log.splitlines() if any(word in line for word in ("ERROR", "failed", "Assertion"))]
    words = " | ".join(dict.fromkeys(line.strip() for line in told[:2])) or last_words(log.replace("---", ""))
    sentence = f"{what} failed (exit code {returncode}): {words}"
    if any(reason in words for reason in GONE):
        raise TransientError(sentence, next="check the file system's logs, kept with the trial")
    raise WorkloadError(sentence, next=f"{what}'s full output is kept with the trial")


def client_of(clients: Sequence[str], ranks_count: int) -> Mapping[int, str]:
    """Return the client of each rank."""
    return {rank: clients[rank // ranks_count] for rank in range(len(clients) * ranks_count)}
