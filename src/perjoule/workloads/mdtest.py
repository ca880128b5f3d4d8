"""mdtest: many small files or folders created, statted or removed by the ranks of an MPI program.
https://github.com/hpc/ior, https://ior.readthedocs.io

A trial is one operation. It moves no user data: operations count. Every rank reports how long it took from a
common barrier; the start is the moment at which the last rank reached the barrier, known to a few
milliseconds (`--run-cmd-before-phase`). mdtest reports no latencies. Making and removing the few parent
folders is not counted.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Mounted, Workload
from perjoule.machine.untrusted import json_of, read_as, text_of
from perjoule.model import OPTIONS, ClientResult, Clock, InstalledFolder, Outcome
from perjoule.model.doubts import TIMES
from perjoule.model.errors import MovedTooLittle
from perjoule.model.units import Seconds
from perjoule.workloads import _mpi as mpi
from perjoule.workloads._raw import RunClocks, keep_doubts, noted, prepared_doubts, reading
from perjoule.workloads._running import cold, require_common

EXAMPLE = """
[[workload]]
kind = "mdtest"
operation = ["create", "stat", "remove"]
files = 1000
"""

FLAGS = {"create": "-C", "stat": "-T", "remove": "-r"}
COLUMNS = {"create": "creation", "stat": "stat", "remove": "removal"}
TREE = "mdtest"  # the folder that all is done in
RANKS = "ranks.csv"
SHORTEST_S = 0.1
_READY = re.compile(r"^(?:([\w.-]+):)?(\d+\.\d{9})$", re.MULTILINE)


@plain_dataclass(frozen=True)
class Before:
    """run.json of older folders: the clients, and all clocks before the run."""

    clients: tuple[str, ...]
    clock: Clock  # this machine's
    ahead_s: Mapping[str, float] = field(default_factory=dict[str, float])  # the clock of each client


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class MdTest(Workload):
    """Metadata operations by ranks inside the clients."""

    also_called: ClassVar[Mapping[str, str]] = {
        "n": "files = {value}",
        "i": "repetitions = {value} above the first table",
        "np": "ranks = {value} divided by the number of clients",
        "numtasks": "ranks = {value} divided by the number of clients",
    }

    operation: Literal["create", "stat", "remove"] = "create"
    """The operation on every file, as a separate phase."""

    files_count: Annotated[int, Field(ge=1, le=10_000_000)] = 1000
    """How many files each rank creates, stats or removes (`-n`)."""

    folders: bool = False
    """Folders (`-D`) instead of empty files (`-F`)."""

    ranks_count: Annotated[int, Field(ge=1, le=256)] = 1
    """Ranks in each client."""

    own_folder: bool = True
    """Whether each rank works in its own folder (`-u`), or all in the same."""

    reorder: bool = False
    """Stat what the next client created (`-N 1`), so no client answers from its own cache; caches are
    dropped anyway.
    """

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    prefix: InstalledFolder = ""
    """Prefix of the IOR and mdtest installation; "" takes PERJOULE_IOR_PREFIX, then the PATH."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.reorder and self.operation != "stat":
            raise ValueError('reorder is for operation "stat" (remove it)')
        return self

    @property
    def directions(self) -> tuple[Literal["write", "read"], ...]:
        """ "write" for operations that change the file system (create, remove), "read" for those that only
        look.
        """
        return ("read" if self.operation == "stat" else "write",)

    def moved_bytes(self, clients_count: int) -> int:
        """Return 0: no bytes are moved."""
        return 0

    def checks(self) -> tuple[Check, ...]:
        """Check for mdtest and Open MPI."""
        return mpi.checks("mdtest", self.prefix)

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove everything, create what will be statted or removed, then drop caches."""
        mpi.ready(clients, mounted, mpi.program("mdtest", self.prefix), folder)
        if len(clients) > 1:
            require_common("mdtest", clients, mounted)
        clients[0].run(
            ["rm", "-rf", "--", mounted.directories[clients[0].name] / TREE], timeout_s=self.time_limit_s
        )
        if self.operation != "create":
            self._load(clients, mounted, folder, "layout-", "create")
        for client in clients:
            client.run(["sync", "-f", mounted.directories[client.name]], timeout_s=self.time_limit_s)
        keep_doubts(folder, cold(clients, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports. Raises WorkloadError, TransientError."""
        with noted(folder, clients):
            self._load(clients, mounted, folder, "", self.operation)
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if less was done than requested, or a file is damaged."""
        with reading("mdtest's raw output", folder):
            ran, prepared = _ran(folder), prepared_doubts(folder)
            log = text_of(folder / "mdtest.log")
            client_of = mpi.client_of(ran.clients, self.ranks_count)
            column = f"{'Directory' if self.folders else 'File'} {COLUMNS[self.operation]}"
            done_of = ranks(text_of(folder / RANKS), column)
            began_s = barrier_s(log, len(client_of), ran)
            if lacking := [rank for rank in client_of if done_of.get(rank, (0, 0.0))[0] != self.files_count]:
                found_count = done_of.get(lacking[0], (0, 0.0))[0]
                problem = (
                    f"rank {lacking[0]} of mdtest did {found_count} of {self.files_count} operations and "
                    "reported no error"
                )
                raise MovedTooLittle(problem, where=client_of[lacking[0]])
            results = tuple(self._result(name, client_of, done_of, began_s) for name in ran.clients)
            shortest_s = min(result.ended_s - result.began_s for result in results)
            short = [TIMES.short_for_mdtest(shortest_s=shortest_s)] if shortest_s < SHORTEST_S else []
            return Outcome(engine(log), results, (*prepared, *ran.doubts({}), *short))

    def _result(
        self,
        client: str,
        client_of: Mapping[int, str],
        done_of: Mapping[int, tuple[int, float]],
        began_s: float,
    ) -> ClientResult:
        client_ranks = [done_of[rank] for rank, of in client_of.items() if of == client]
        return ClientResult(
            host=client,
            direction=self.directions[0],
            began_s=began_s,
            ended_s=began_s + max(took_s for _, took_s in client_ranks),
            moved_bytes=0,
            operations_count=sum(count for count, _ in client_ranks),
        )

    def _load(
        self, clients: Sequence[Host], mounted: Mounted, folder: Path, prefix: str, operation: str
    ) -> None:
        details = mpi.room(clients[0]) / RANKS
        argv = [
            mpi.program("mdtest", self.prefix),
            FLAGS[operation],
            "-D" if self.folders else "-F",
            "-d",
            TREE,
        ]
        argv += ["-n", str(self.files_count), f"--run-cmd-before-phase=date +${{{mpi.CLIENT}}}:%s.%N"]
        argv += [f"--saveRankPerformanceDetails={details}"]
        argv += ["-u"] if self.own_folder else []
        argv += ["-N", "1"] if self.reorder and operation == "stat" else []
        log = folder / f"{prefix}mdtest.log"
        mpi.run(clients, mounted, argv, ranks_count=self.ranks_count, log=log, time_limit_s=self.time_limit_s)
        (folder / f"{prefix}{RANKS}").write_bytes(clients[0].read(details))


def ranks(text: str, column: str) -> dict[int, tuple[int, float]]:
    """Return how many operations each rank did in one phase, and how long it took until its last.

    Args:
        text: the table of ranks; its row "all" is the sum over them.
        column: "File creation".

    Raises:
        ValueError, LookupError: it is truncated or something else.
    """
    done_of: dict[int, tuple[int, float]] = {}
    for row in csv.DictReader(text.splitlines()):
        if row["rank"] != "all":
            took_s = float(row[f"time-{column}"])
            done_of[int(row["rank"])] = (round(float(row[f"rate-{column}"]) * took_s), took_s)
    return done_of


def _ran(folder: Path) -> RunClocks:
    if "clock" not in json_of(folder / "run.json"):
        return read_as(RunClocks, folder / "run.json")
    before = read_as(Before, folder / "run.json")
    return RunClocks(
        before.clients, (before.clock, before.clock), {name: (s, s) for name, s in before.ahead_s.items()}
    )


def barrier_s(log: str, ranks_count: int, ran: RunClocks) -> float:
    """Return when the last rank was ready for the phase, in the monotonic clock. Raises ValueError if a
    rank's time is missing.

    Args:
        log: with a line "client-1:SECONDS" of each rank, by its client's clock.
        ranks_count: the number of such lines.
        ran: the clocks of the run.
    """
    moments = [float(ready_s) + ran.offset_of_s(name) for name, ready_s in _READY.findall(log)]
    if len(moments) != ranks_count:
        raise ValueError(f"{len(moments)} of {ranks_count} ranks reported when they were ready")
    return max(moments)


def engine(log: str) -> str:
    """Return mdtest's version from its output. Raises ValueError if it has none."""
    match = re.search(r"^(mdtest-\S+) was launched", log, re.MULTILINE)
    if match is None:
        raise ValueError("mdtest printed nothing")
    return match[1]
