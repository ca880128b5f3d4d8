"""elbencho: threads in each client that write or read files of their own, or objects.
https://github.com/breuner/elbencho

One elbencho runs on each client, all from a common start. A client's window runs from when its threads begin to
when its last one ends; of a write until `--sync`, which follows at once, has written back what the client's
kernel held. Servers behind FUSE are not asked to flush by it: when their disks held the data is told by the
write-back, as of any load. Random reads draw each offset anew: some blocks come again, others never.

Objects lie in each client's bucket. A `transfer` smaller than an object is a part of a multipart upload, or a
range; a random read draws the object, too. After a write the store's list is held against the report.
"""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Mounted, Need, Process, Workload, require_time
from perjoule.machine.each import each
from perjoule.machine.programs import programs
from perjoule.machine.scripts import BASH
from perjoule.machine.untrusted import json_of, read_as, text_of
from perjoule.model import OPTIONS, ClientResult, Direction, Outcome, Pattern
from perjoule.model.doubts import TIMES, Doubt
from perjoule.model.errors import MovedTooLittle, ProgramFailed
from perjoule.model.metrics import OBJECTS
from perjoule.model.units import BYTES, MIB, Bytes, Seconds, bytes_text, exact_text
from perjoule.workloads._raw import LATE_S, RunClocks, keep_doubts, noted, prepared_doubts, reading
from perjoule.workloads._running import SHORT_S, codes, cold, daemons_first, last_words, rooms, stop
from perjoule.workloads._start import Gates, clock_offsets_s
from perjoule.workloads.elbencho.amounts import TREES, count_of
from perjoule.workloads.elbencho.entries import S3_FIX, Entries, FileEntries, ObjectEntries, s3_lack
from perjoule.workloads.elbencho.phases import DATA, LoadPhase, flush_s, phase
from perjoule.workloads.elbencho.report import Row, rows

__all__ = ["DATA", "EXAMPLE", "TREES", "Elbencho", "LoadPhase", "Row", "count_of", "phase", "rows"]

EXAMPLE = """
[[workload]]
kind = "elbencho"
operation = ["write", "read"]
transfer = "1 MiB"
size = "256 MiB"
threads = 4
"""

SOURCE = "github.com/breuner/elbencho"
SECTOR_BYTES = 512
SHORTEST_S = 0.1
ROUNDED_S = 2e-3  # by which a flush may seem to begin before its write has ended: dates and times are to 1 ms
MOST_PARTS = 10_000  # of an object, by S3
LAYOUT, STORED = "layout-", "stored.json"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Elbencho(Workload):
    """Sequential or random writes or reads by threads, each with folders and files, or objects, of its own."""

    also_called: ClassVar[Mapping[str, str]] = {
        "t": "threads = {value}",
        "n": "folders = {value}, or files (-N)",
        "dirs": "folders = {value}",
        "s": "size = {bytes} times the files of a client",
        **dict.fromkeys(("b", "block"), "transfer = {bytes}"),
        "iodepth": "in_flight = {value}",
        "rand": 'operation = "randread", or randwrite',
        "hosts": "clients = {value} above the first table",
        "i": "repetitions = {value} above the first table",
        "iterations": "repetitions = {value} above the first table",
        "timelimit": "time_limit = {seconds}: exceeding it fails the trial",
    }

    access: Literal["folders", "buckets"] = "folders"
    """Whether it moves files, or objects of a store that speaks S3, whose names begin with their folders."""

    operation: Literal["write", "read", "randwrite", "randread"] = "write"
    """The operation of the threads; a random write fills whole files, in random order."""

    transfer_bytes: Bytes = MIB
    """Bytes per I/O call, or request (`-b`)."""

    size_bytes: Bytes = 256 * MIB
    """Bytes that each client moves, in files of one size."""

    threads_count: Annotated[int, Field(ge=1, le=1024)] = 1
    """Threads in each client (`-t`)."""

    folders_count: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Folders of each thread (`-n`); they are there before a write."""

    files_count: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Files in each folder (`-N`)."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT)."""

    in_flight_count: Annotated[int, Field(ge=1, le=1024)] = 1
    """I/O calls that each thread has in flight at once (`--iodepth`); of files, more than 1 need `direct`; of
    objects, all are of one."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        step_bytes = self.transfer_bytes * self._files_count
        if self.size_bytes % step_bytes:
            size_whole = exact_text(max(1, self.size_bytes // step_bytes) * step_bytes, BYTES)
            raise ValueError(
                f'size "{bytes_text(self.size_bytes)}" is not a whole number of transfers of '
                f'"{bytes_text(self.transfer_bytes)}" in each of {self._files_count} files (write "{size_whole}")'
            )
        if self.access == "buckets":
            self._possible_of_objects()
            return self
        if self.direct and self.transfer_bytes % SECTOR_BYTES:
            raise ValueError("direct I/O moves whole sectors of 512 B (make transfer a multiple of it)")
        if self.in_flight_count > 1 and not self.direct:
            raise ValueError(
                "a thread has several calls in flight only with direct I/O (write direct = true, or use threads)"
            )
        return self

    def _possible_of_objects(self) -> None:
        """Raises ValueError."""
        parts_count = self._file_bytes // self.transfer_bytes
        if self.operation == "randwrite":
            raise ValueError('S3 writes no object at random (write operation = "write")')
        if self.direct:
            raise ValueError("direct is of files (remove it, or access)")
        if self.in_flight_count > 1 and self._random:
            raise ValueError("a thread has one random read of objects in flight (use threads)")
        if self.in_flight_count > parts_count:
            raise ValueError(
                f"a thread moves one object at a time, which has {parts_count} in flight at most (lower in_flight, or "
                "transfer)"
            )
        if self.operation == "write" and parts_count > MOST_PARTS:
            raise ValueError(f"S3 allows {MOST_PARTS} parts of an object, not {parts_count} (raise transfer)")

    @property
    def _files_count(self) -> int:
        """Files of a client."""
        return self.threads_count * self.folders_count * self.files_count

    @property
    def _file_bytes(self) -> int:
        return self.size_bytes // self._files_count

    @property
    def _random(self) -> bool:
        return self.operation.startswith("rand")

    @property
    def _kind(self) -> type[Entries]:
        return ObjectEntries if self.access == "buckets" else FileEntries

    @property
    def _draws_objects(self) -> bool:
        return self.access == "buckets" and self._random

    @property
    def needs(self) -> Need:  # pyright: ignore[reportIncompatibleVariableOverride]
        """As `access` says."""
        return self.access

    @property
    def _direction(self) -> Literal["write", "read"]:
        return "write" if "write" in self.operation else "read"

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The one direction measured."""
        return (self._direction,)

    @property
    def pattern(self) -> Pattern:
        """By calls of one size."""
        return Pattern(self.transfer_bytes, "random" if self._random else "sequential", self.direct)

    @property
    def streaming_calls_count(self) -> int | None:
        """Those of one thread with one file; several would have other files, and requests open and end objects."""
        alone = self._files_count == 1 and not self._random and self.access == "folders"
        return self.in_flight_count if alone else None

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients."""
        return clients_count * self.size_bytes

    def checks(self) -> tuple[Check, ...]:
        """Check for elbencho, and whether it speaks S3."""
        (elbencho,) = programs({"elbencho": SOURCE}, "client")
        if self.access == "folders" or not elbencho.ok:
            return (elbencho,)
        return elbencho, _speaks_s3(elbencho.detail)

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old entries before a write, lay missing ones out before a read, then drop caches."""
        entries, writes = self._entries(mounted), self._direction == "write"
        each(clients, entries.require)
        bare = [client for client in clients if writes or not entries.laid_out(client)]
        each(bare, entries.empty)
        if options := entries.layout(filled=not writes):
            self._load(bare, entries, folder, LAYOUT, options, clock_offsets_s(bare))
        entries.settle(clients, () if writes else bare)
        keep_doubts(folder, cold(clients, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports. Raises WorkloadError, TransientError."""
        options = ["--write", *self._kind.flush] if self._direction == "write" else ["--read"]
        options += ["--block", str(self.transfer_bytes), "--iodepth", str(self.in_flight_count), "--lat"]
        options += ["--direct"] if self.direct else []
        options += ["--rand"] if self._random else []
        options += ["--s3randobj"] if self._draws_objects else []
        with noted(folder, clients) as run:
            run.start_utc_s = self._load(clients, self._entries(mounted), folder, "", options, run.ahead_s)
        return self.outcome(folder)

    def read_back(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome | None:
        """Count what the store has of the objects that were written."""
        entries = self._entries(mounted)
        if not isinstance(entries, ObjectEntries) or self._direction == "read":
            return None
        stored = dict(zip((client.name for client in clients), each(clients, entries.stored), strict=True))
        (folder / STORED).write_text(json.dumps(stored))
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if a client moved less than requested, or its store has less, or
        a file is damaged.
        """
        with reading("elbencho's raw output", folder):
            ran, prepared = read_as(RunClocks, folder / "run.json"), prepared_doubts(folder)
            loads = {name: self._phase(name, rows(text_of(folder / f"{name}.json"))) for name in ran.clients}
            results = tuple(self._result(name, load, ran.offset_of_s(name)) for name, load in loads.items())
            require_time(results)
            of_loads = [doubt for load in loads.values() for doubt in load.doubts]
            doubts = dict.fromkeys((*prepared, *ran.doubts({}), *of_loads, *_doubts(results)))
            stored = json_of(folder / STORED) if (folder / STORED).exists() else None
            if stored is not None:
                self._require_stored(ran.clients, stored)
            return Outcome(
                loads[ran.clients[0]].engine,
                results,
                tuple(doubts),
                measured=self._measured(len(results)),
                note="the store has all objects that it acknowledged" if stored is not None else "",
            )

    def _measured(self, clients_count: int) -> dict[str, float]:
        if self.access == "folders" or self._draws_objects:
            return {}
        return {OBJECTS: float(clients_count * self._files_count)}

    def _require_stored(self, clients: Sequence[str], stored: Mapping[str, Mapping[str, int]]) -> None:
        for name in clients:
            count, size_bytes = stored[name]["objects_count"], stored[name]["bytes"]
            if (count, size_bytes) != (self._files_count, self.size_bytes):
                problem = (
                    f"the store has {count} objects with {size_bytes} B, and acknowledged {self._files_count} with "
                    f"{self.size_bytes} B"
                )
                raise MovedTooLittle(problem, where=name)

    def _phase(self, client: str, report: Sequence[Row]) -> LoadPhase:
        """Return the load of a client, a write of files to the end of its flush.

        Raises:
            MovedTooLittle: it did less than requested.
            ValueError: it did something else, or contradicts itself.
        """
        name, flushes = self._direction.upper(), self._direction == "write" and bool(self._kind.flush)
        phases = ["SYNC", name, "SYNC"] if flushes else [name]
        names = [row["operation"] for row in report]
        if names != phases:
            raise ValueError(f"{client} reports {', '.join(names) or 'nothing'}, and not {', '.join(phases)}")
        row = report[phases.index(name)]
        for column, requested in self._request().items():
            if row[column] != requested:
                raise ValueError(f"the {column} of {client} was {row[column]}, and {requested} was requested")
        load = phase(row)
        moved = load.amounts[self._direction]
        entries_count = 0 if self._draws_objects else self._files_count  # it counts none that it draws
        if (moved.moved_bytes, moved.entries_count) != (self.size_bytes, entries_count):
            entries = "files" if self.access == "folders" else "objects"
            problem = (
                f"elbencho moved {bytes_text(moved.moved_bytes)} of {bytes_text(self.size_bytes)} in "
                f"{moved.entries_count} of {entries_count} {entries} and reported no error"
            )
            raise MovedTooLittle(problem, where=client)
        if not flushes:
            return load
        flush_began_s, flush_ended_s = flush_s(report[-1])
        if flush_began_s < load.ended_s - ROUNDED_S:
            raise ValueError(f"the flush of {client} began before its write had ended")
        return replace(load, ended_s=flush_ended_s)

    def _request(self) -> dict[str, str]:
        """Return what elbencho reports of a request, by column; it may change one by itself."""
        return {
            "path type": self._kind.path_type,
            "hosts": "1",
            "threads": str(self.threads_count),
            "dirs": str(self.folders_count),
            "files": str(self.files_count),
            "file size": str(self._file_bytes),
            "block size": str(self.transfer_bytes),
            "direct IO": f"{self.direct:d}",
            "random": f"{self._random:d}",
            "IO depth": str(self.in_flight_count),
        }

    def _result(self, client: str, load: LoadPhase, offset_s: float) -> ClientResult:
        moved = load.amounts[self._direction]
        return ClientResult(
            host=client,
            direction=self._direction,
            began_s=load.began_s + offset_s,
            ended_s=load.ended_s + offset_s,
            moved_bytes=moved.moved_bytes,
            operations_count=moved.calls_count,
            latency_s=load.latencies_s[self._direction],
        )

    def _entries(self, mounted: Mounted) -> Entries:
        """Return the entries of clients, by a name that tells how many there are of which size."""
        # What a random write leaves when it is ended has holes: it must never pass for a layout.
        holes = "holes" if self.operation == "randwrite" else "data"
        counts = (self.threads_count, self.folders_count, self.files_count, self._file_bytes)
        name = "-".join([holes, *map(str, counts)])
        return self._kind(mounted, name, self._files_count, self._file_bytes, self.time_limit_s)

    def _load(
        self,
        clients: Sequence[Host],
        entries: Entries,
        folder: Path,
        prefix: str,
        options: Sequence[str],
        ahead_s: Mapping[str, float],
    ) -> float:
        """Run one elbencho per client to its end, outputs named by prefix and client; gives the moment of the
        common start.
        """
        hosts = {prefix + client.name: client for client in clients}
        geometry = {
            "--threads": self.threads_count,
            "--dirs": self.folders_count,
            "--files": self.files_count,
            "--size": self._file_bytes,
            "--blockvarpct": 100,  # against compression and deduplication
        }
        counts = [word for option, value in geometry.items() for word in (option, str(value))]
        until_s = time.monotonic() + self.time_limit_s
        running: dict[str, Process] = {}
        with daemons_first(entries.mounted), rooms(clients, folder) as room_of:
            try:
                gates = Gates(hosts)
                for name, client in hosts.items():
                    # all three: else some versions append to files in /var/tmp
                    outputs = [
                        word
                        for form in ("json", "csv", "res")
                        for word in (f"--{form}file", room_of[client.name] / f"{name}.{form}")
                    ]
                    argv = ["elbencho", *options, *counts, *outputs, "--nolive", *entries.place(client)]
                    wait = f'{gates.command(name)} > /dev/null && exec "$@"'
                    running[name] = client.spawn(
                        [*BASH, wait, "perjoule-elbencho", *argv],
                        log=folder / f"{name}.log",
                        env=entries.environment(client),
                    )
                moment_s = gates.open(running, ahead_s, until_s=until_s)
                ended = codes("elbencho", running, until_s=until_s, time_limit_s=self.time_limit_s)
            finally:
                stop(running.values())
            for name, code in ended.items():
                if code:
                    output = running[name].output()
                    problem = f"elbencho failed (exit code {code}): {last_words(output)}"
                    raise ProgramFailed(problem, where=hosts[name].name, next=entries.advice(output))
        return moment_s


def _doubts(results: Sequence[ClientResult]) -> list[Doubt]:
    """Return doubts about late and short clients."""
    first_s = min(result.began_s for result in results)
    doubts = [
        TIMES.began_late(host=result.host, late_s=result.began_s - first_s)
        for result in results
        if result.began_s - first_s > LATE_S
    ]
    shortest_s = min(result.ended_s - result.began_s for result in results)
    return doubts + ([TIMES.short(shortest_s=shortest_s)] if shortest_s < SHORTEST_S else [])


def _speaks_s3(path: str) -> Check:
    text = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=SHORT_S, check=False
    ).stdout
    lack = s3_lack(text)
    return Check("elbencho with S3", not lack, lack or "built in", S3_FIX)
