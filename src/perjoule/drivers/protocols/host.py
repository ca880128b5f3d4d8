"""A computer that takes commands, and the programs on it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from perjoule.model import Disk, Json, Permit
from perjoule.model.doubts import Doubt
from perjoule.model.hardware import Node


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
    switches_count: int | None = None  # context switches; None where they are not read every time


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
    def kill(self) -> None:
        """End it and its descendants by SIGKILL. Does nothing if it has ended."""

    @abstractmethod
    def output(self) -> str:
        """Return its output so far, stdout and stderr (one file, kept with the trial)."""


class Launcher(ABC):
    """Starts the ranks of one MPI program on several hosts at once, as their batch system can."""

    ways: tuple[str, ...]  # the best first; not all of them work with each MPI library
    facts: dict[str, Json]  # what was found to work, for the records of all trials

    @abstractmethod
    def spawn(
        self,
        method: str,
        prefixes: Mapping[str, Sequence[str]],
        argv: Sequence[str],
        *,
        count: int,
        log: Path,
        env: Mapping[str, str],
    ) -> Process:
        """Start `count` ranks on each host, numbered host by host; stdout and stderr are appended to `log`.

        Args:
            method: one of `ways`.
            prefixes: of the program on each host, by the host's name.
            argv: the program, the same on all.
            count: ranks on each host.
            log: a file of this machine.
            env: the whole environment of ranks, but for what the launcher itself adds.

        Raises:
            WorkloadError: it could not be started.
        """


# in a host's folder: the path of each folder that was made elsewhere for a run, in a file of its name
MADE = "made"
# in a simulated host's folder: a file that says for how long it rebuilds; it has work meanwhile
REBUILD = "rebuild-s"


class Host(ABC):
    """A computer that takes commands as argument lists, never as a shell string."""

    name: str
    role: str  # "storage", "metadata", "management" or "client"
    address: str
    node: Node | None = None  # the catalogue's hardware that it is or stands for
    # on this host's own disk: ours to fill, gone after the run; the same path seen from inside and outside
    directory: Path
    overwrite: tuple[Permit, ...] = ()  # raw devices that the campaign names and the user has confirmed
    mark: str = (
        # entry in the environment of all programs on it, NAME=VALUE; "": its network is its own, with nothing
        # of others
        ""
    )
    # of ranks on it and others; None: their workload starts them, one host at a time
    launcher: Launcher | None = None
    # CPU seconds (of `counters`) a second that are 100 % of its hardware
    cpu_capacity_cores: float | None = None

    # raises WorkloadError if a power state that was set for the campaign changed
    check_power: Callable[[], None] | None = None

    # size of the disk that is made for `directory`; None: `directory` is on a disk that others use
    disk_bytes: int | None = None

    memory_bytes: int | None = None  # that its programs and their page cache may take, if it is capped

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
            WorkloadError: it could not be started, or (with `check`) failed; the message ends with its last
                output.
            TransientError: it did not end in time (it was killed).
        """

    @abstractmethod
    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> Process:
        """Start a program that keeps running; stdout and stderr are appended to `log`.

        Raises WorkloadError.
        """

    @abstractmethod
    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "") -> None:
        """Write a file on the host, making its folders if necessary; `owner` is a user name."""

    @abstractmethod
    def read(self, path: Path) -> bytes:
        """Read a file as the host sees it (through its mounts). Raises WorkloadError if it can't."""

    @contextmanager
    def room(self, folder: Path, *files: str) -> Generator[Path]:
        """Lend a folder on the host that stands for `folder` of this machine; yields its path as the host's
        programs see it.

        It contains `files` of `folder`, and files that programs create there are in `folder` when the block
        has ended; until then, `read` shows them. Raises TransientError.
        """
        yield folder.resolve()

    @abstractmethod
    def tell(self, gate: Path, line: str) -> None:
        """Write a line to a program that waits at a gate below `directory` (`perjoule.workloads._start`),
        within milliseconds.

        The line is in the file `gate` + ".told" before it is in the pipe `gate`, if that exists. Raises
        WorkloadError.
        """

    def clock_offset(self) -> ClockOffset:
        """Compare its clock with this machine's, now. Raises TransientError: it does not answer."""
        return ClockOffset()

    def disturbances(self) -> tuple[Doubt, ...]:
        """Return what its answers since the last call say of pauses, and of its clock; () if nothing is
        known.
        """
        return ()

    @abstractmethod
    def counters(self) -> Counters:
        """Read the host's counters, at no cost to the host."""

    def ask_counters(self, *, switches: bool = False) -> Callable[[], Counters]:
        """Ask for the counters without waiting; the result, called, waits for them, so hosts answer side by
        side.

        With `switches`, context switches, too. Where they are costly to count, they are missing from readings
        that follow each other too soon, so only one caller may ask for them.
        """
        counters = self.counters()
        return lambda: counters

    @abstractmethod
    def disk(self, name: str, spec: Disk) -> Path:
        """Make a local file system on a separate disk and mount it in this host; it is removed with the host.

        Args:
            name: names its folder below `directory`; the returned path is where the host's programs see it.
            spec: the file system, its options and its device.

        If this host can't make a mirror, it makes a single disk, and `doubts` says so.

        Raises:
            CampaignError: this file system does not support such blocks, or no such device may be used here.
            MachineError: a tool or kernel support is missing, or the disk is full.
        """

    @property
    def copies_count(self) -> int:
        """The number of disks on which each byte is stored by `disk`."""
        return 1

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What could not be made on it as requested, for the records of all trials."""
        return ()

    def out_of_memory(self) -> str:
        """Return what the kernel killed here for lack of memory since the last call, in a clause; "" if
        nothing is known.
        """
        return ""

    @abstractmethod
    def drop_caches(self) -> None:
        """Write back and drop what the kernel caches of files.

        Raises WorkloadError if that is not permitted.
        """
