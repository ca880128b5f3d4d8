"""Computers that take commands: one, the programs on it, all of a group of trials, and the machine on which they run."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from perjoule.model import Disk, Json, Permit
from perjoule.model.errors import CampaignError, TransientError
from perjoule.model.hardware import Cluster, Node


@dataclass(frozen=True)
class Completed:
    """A command that has ended."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Counters:
    """A host's cumulative counters since some fixed moment; None if unknown on this host."""

    t_s: float
    cpu_s: float | None = None
    network_received_bytes: int | None = None
    network_sent_bytes: int | None = None
    disk_read_bytes: int | None = None
    disk_written_bytes: int | None = None
    disk_busy_s: float | None = None  # with at least one request under way, summed over the host's disks


@dataclass(frozen=True)
class ClockOffset:
    """By how much a host's clock (UTC) is ahead of this machine's, and the uncertainty."""

    offset_s: float = 0.0
    uncertainty_s: float = 0.0


class Process(ABC):
    """A program started with `Host.spawn`; it ends with its host at the latest."""

    @property
    @abstractmethod
    def returncode(self) -> int | None:
        """Its exit code, or None while it runs."""

    @abstractmethod
    def wait(self, *, timeout_s: float) -> int:
        """Wait for its end and return the exit code.

        Raises:
            TimeoutError: it still runs.
        """

    @abstractmethod
    def stop(self, *, timeout_s: float = 2.0) -> None:
        """End it: SIGTERM, then SIGKILL after the time limit. Does nothing if it has ended."""

    @abstractmethod
    def output(self) -> str:
        """Return its output so far, stdout and stderr (one file, kept with the trial)."""


class Host(ABC):
    """A computer that takes commands as argument lists, never as a shell string."""

    name: str
    role: str  # "storage", "metadata", "management" or "client"
    address: str
    node: Node | None  # the catalogue's hardware that it is or stands for
    directory: Path  # on this host's own disk: ours to fill, gone after the run; the same path seen from inside and outside
    overwrite: tuple[Permit, ...] = ()  # raw devices that the campaign names and the user has confirmed
    cpu_capacity_cores: float | None = None  # CPU seconds (of `counters`) a second that are 100 % of its hardware

    @abstractmethod
    def run(
        self,
        argv: Sequence[str | Path],
        *,
        timeout_s: float,
        check: bool = True,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end; `text` is its standard input.

        Raises:
            WorkloadError: it could not be started, or (with `check`) failed; the message ends with its last output.
            TransientError: it did not end in time (it was killed).
        """

    @abstractmethod
    def spawn(
        self, argv: Sequence[str | Path], *, log: Path, env: Mapping[str, str] | None = None, text: str | None = None
    ) -> Process:
        """Start a program that keeps running; stdout and stderr are appended to `log`. Raises WorkloadError."""

    @abstractmethod
    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "") -> None:
        """Write a file on the host, making its folders if necessary; `owner` is a user name."""

    @abstractmethod
    def read(self, path: Path) -> bytes:
        """Read a file as the host sees it (through its mounts). Raises WorkloadError if it can't."""

    @contextmanager
    def room(self, folder: Path) -> Generator[Path]:
        """Lend a folder on the host that stands for `folder` of this machine; yields its path as the host's programs see it.

        It contains the small files of `folder`, and files that programs create there are in `folder` when the block has ended;
        until then, `read` shows them. Raises TransientError.
        """
        yield folder.resolve()

    @abstractmethod
    def tell(self, gate: Path, line: str) -> None:
        """Write a line to a program that waits at a gate below `directory` (`perjoule.workloads._start`), within milliseconds.

        The line is in the file `gate` + ".told" before it is in the pipe `gate`, if that exists. Raises WorkloadError.
        """

    def clock_offset(self) -> ClockOffset:
        """Compare its clock with this machine's, now. Raises TransientError: it does not answer."""
        return ClockOffset()

    @abstractmethod
    def counters(self) -> Counters:
        """Read the host's counters, at no cost to the host."""

    @abstractmethod
    def disk(self, name: str, wanted: Disk) -> Path:
        """Make a local file system on a separate disk and mount it in this host; it is removed with the host.

        Args:
            name: names its folder below `directory`; the returned path is where the host's programs see it.
            wanted: the file system, its options and its device.

        If this host can't make a mirror, it makes a single disk, and `doubts` says so.

        Raises:
            CampaignError: this file system does not support such blocks, or no such device may be used here.
            MachineError: a tool or kernel support is missing, or the disk is full.
        """

    def device(self, name: str, *, size_bytes: int, device: str = "") -> Path:
        """Lend a raw block device; a file that stands for one is removed with the host.

        Args:
            name: names its folder below `directory`.
            size_bytes: of the sparse file that stands for a device.
            device: a device by its stable ID below /dev/disk, instead of a file; one of `overwrite`.

        Raises:
            CampaignError: no such device may be used here.
            MachineError: a tool or kernel support is missing, or the disk is full.
        """
        raise CampaignError("this host lends no block devices", where=self.name, next="use testbed virtual or local")

    @property
    def copies_count(self) -> int:
        """The number of disks on which each byte is stored by `disk`."""
        return 1

    @property
    def doubts(self) -> tuple[str, ...]:
        """What could not be made on it as requested, for the records of all trials."""
        return ()

    @abstractmethod
    def drop_caches(self) -> None:
        """Write back and drop the kernel's page cache. Raises WorkloadError if that is not permitted."""


class Machine(ABC):
    """The machine on which all hosts of a testbed run, with other programs. CPU times are cumulative."""

    covers: tuple[str, ...]  # names of the hosts whose counters are those of the whole machine

    @abstractmethod
    def cpu_s(self) -> float:
        """Return the CPU time of all programs and kernel threads, without interrupts. Raises OSError."""

    @abstractmethod
    def own_cpu_s(self) -> float:
        """Return the CPU time of perjoule, and of its ended children on the hosts in `covers`."""

    @abstractmethod
    def kernel_cpu_s(self) -> float:
        """Return the CPU time of kernel threads; costs milliseconds."""


@dataclass(frozen=True)
class Hosts:
    """The hosts held for a group of trials. Their emulated time runs at `scale` times wall time (1: real time)."""

    all: tuple[Host, ...]
    scale: float = 1.0
    cluster: Cluster | None = None
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])  # caps in force, calibration, kernel limits
    using: tuple[str, ...] = ()  # roles of hosts, besides clients, that work on the file system
    machine: Machine | None = None  # that they all run on; None: each is a machine of its own, or none is real

    def by_role(self, *roles: str) -> tuple[Host, ...]:
        """Return the hosts of these roles, in the order of the roles."""
        return tuple(h for role in roles for h in self.all if h.role == role)

    @property
    def clients(self) -> tuple[Host, ...]:
        """The hosts that load."""
        return self.by_role("client")

    @property
    def users(self) -> tuple[Host, ...]:
        """The hosts on which a file system is mounted: the clients, then hosts that also work on it."""
        return self.by_role("client", *self.using)

    @property
    def servers(self) -> tuple[Host, ...]:
        """All hosts inside the storage cluster, which a paper's power meter covers."""
        return self.by_role("storage", "metadata", "management")

    @property
    def bricks(self) -> tuple[Host, ...]:
        """The hosts with disks, storage hosts first, for a file system without separate metadata."""
        return self.by_role("storage", "metadata")

    def at(self, place: str) -> tuple[Host, ...]:
        """Return the hosts of a role (the chosen one for metadata and management), "bricks", "first storage", or "all"."""
        chosen = {"metadata": (self.metadata,), "management": (self.management,), "bricks": self.bricks, "all": self.all}
        return (chosen | {"first storage": self.by_role("storage")[:1]}).get(place) or self.by_role(place)

    @property
    def metadata(self) -> Host:
        """The host for metadata services."""
        return next(iter(self.by_role("metadata", "management", "storage")), self.all[0])

    @property
    def management(self) -> Host:
        """The host for monitors and managers."""
        return next(iter(self.by_role("management", "metadata", "storage")), self.all[0])


class PlannedHost(Host):
    """A host that is not held: a layout can be planned on it, and nothing can run."""

    def __init__(self, role: str, number: int) -> None:
        self.name, self.role, self.address, self.node = f"{role}-{number}", role, "", None
        self.directory = Path("/planned", self.name)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"{self.name} is only planned")

    run = spawn = put = read = tell = counters = disk = drop_caches = _refuse


def planned(roles: Iterable[str]) -> Hosts:
    """Return hosts of these roles to plan a layout on, before any is held."""
    found: list[Host] = []
    for role in roles:
        found.append(PlannedHost(role, 1 + sum(host.role == role for host in found)))
    return Hosts(tuple(found))


def wait_error(what: str, timeout_s: float, words: str) -> TransientError:
    """Return the error for a wait that timed out, with the daemon's last output."""
    last = " | ".join(line.strip() for line in words.strip().splitlines()[-3:]) or "nothing"
    return TransientError(f"{what} not reached within {timeout_s:g} s; it last said: {last}")
