"""rados bench: objects in Ceph's object store, without a file system.
https://docs.ceph.com/en/pacific/man/8/rados/

One rados per client, each on the client's own pool. All of them connect first; then they open their outputs,
which are pipes that nobody reads before the common start. It tells a mean and a longest latency, no
percentiles. What it reads is not compared with what was written (`--no-verify`).
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule import drivers
from perjoule.drivers.protocols import (
    Check,
    Host,
    LaysOut,
    MakesPools,
    Mounted,
    Need,
    RemakesPools,
    Workload,
    require_time,
)
from perjoule.machine.each import each
from perjoule.machine.untrusted import json_from, read_as, text_of
from perjoule.model import (
    OPTIONS,
    Channel,
    ClientResult,
    Direction,
    Json,
    Outcome,
    Pattern,
    Series,
    Spec,
)
from perjoule.model.doubts import TIMES, Doubt
from perjoule.model.errors import MovedTooLittle
from perjoule.model.units import BYTES, MIB, SECONDS, Bytes, Seconds, bytes_text, exact_text, seconds_text
from perjoule.workloads._raw import RunClocks, keep_doubts, noted, prepared_doubts, reading
from perjoule.workloads._running import cold, daemons_first
from perjoule.workloads._start import clock_offsets_s
from perjoule.workloads.rados import procedure
from perjoule.workloads.rados.start import together

EXAMPLE = """
[[workload]]
kind = "rados"
operation = ["write", "seq"]
object = "4 MiB"
size = "256 MiB"
"""

RUN_NAME = "perjoule"  # the object in which rados bench keeps what can be read
VERSION = "version.txt"
PREFIX = "benchmark_data"  # of the names of its objects
SHORTEST_S = 0.1
SHORT_S = 60.0  # for commands on one object


@plain_dataclass(frozen=True)
class Began:
    """rados's version, when each client began (in the monotonic clock), and doubts about it; run.json of
    older folders.
    """

    version: str
    began_s: Mapping[str, float]
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class RadosBench(Workload, LaysOut, RemakesPools):
    """Write objects, or read them in order or at random, with a number in flight per client."""

    needs: ClassVar[Need] = "pools"
    also_called: ClassVar[Mapping[str, str]] = {
        "b": "object = {bytes}",
        "t": "in_flight = {value}",
        "concurrent-ios": "in_flight = {value}",
        "seconds": "duration = {seconds}",
    }

    operation: Literal["write", "seq", "rand", "procedure"] = "write"
    """Write new objects; read each once, in order (seq); read random ones until the time is over (rand); or
    all in one window: make each client's pool, write, read in order, delete the pools (procedure).
    """

    object_bytes: Bytes = 4 * MIB
    """Size of an object, which is also the size of one operation."""

    size_bytes: Bytes = 256 * MIB
    """Bytes that each client writes, or has available to read."""

    in_flight_count: Annotated[int, Field(ge=1, le=1024)] = 16
    """Operations that a client has in flight at once (`-t`)."""

    duration_s: Seconds = 60.0
    """End the load after this time, in whole seconds, even if not all is moved; the only end of `rand`."""

    read_duration_s: Seconds = 60.0
    """End the reads of `procedure` after this time, in whole seconds."""

    pools_made_apart_s: Seconds = 30.0
    """Time between the creation of two pools in `procedure`; more if a pool takes longer to become
    healthy.
    """

    pools_deleted_apart_s: Seconds = 20.0
    """Time between the deletion of two pools in `procedure`."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.size_bytes % self.object_bytes:
            whole_bytes = max(1, self.size_bytes // self.object_bytes) * self.object_bytes
            size, object_size = bytes_text(self.size_bytes), bytes_text(self.object_bytes)
            raise ValueError(
                f'size "{size}" is not a whole number of objects of "{object_size}" (write '
                f'"{exact_text(whole_bytes, BYTES)}")'
            )
        limits = {"duration": self.duration_s}
        if self.operation == "procedure":
            limits["read_duration"] = self.read_duration_s
        for key, limit_s in limits.items():
            if limit_s % 1:
                raise ValueError(
                    f'rados bench counts in whole seconds (write {key} = "{math.ceil(limit_s)} s")'
                )
            if limit_s >= self.time_limit_s:
                raise ValueError(
                    f'{key} must be below time_limit, "{seconds_text(self.time_limit_s)}" (raise time_limit)'
                )
        return self

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions measured: one, or both of `procedure`."""
        if self.operation == "procedure":
            return ("write", "read")
        return ("write" if self.operation == "write" else "read",)

    @property
    def remakes_pools(self) -> bool:
        """Only `procedure` does."""
        return self.operation == "procedure"

    @property
    def pools_apart_s(self) -> tuple[float, float]:
        """Those of `procedure`."""
        return self.pools_made_apart_s, self.pools_deleted_apart_s

    @property
    def pattern(self) -> Pattern:
        """Object by object."""
        return Pattern(self.object_bytes, "random" if self.operation == "rand" else "sequential")

    @property
    def streaming_calls_count(self) -> int | None:
        """Those of objects in order."""
        return self.in_flight_count if self.operation != "rand" else None

    @property
    def duration_limit_s(self) -> float:
        """`duration`; once all of `size` is written or read in order, it ends earlier."""
        return self.duration_s + (self.read_duration_s if self._loads else 0.0)

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """No longer than `duration` and what is in flight then; of `procedure`, with the time between pools."""
        if self._loads:
            apart_s = (clients_count - 1) * sum(self.pools_apart_s)
            return apart_s + sum(load.loading_s(clients_count, bytes_per_s) for load in self._loads.values())
        in_flight_s = clients_count * self.in_flight_count * self.object_bytes / bytes_per_s
        return min(super().loading_s(clients_count, bytes_per_s), self.duration_s + in_flight_s)

    @cached_property
    def _loads(self) -> Mapping[str, Workload]:
        """Return the loads of `procedure`, by the name of their folder."""
        if self.operation != "procedure":
            return {}
        options: dict[str, Json] = {
            "object": exact_text(self.object_bytes, BYTES),
            "size": exact_text(self.size_bytes, BYTES),
            "in_flight": self.in_flight_count,
            "time_limit": exact_text(self.time_limit_s, SECONDS),
        }
        limits_s = {"write": ("write", self.duration_s), "read": ("seq", self.read_duration_s)}
        return {
            name: drivers.workload(
                Spec("rados", {**options, "operation": operation, "duration": exact_text(limit_s, SECONDS)})
            )
            for name, (operation, limit_s) in limits_s.items()
        }

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients, if time suffices; the amount that `rand` reads is known only
        afterwards.
        """
        return clients_count * self.size_bytes

    def laid_out_bytes(self, clients_count: int) -> int:
        """Return those of a read alone; `procedure` reads what it has written itself."""
        return clients_count * self.size_bytes if self.operation in ("seq", "rand") else 0

    def checks(self) -> tuple[Check, ...]:
        """Check for rados."""
        path = shutil.which("rados")
        return (
            Check(
                "rados",
                bool(path),
                path or "not found",
                fix="apt-get install ceph-common",
                look="program rados",
            ),
        )

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old objects before a write, write missing ones before a read, then drop caches."""
        if self._loads:
            procedure.prepare(clients, mounted)
            return
        if isinstance(mounted, MakesPools):
            for client in clients:
                mounted.make_pool(client.name)  # which a procedure before may have deleted
        bare = [
            client for client in clients if self.operation == "write" or not self._laid_out(client, mounted)
        ]
        each(bare, partial(self._remove, mounted=mounted))
        if self.operation != "write":
            self._load(
                bare, mounted, folder, "layout-", "write", math.ceil(self.time_limit_s), clock_offsets_s(bare)
            )
            for client in bare:
                made = report((folder / f"layout-{client.name}.json").read_text())[1]
                if made < self.objects_count:
                    problem = f"rados wrote {made} of {self.objects_count} objects and reported no error"
                    raise MovedTooLittle(problem, where=client.name)
                self._mark(client, mounted)
        keep_doubts(folder, cold(clients, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports. Raises WorkloadError, TransientError."""
        if self._loads:
            procedure.run(
                self._loads,
                clients,
                mounted,
                folder,
                made_apart_s=self.pools_made_apart_s,
                deleted_apart_s=self.pools_deleted_apart_s,
            )
            return self.outcome(folder)
        with noted(folder, clients) as run:
            run.start_utc_s = self._load(
                clients, mounted, folder, "", self.operation, round(self.duration_s), run.ahead_s
            )
        (folder / VERSION).write_text(_version(clients[0]))
        outcome = self.outcome(folder)
        for client, result in zip(clients, outcome.results, strict=True):
            if self.operation == "write" and result.operations_count == self.objects_count:
                self._mark(client, mounted)
        return outcome

    @property
    def objects_count(self) -> int:
        """Objects of each client."""
        return self.size_bytes // self.object_bytes

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder. Raises WorkloadError if a client moved nothing, or a file is damaged."""
        if self._loads:
            return procedure.outcome(self._loads, folder)
        with reading("the raw output of rados", folder):
            ran = _began(folder)
            all_doubts = (*prepared_doubts(folder), *ran.doubts)
            texts = {name: text_of(folder / f"{name}.json") for name in ran.began_s}
            results = tuple(
                result(name, self.operation, text, ran.began_s[name]) for name, text in texts.items()
            )
            require_time(results)
            series = tuple(goodput(client_result, texts[client_result.host]) for client_result in results)
            shortest_s = min(client_result.ended_s - client_result.began_s for client_result in results)
            if shortest_s < SHORTEST_S:
                all_doubts += (TIMES.short(shortest_s=shortest_s),)
            return Outcome(ran.version, results, all_doubts, series)

    def _load(
        self,
        clients: Sequence[Host],
        mounted: Mounted,
        folder: Path,
        prefix: str,
        operation: str,
        duration_s: int,
        ahead_s: Mapping[str, float],
    ) -> float | None:
        """Run one rados per client to its end, outputs named by prefix and client; gives the moment of the
        common start.
        """
        writes = ["--no-cleanup", "-b", str(self.object_bytes), "--max-objects", str(self.objects_count)]
        load = [
            "bench",
            str(duration_s),
            operation,
            "-t",
            str(self.in_flight_count),
            "--run-name",
            _name(mounted),
        ]
        load += writes if operation == "write" else ["--no-verify"]
        jobs = {prefix + client.name: (client, [*_rados(client, mounted), *load]) for client in clients}
        with daemons_first(mounted):
            return together(jobs, folder, ahead_s, time_limit_s=self.time_limit_s)

    def _marker(self, mounted: Mounted) -> str:
        return f"{_name(mounted)}-{self.objects_count}-{self.object_bytes}"

    def _mark(self, client: Host, mounted: Mounted) -> None:
        """Record in the pool that all its objects are complete."""
        client.run([*_rados(client, mounted), "create", self._marker(mounted)], timeout_s=SHORT_S)

    def _laid_out(self, client: Host, mounted: Mounted) -> bool:
        argv = [*_rados(client, mounted), "stat", self._marker(mounted)]
        return client.run(argv, timeout_s=SHORT_S, check=False).returncode == 0

    def _remove(self, client: Host, mounted: Mounted) -> None:
        argv = _rados(client, mounted)
        for name in client.run([*argv, "ls"], timeout_s=self.time_limit_s).stdout.split():
            if name.startswith("perjoule-"):
                client.run([*argv, "rm", name], timeout_s=SHORT_S)
        client.run([*argv, "cleanup", "--prefix", PREFIX], timeout_s=self.time_limit_s)


def _name(mounted: Mounted) -> str:
    """Name what this layout is known by in a pool, which trials share."""
    return "-".join(filter(None, (RUN_NAME, mounted.layout_name)))


def _began(folder: Path) -> Began:
    if not (folder / VERSION).exists():
        return read_as(Began, folder / "run.json")
    ran = read_as(RunClocks, folder / "run.json")
    began_s = {
        name: float(text_of(folder / f"{name}.began.txt")) + ran.offset_of_s(name) for name in ran.clients
    }
    return Began(text_of(folder / VERSION), began_s, ran.doubts(began_s))


def _rados(client: Host, mounted: Mounted) -> list[str | Path]:
    pool = mounted.pools[client.name]
    argv = ["rados", "--conf", pool.configuration, "--name", pool.user, "--pool", pool.name]
    argv += ["--keyring", pool.keyring] if pool.keyring else []
    return [*argv, *(["--namespace", pool.namespace] if pool.namespace else [])]


def _version(client: Host) -> str:
    stdout = client.run(["rados", "--version"], timeout_s=SHORT_S).stdout.split()
    return f"rados bench of {' '.join(stdout[:3])}"


def report(text: str) -> tuple[dict[str, Any], int]:
    """Find the report and its number of objects; every number in it is a string, and "hints = 1" may precede
    it.

    Raises:
        ValueError: it is missing or truncated.
    """
    begin = text.find("{")
    if begin < 0:
        raise ValueError("rados left no report")
    document: dict[str, Any] = json_from(text[begin:])
    return document, int(document.get("total_writes_made", document.get("total_reads_made", 0)))


def result(host: str, operation: str, text: str, began_s: float) -> ClientResult:
    """Return the result of one client: bytes exact, its time to the microsecond.

    Raises ValueError if it moved nothing.
    """
    document, operations_count = report(text)
    if not operations_count:
        raise ValueError(f"{host} moved nothing")
    return ClientResult(
        host=host,
        direction="write" if operation == "write" else "read",
        began_s=began_s,
        ended_s=began_s + float(document["total_time_run"]),
        moved_bytes=operations_count * _operation_bytes(document),
        operations_count=operations_count,
        latency_s={"mean": float(document["average_latency"]), "max": float(document["max_latency"])},
    )


def goodput(moved: ClientResult, text: str) -> Series:
    """Return one client's bytes per second over each second, like fio's; their sum is exact."""
    document, _ = report(text)
    rows = [(moved.began_s + int(row["sec"]), int(row["finished"])) for row in document["datas"]]
    inner = [row for row in rows if moved.began_s < row[0] < moved.ended_s]
    t_s = np.array([t for t, _ in inner] + [moved.ended_s])
    finished = np.array([count for _, count in inner] + [moved.operations_count], dtype=np.float64)
    duration_s = np.diff(t_s, prepend=moved.began_s)
    channel = Channel("rados", moved.host, "all", "goodput", "B/s", "window mean", "counter")
    return Series(
        channel, t_s, duration_s, np.diff(finished, prepend=0.0) * _operation_bytes(document) / duration_s
    )


def _operation_bytes(document: dict[str, Any]) -> int:
    return int(document.get("write_size") or document["read_size"])
