"""What all ranks have, however they are started: a folder, a small environment, and how their end is judged.

Ranks communicate by TCP, even within one client: killed processes would leave shared memory in /dev/shm.
"""

import ipaddress
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perjoule.drivers.protocols import Host
from perjoule.model.errors import MountLost, ProgramFailed, WorkloadError
from perjoule.workloads._running import last_words

CLIENT = "PERJOULE_CLIENT"  # of each rank's environment: the name of its client
KEPT = ("PATH", "HOME", "LD_LIBRARY_PATH")  # of the environment
OPEN_MPI = {"pml": "ob1", "btl": "self,tcp"}  # its parameters
SHORT_S = 20.0
# What a mount says whose daemon is gone
GONE = (
    "Transport endpoint is not connected",
    "Input/output error",
    "Stale file handle",
    "Connection timed out",
)


@dataclass(frozen=True)
class Ranks:
    """A program with this many ranks in each client, numbered client by client; its output goes to `log`."""

    argv: Sequence[str]
    folders: Mapping[str, Path]  # in which the ranks of each client start
    count: int
    log: Path

    @property
    def name(self) -> str:
        """The program's name."""
        return Path(self.argv[0]).name

    def prefix(self, client: Host) -> list[str]:
        """Return the prefix that runs it in its client's folder."""
        return ["env", "-C", str(self.folders[client.name]), f"{CLIENT}={client.name}"]


def room(client: Host) -> Path:
    """Return a client's own folder for the launch, and for reports that are read from there."""
    return client.directory / "mpi"


def environment() -> dict[str, str]:
    """Return an environment that is the same whoever runs perjoule, because IOR prints all of it into its
    log.
    """
    return {name: os.environ[name] for name in KEPT if name in os.environ} | {"LC_ALL": "C.UTF-8"}


def ipv4(client: Host, clients: Sequence[Host]) -> str:
    """Return a client's IPv4 address; if its address is a name, another client looks it up.

    On the client itself its name is often 127.0.1.1. mpirun gets numbers because it would call its agent with
    a shortened name.

    Raises:
        WorkloadError: it has no address that others reach.
    """
    try:
        return str(ipaddress.IPv4Address(client.address))
    except ValueError:
        resolver = next((candidate for candidate in clients if candidate is not client), client)
    answer = resolver.run(["getent", "ahostsv4", client.address], timeout_s=SHORT_S, check=False)
    looked_up = next(iter(answer.stdout.split()), "none") if answer.returncode == 0 else "none"
    try:
        address = ipaddress.IPv4Address(looked_up)
    except ValueError:
        address = None
    if address is None or (address.is_loopback and len(clients) > 1):
        problem = (
            f'MPI needs an IPv4 address, and {resolver.name} finds {looked_up[:60]} for "{client.address}"'
        )
        raise WorkloadError(problem, where=client.name, next="set its IPv4 address in the testbed's table")
    return str(address)


def network(addresses: Iterable[str]) -> str:
    """Return the smallest network with all addresses: MPI uses the interfaces that have an address in it."""
    numbers = [int(ipaddress.IPv4Address(address)) for address in addresses]
    prefix = 32 - (min(numbers) ^ max(numbers)).bit_length()
    return str(ipaddress.ip_network((numbers[0], prefix), strict=False))


def check(program: str, returncode: int, log: str) -> None:
    """Judge how a run ended.

    Raises WorkloadError with the program's message, TransientError if a mount is gone.
    """
    if returncode == 0:
        return
    complaints = [
        line for line in log.splitlines() if any(sign in line for sign in ("ERROR", "failed", "Assertion"))
    ]
    message = " | ".join(dict.fromkeys(line.strip() for line in complaints[:2])) or last_words(
        log.replace("---", "")
    )
    sentence = f"{program} failed (exit code {returncode}): {message}"
    if any(reason in message for reason in GONE):
        raise MountLost(sentence)
    raise ProgramFailed(sentence, next=f"{program}'s full output is kept with the trial")
