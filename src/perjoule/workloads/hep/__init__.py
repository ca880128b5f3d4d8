"""The muon analysis of high energy physics, with Dask on the hosts that hold the data:
https://distributed.dask.org, https://uproot.readthedocs.io

After M. J. Schnepf et al., "Benchmark of a Cubieboard cluster"
(https://doi.org/10.1088/1742-6596/664/5/052032), section 4: the invariant mass of muon pairs, one task per
file, each on a host that holds the file. The data set is generated with known peaks, so the physics results
can be checked.
"""

import json
import random
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, ComputesInHosts, Host, Mounted, Process, Workload
from perjoule.machine.installing import installs
from perjoule.machine.untrusted import json_of
from perjoule.model import OPTIONS, Direction, InstalledFolder, Json, Outcome
from perjoule.model.doubts import UNLIKE
from perjoule.model.errors import ProgramFailed, WorkloadError
from perjoule.model.spectrum import MassSpectrum
from perjoule.model.units import MIB, Bytes, Seconds
from perjoule.workloads._muons.data import EVENT_BYTES, file_name
from perjoule.workloads._raw import noted, reading
from perjoule.workloads._running import codes, cold, daemons_first, last_words, require_common, stop
from perjoule.workloads.hep import dask, peaks, report

EXAMPLE = """
[[workload]]
kind = "hep"
size = "128 MiB"
locality = [true, false]
"""

LIBRARIES = ("uproot", "awkward", "vector", "hist", "scipy", "distributed", "cryptography")
# of the bytes of a file, as only the columns are read that the analysis needs; in the paper 0.74
READ_RATIO = 0.67
SHORT_S = 60.0  # for commands on one file
FILE_MIPS_S = 230.0  # seconds of a processor that 7-zip rates 1 MIPS; on twelve boards and on four


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Hep(Workload, ComputesInHosts):
    """Read a data set of muons in ROOT files and find the Z and the J/psi in it."""

    start_mips_s: ClassVar[float] = 5000.0  # a Dask worker, with the libraries that it loads

    size_bytes: Bytes = 128 * MIB
    """Size of the data set before compression, all files together; the paper's had 259.9 GB."""

    files_count: Annotated[int, Field(ge=1, le=9999)] = 16
    """Number of files; the paper's were 644."""

    tasks_per_file: Annotated[int, Field(ge=1, le=1000)] = 1
    """Tasks that share a file, each with as many of its events, so that few files give work to many workers.
    Each reads only its
    own part of the data. The paper had one task per file."""

    compression: Literal["none", "zlib", "lz4", "zstd"] = "zlib"
    """How the files are compressed; zlib is ROOT's default.

    The paper's cluster read uncompressed files, to save CPU time.
    """

    workers: Literal["storage", "clients", "data"] = "storage"
    """Where the analysis runs, with one worker of one thread per host: on the storage hosts, on the clients,
    or on those with the data: storage hosts, or the clients of a testbed that has none.
    """

    locality: bool = True
    """Whether a task runs on a host that holds its file's data; otherwise tasks go to workers in turn, in an
    order independent of
    where the data are."""

    scheduler_file: Annotated[InstalledFolder, Field(pattern=r"^(/.*)?$")] = ""
    """The scheduler file of a Dask that already runs, as the first client sees it. Its workers do the
    analysis, one on each host; perjoule neither starts nor ends them, and trusts what they send: the file is
    below a folder that --programs names. By default
    each trial has a Dask of its own."""

    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    """Seed of the data set: the same seed gives the same bytes."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @property
    def using(self) -> tuple[str, ...]:
        """The storage hosts, if the analysis runs there."""
        return () if self.workers == "clients" else ("storage",)

    @property
    def prepared_mips_s(self) -> float:
        """What the slowest server computes for files that are made and found."""
        return FILE_MIPS_S * self.files_count

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The direction: read."""
        return ("read",)

    @property
    def file_events_count(self) -> int:
        """The number of events in each file."""
        return max(1, self.size_bytes // self.files_count // EVENT_BYTES)

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of the files that the analysis needs, uncompressed."""
        return round(READ_RATIO * self.size_bytes)

    def stored_bytes(self, clients_count: int) -> int:
        """Return the bytes of the files, uncompressed."""
        return self.size_bytes

    def checks(self) -> tuple[Check, ...]:
        """Check for the libraries."""
        return tuple(_library(name) for name in LIBRARIES)

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Generate the data set unless it exists, locate its files, then drop caches."""
        workers = self._workers(clients)
        if absent := [host.name for host in workers if host.name not in mounted.directories]:
            problem = f"this file system is not mounted on {', '.join(absent)}, where the analysis should run"
            raise WorkloadError(problem, where="hep", next='write workers = "clients"')
        require_common(
            "the analysis", [host for host in clients if host.name in mounted.directories], mounted
        )
        first, files = clients[0], [file_name(number) for number in range(self.files_count)]
        place = self._place(mounted, first)
        if first.run(["test", "-e", place / "complete"], timeout_s=SHORT_S, check=False).returncode != 0:
            self._lay_out([host for host in clients if host.role == "client"], mounted, folder)
            first.run(["touch", place / "complete"], timeout_s=SHORT_S)
        first.run(["sync", "-f", place], timeout_s=self.time_limit_s)
        holders = {file: mounted.locate(place / file) for file in files}
        bare = sorted({host.name for host in clients if host.role == "storage"}.difference(*holders.values()))
        doubts = [UNLIKE.no_files(hosts=", ".join(bare))] if bare else []
        doubts += cold(clients, mounted)
        if (tasks_count := self.files_count * self.tasks_per_file) < len(workers):
            doubts.append(UNLIKE.few_tasks(tasks_count=tasks_count, workers_count=len(workers)))
        prepared = {
            "doubts": [doubt.data for doubt in doubts],
            "holders": holders,
            "tasks_per_file": self.tasks_per_file,
        }
        (folder / "prepared.json").write_text(json.dumps(prepared))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Analyse all files and read the results. Raises WorkloadError, TransientError."""
        workers = self._workers(clients)
        names = [host.name for host in workers]
        holders: dict[str, list[str]] = json_of(folder / "prepared.json")["holders"]
        job_options: dict[str, Json] = {
            "workers": list[Json](names),
            "directories": {host.name: str(self._place(mounted, host)) for host in workers},
            "tasks_per_file": self.tasks_per_file,
            "tasks": [
                {"file": file, "part": part, "workers": list[Json](able)}
                for (file, part), able in self.placed(holders, names).items()
            ],
        }
        with noted(folder, workers), daemons_first(mounted):
            limits = {"time_limit_s": self.time_limit_s}
            received_bytes = dask.job(
                clients[0], workers, job_options, folder, **limits, scheduler_file=self.scheduler_file
            )
        (folder / "received.json").write_text(json.dumps(received_bytes))
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder, and repeat the fits.

        Raises WorkloadError if a file was not analysed, or an output is damaged.
        """
        with reading("the raw output of the analysis", folder):
            return report.outcome(folder)

    def mass_spectrum(self, folder: Path) -> MassSpectrum:
        """Return the histogram of a raw folder, and its peaks. Raises OSError, ValueError, LookupError."""
        return peaks.peaks(report.spectrum(folder))

    def placed(
        self, holders: Mapping[str, Sequence[str]], workers: Sequence[str]
    ) -> dict[tuple[str, int], list[str]]:
        """Choose the workers that may do each task: a part (from 0) of a file.

        With locality, those that hold the file's data. If none does, and without locality: tasks in turns, in
        an order that is independent of where data lie and always the same.

        Args:
            holders: names of the hosts that hold each file's data.
            workers: names of the hosts with a worker.
        """
        tasks = [(file, part) for file in sorted(holders) for part in range(self.tasks_per_file)]
        shuffled = random.Random(self.seed).sample(tasks, len(tasks))
        turns = {task: [workers[n % len(workers)]] for n, task in enumerate(shuffled)}
        local = {
            file: [name for name in workers if name in holders[file]] for file in holders if self.locality
        }
        return {(file, part): local.get(file) or turns[file, part] for file, part in tasks}

    def _workers(self, hosts: Sequence[Host]) -> list[Host]:
        roles = {"storage": ["storage"], "clients": ["client"], "data": ["storage", "client"]}[self.workers]
        by_role = ([host for host in hosts if host.role == role] for role in roles)
        matching = next(filter(None, by_role), None)
        if not matching:
            raise WorkloadError(
                "there are no storage hosts to run the analysis on",
                where="hep",
                next='write workers = "clients"',
            )
        return matching

    def _place(self, mounted: Mounted, host: Host) -> Path:
        """Return the folder of this data set, as a host sees it."""
        name = f"hep-{self.file_events_count}x{self.files_count}-{self.tasks_per_file}-{self.compression}-{self.seed}"
        return mounted.directories[host.name] / name

    def _lay_out(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Have the clients write the files in turns, as the paper's were uploaded."""
        clients[0].run(["mkdir", "-p", self._place(mounted, clients[0])], timeout_s=SHORT_S)
        until_s = time.monotonic() + self.time_limit_s
        running: dict[str, Process] = {}
        try:
            for n, client in enumerate(clients[: self.files_count]):
                numbers = map(str, range(n, self.files_count, len(clients)))
                counts = (str(self.seed), str(self.file_events_count), str(self.tasks_per_file))
                arguments = [self._place(mounted, client), *counts, self.compression, *numbers]
                argv = [sys.executable, "-P", "-m", "perjoule.workloads._muons.data", *arguments]
                running[client.name] = client.spawn(argv, log=folder / f"layout-{client.name}.log")
            ended = codes(
                "the layout of the data set", running, until_s=until_s, time_limit_s=self.time_limit_s
            )
        finally:
            stop(running.values())
        for name, code in ended.items():
            if code:
                mounted.alive()
                raise ProgramFailed(
                    f"the data set could not be made (exit code {code}): "
                    f"{last_words(running[name].output())}",
                    where=name,
                )


def _library(name: str) -> Check:
    fix, look = installs("perjoule[hep]"), f"library {name} {sys.executable}"
    try:
        return Check(name, True, version(name), fix, look=look)
    except PackageNotFoundError:
        return Check(name, False, "not installed", fix, look=look)
