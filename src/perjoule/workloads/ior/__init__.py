"""IOR: ranks of an MPI program that write or read files together. https://ior.readthedocs.io,
https://github.com/hpc/ior

A trial is one operation and one iteration: `repetitions` of the campaign repeat it. Each rank reports when it
opened its file and when it had closed it, so a client's window runs from its first rank's open to its last
rank's close, fsync included. IOR reports no latencies.
"""

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Mounted, Workload
from perjoule.machine.untrusted import read_as, text_of
from perjoule.model import OPTIONS, Direction, InstalledFolder, Outcome, Pattern
from perjoule.model.errors import MovedTooLittle, NotReady
from perjoule.model.units import BYTES, MIB, Bytes, Seconds, bytes_text, exact_text, seconds_text
from perjoule.workloads import _mpi as mpi
from perjoule.workloads._raw import RunClocks, keep_doubts, noted, prepared_doubts, reading
from perjoule.workloads._running import cold, remove_old, require_common
from perjoule.workloads.ior import report
from perjoule.workloads.ior.report import doubts, results

__all__ = ["EXAMPLE", "Ior", "doubts", "results"]

EXAMPLE = """
[[workload]]
kind = "ior"
operation = ["write", "read"]
transfer = "4 MiB"
size = "256 MiB"
"""

SUMMARY = "ior.json"
SEEN_S = 60.0  # longer than mounts remember that a file is not there
LOOK_S = 0.1


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Ior(Workload):
    """Sequential writes or reads by ranks inside the clients, a file per rank or one for all."""

    also_called: ClassVar[Mapping[str, str]] = {
        "t": "transfer = {bytes}",
        "transfersize": "transfer = {bytes}",
        "bs": "transfer = {bytes}",
        "b": "size = {bytes} times the ranks of a client",
        "blocksize": "size = {bytes} times the ranks of a client",
        "numtasks": "ranks = {value} divided by the number of clients",
        "fileperproc": "shared_file = false",
        "deadlineforstonewalling": "stonewall = {seconds}",
    }

    operation: Literal["write", "read"] = "write"
    """The operation of the ranks."""

    transfer_bytes: Bytes = 4 * MIB
    """Bytes per I/O call (`-t`)."""

    size_bytes: Bytes = 256 * MIB
    """Bytes that each client moves; its ranks move equal parts of it, in one block each (`-b`)."""

    ranks_count: Annotated[int, Field(ge=1, le=256)] = 1
    """Ranks in each client."""

    api: Literal["POSIX", "MPIIO"] = "POSIX"
    """The I/O interface of ranks (`-a`); MPI-IO needs a build with it."""

    collective: bool = False
    """Whether ranks use collective MPI-IO (`-c`)."""

    shared_file: bool = False
    """One file for all ranks of all clients, each with its own part, instead of a file per rank (`-F`)."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT)."""

    fsync: bool = True
    """End a write with fsync, inside the measured window (`-e`)."""

    reorder: bool = False
    """Read what the next client wrote (`-C`), so no client reads from its own cache; caches are dropped
    anyway.
    """

    stonewall_s: Seconds | None = None
    """End the load after this time, in whole seconds (`-D`): the bytes moved until then count."""

    wear_out: bool = False
    """After the stonewall, every rank continues until it has moved as much as the fastest, within the
    measured window.
    """

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    prefix: InstalledFolder = ""
    """Prefix of the IOR installation (`configure --prefix`); "" takes PERJOULE_IOR_PREFIX, then the PATH."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        step = self.transfer_bytes * self.ranks_count
        if self.size_bytes % step:
            size_whole = exact_text(max(1, self.size_bytes // step) * step, BYTES)
            parts = f'{self.ranks_count} ranks\' transfers of "{bytes_text(self.transfer_bytes)}"'
            raise ValueError(
                f'size "{bytes_text(self.size_bytes)}" is not a whole number of {parts} (write '
                f'"{size_whole}")'
            )
        if self.collective and self.api != "MPIIO":
            raise ValueError(f'collective is for api "MPIIO", not "{self.api}" (remove it)')
        if self.direct and self.api != "POSIX":
            raise ValueError(f'direct is for api "POSIX", not "{self.api}" (remove it)')
        if self.direct and self.transfer_bytes % 512:
            raise ValueError("direct I/O moves whole sectors of 512 B (make transfer a multiple of it)")
        if self.reorder and self.operation != "read":
            raise ValueError('reorder is for operation "read" (remove it)')
        if self.stonewall_s is not None and self.stonewall_s % 1:
            raise ValueError(
                f'IOR counts in whole seconds (write stonewall = "{math.ceil(self.stonewall_s)} s")'
            )
        if self.stonewall_s is not None and self.stonewall_s >= self.time_limit_s:
            raise ValueError(
                f'stonewall must be below time_limit, "{seconds_text(self.time_limit_s)}" (raise time_limit)'
            )
        if self.wear_out and self.stonewall_s is None:
            raise ValueError("wear_out needs a stonewall (set stonewall)")
        return self

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The one direction measured."""
        return (self.operation,)

    @property
    def pattern(self) -> Pattern:
        """In order, by transfers of one size."""
        return Pattern(self.transfer_bytes, "sequential", self.direct)

    @property
    def streaming_calls_count(self) -> int | None:
        """One of each rank; several ranks of a client, or all clients, would share or have other files."""
        return 1 if self.ranks_count == 1 and not self.shared_file else None

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients, unless a stonewall comes first."""
        return clients_count * self.size_bytes

    def checks(self) -> tuple[Check, ...]:
        """Check for IOR, with MPI-IO if it is requested, and Open MPI."""
        checked = mpi.checks("ior", self.prefix)
        # only a load starts what a campaign names
        if self.api == "MPIIO" and checked[0].ok and not self.prefix:
            checked += (mpi.has_api(checked[0].detail, "MPIIO"),)
        return checked

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old files before a write, lay missing ones out before a read, then drop caches."""
        mpi.ready(clients, mounted, mpi.program("ior", self.prefix), folder)
        if len(clients) > 1 and (self.shared_file or self.reorder):
            require_common("a shared file" if self.shared_file else "reorder", clients, mounted)
        if self.operation == "write" or not self._laid_out(clients, mounted):
            for client in clients:
                remove_old(client, mounted.directories[client.name], "ior.*", timeout_s=self.time_limit_s)
            if self.shared_file:
                self._create(clients, mounted)
            if self.operation == "read":
                self._load(
                    clients, mounted, folder, "layout-", ["-w", "-e", *self._pattern(), "-o", self._file()]
                )
        for client in clients:
            client.run(["sync", "-f", mounted.directories[client.name]], timeout_s=self.time_limit_s)
        keep_doubts(folder, cold(clients, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports.

        Raises:
            TransientError: a daemon died, or not all was done within the time limit.
            WorkloadError: it failed, with IOR's message, or moved less than requested.
        """
        load = ["-w" if self.operation == "write" else "-r", *self._pattern(), "-o", self._file()]
        load += ["-e"] if self.fsync and self.operation == "write" else []
        load += ["-C"] if self.reorder else []
        load += ["-D", f"{self.stonewall_s:.0f}"] if self.stonewall_s else []
        load += ["-O", "stoneWallingWearOut=1"] if self.wear_out else []
        with noted(folder, clients):
            self._load(clients, mounted, folder, "", load)
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if less was moved than requested, or a file is damaged."""
        with reading("IOR's raw output", folder):
            ran, prepared = read_as(RunClocks, folder / "run.json"), prepared_doubts(folder)
            summary = report.summary(text_of(folder / SUMMARY))
            log = text_of(folder / "ior.log")
            rank_of = mpi.client_of(ran.clients, self.ranks_count)
            windows = report.windows(
                log, self.operation, rank_of, {name: ran.offset_of_s(name) for name in ran.clients}
            )
            wanted_bytes = len(windows) * self.size_bytes
            moved_bytes = report.moved_bytes(summary, log, wanted_bytes)
            if not moved_bytes or (moved_bytes < wanted_bytes and self.stonewall_s is None):
                problem = (
                    f"IOR moved {bytes_text(moved_bytes)} of {bytes_text(wanted_bytes)} and reported no error"
                )
                raise MovedTooLittle(problem, where=str(folder))
            results = report.results(windows, self.operation, moved_bytes, self.transfer_bytes)
            equal = moved_bytes == wanted_bytes or self.wear_out
            doubts = (*prepared, *ran.doubts({}), *report.doubts(log, results, equal=equal))
            return Outcome(summary.version, results, doubts)

    def _pattern(self) -> list[str]:
        """Return the options that a layout and its readers share."""
        block_bytes = self.size_bytes // self.ranks_count
        argv = ["-a", self.api, "-t", str(self.transfer_bytes), "-b", str(block_bytes), "-k"]
        argv += ["-E"] if self.shared_file else ["-F"]
        argv += ["-c"] if self.collective else []
        return [*argv, "--posix.odirect"] if self.direct else argv

    def _file(self) -> str:
        # What a stonewalled write leaves must never pass for a layout.
        kind = (
            "part"
            if self.operation == "write" and self.stonewall_s
            else "shared"
            if self.shared_file
            else "rank"
        )
        return f"ior.{kind}"

    def _create(self, clients: Sequence[Host], mounted: Mounted) -> None:
        """Create the file that all ranks share, and check that every client sees it.

        If ranks on several mounts create one file at once, some randomly fail with "File exists"; `-E` keeps
        IOR from removing it.
        """
        clients[0].run(
            ["touch", mounted.directories[clients[0].name] / self._file()], timeout_s=self.time_limit_s
        )
        for client in clients:  # one may remember for a while that it was not there
            until_s = time.monotonic() + SEEN_S
            look = ["test", "-e", mounted.directories[client.name] / self._file()]
            while client.run(look, timeout_s=self.time_limit_s, check=False).returncode:
                if time.monotonic() > until_s:
                    problem = (
                        f"the shared file that {clients[0].name} created is not visible after {SEEN_S:.0f} s"
                    )
                    raise NotReady(
                        problem, where=client.name, next="check the file system's logs, kept with the trial"
                    )
                time.sleep(LOOK_S)

    def _laid_out(self, clients: Sequence[Host], mounted: Mounted) -> bool:
        """Return whether every file exists in its full size."""
        ranks_count = len(clients) * self.ranks_count
        whole_bytes = str(
            len(clients) * self.size_bytes if self.shared_file else self.size_bytes // self.ranks_count
        )
        names = {
            rank: self._file() if self.shared_file else f"{self._file()}.{rank:08}"
            for rank in range(ranks_count)
        }
        for number, client in enumerate(clients):
            client_names = [names[number * self.ranks_count + rank] for rank in range(self.ranks_count)]
            files = [mounted.directories[client.name] / name for name in dict.fromkeys(client_names)]
            stat = client.run(["stat", "--format=%s", *files], timeout_s=self.time_limit_s, check=False)
            if stat.returncode or set(stat.stdout.split()) != {whole_bytes}:
                return False
        return True

    def _load(
        self, clients: Sequence[Host], mounted: Mounted, folder: Path, prefix: str, load: Sequence[str]
    ) -> None:
        summary = mpi.room(clients[0]) / SUMMARY  # not in `folder`, whose path may have a comma
        argv = [mpi.program("ior", self.prefix), "-vvv", *load]  # verbose: the ranks' moments
        argv += ["-O", "summaryFormat=JSON", "-O", f"summaryFile={summary}"]
        log = folder / f"{prefix}ior.log"
        mpi.run(clients, mounted, argv, ranks_count=self.ranks_count, log=log, time_limit_s=self.time_limit_s)
        (folder / f"{prefix}{SUMMARY}").write_bytes(clients[0].read(summary))
