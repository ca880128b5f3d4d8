"""Objects put or got over S3, a bucket or a part of one for each client.
https://docs.aws.amazon.com/AmazonS3/latest/API/

The engine is a program of ours (`perjoule.machine.buckets`) on each client, whose CPU seconds are measured. It
connects before the common start. Each object that is got is compared with what was put; what was put is
counted in the store after the window, and with `verify` got and compared. What is deleted must be gone then.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import (
    Check,
    Host,
    LaysOut,
    Mounted,
    Need,
    OffersBuckets,
    Process,
    Workload,
    able,
    require_time,
)
from perjoule.machine import buckets, removal
from perjoule.machine.buckets import engine
from perjoule.machine.each import each
from perjoule.machine.untrusted import json_from, json_of, read_as, text_of
from perjoule.model import OPTIONS, Channel, ClientResult, Direction, Outcome, Pattern, Series
from perjoule.model.doubts import TIMES, WORK, Doubt
from perjoule.model.errors import MovedTooLittle
from perjoule.model.metrics import ENGINE_CPU, ERRORS, OBJECTS
from perjoule.model.units import BYTES, MIB, Bytes, Seconds, bytes_text, exact_text, seconds_text
from perjoule.workloads._raw import RunClocks, keep_doubts, noted, prepared_doubts, reading
from perjoule.workloads._running import codes, cold, daemons_first, stop
from perjoule.workloads._start import Gates, clock_offsets_s

EXAMPLE = """
[[workload]]
kind = "s3"
operation = ["put", "get"]
object = "4 MiB"
size = "64 MiB"
"""

BACK, LAYOUT, STORED = "back-", "layout-", "stored.json"
WRITING = ("put", "delete")  # operations that change the store
SHORTEST_S = 0.1


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class S3(Workload, LaysOut):
    """Put objects, get them in order or at random, or ask for or delete them, with a number in flight per client."""

    needs: ClassVar[Need] = "buckets"
    also_called: ClassVar[Mapping[str, str]] = {"concurrent": "in_flight = {value}"}

    operation: Literal["put", "get", "rand", "head", "delete"] = "put"
    """Put new objects; get each once, in order (get); get random ones until the time is over (rand); ask for the
    attributes of each (head), or delete each, which move no bytes: operations count."""

    object_bytes: Annotated[Bytes, Field(ge=1)] = 4 * MIB
    """Size of an object."""

    size_bytes: Bytes = 256 * MIB
    """Bytes that each client puts, or has available to get."""

    in_flight_count: Annotated[int, Field(ge=1, le=256)] = 4
    """Operations that a client has in flight at once, each on a connection of its own."""

    duration_s: Seconds = 60.0
    """Begin no operation after this time, even if not all is moved; the only end of `rand`."""

    tolerate_errors: bool = False
    """Continue after errors (of HTTP, of the connection, of content) and count them, for campaigns with
    events. Otherwise the first error ends the load, and the trial fails."""

    verify: bool = False
    """Get what was put after the measured window, over cold caches, and compare it. What is got is always
    compared."""

    time_limit_s: Seconds = 600.0
    """Time limit of a run, and of the layout before it; exceeding it fails the trial."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.size_bytes or self.size_bytes % self.object_bytes:
            whole = exact_text(max(1, self.size_bytes // self.object_bytes) * self.object_bytes, BYTES)
            size, object_size = bytes_text(self.size_bytes), bytes_text(self.object_bytes)
            raise ValueError(
                f'size "{size}" is not a whole number of objects of "{object_size}" (write "{whole}")'
            )
        if self.duration_s >= self.time_limit_s:
            limit = seconds_text(self.time_limit_s)
            raise ValueError(f'duration must be below time_limit, "{limit}" (raise time_limit)')
        if self.verify and self.operation != "put":
            raise ValueError("verify is for what is put (remove verify: what is got is always compared)")
        if self.verify and self.tolerate_errors:
            raise ValueError(
                "with errors there is no telling what was put (remove verify, or tolerate_errors)"
            )
        if self.tolerate_errors and not self._moves:
            raise ValueError(
                f'"{self.operation}" moves no bytes that events would change (remove tolerate_errors)'
            )
        return self

    @property
    def _moves(self) -> bool:
        return self.operation in engine.MOVING

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The one direction measured: "write" also of what deletes."""
        return ("write" if self.operation in WRITING else "read",)

    @property
    def pattern(self) -> Pattern:
        """Object by object."""
        return Pattern(self.object_bytes, "random" if self.operation == "rand" else "sequential")

    @property
    def streaming_calls_count(self) -> int | None:
        """Those of objects in order."""
        return self.in_flight_count if self.operation in ("put", "get") else None

    @property
    def duration_limit_s(self) -> float:
        """`duration`; once all of `size` is put or got in order, it ends earlier."""
        return self.duration_s

    @property
    def objects_count(self) -> int:
        """Objects of each client."""
        return self.size_bytes // self.object_bytes

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """No longer than `duration`, and so long if it moves no bytes."""
        whole_s = super().loading_s(clients_count, bytes_per_s) if self._moves else self.duration_s
        return min(whole_s, self.duration_s)

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients, if time suffices; the amount that `rand` gets is known only
        afterwards.
        """
        return self.stored_bytes(clients_count) if self._moves else 0

    def stored_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients' objects."""
        return clients_count * self.size_bytes

    def laid_out_bytes(self, clients_count: int) -> int:
        """Return those of all objects, unless it puts them itself."""
        return 0 if self.operation == "put" else self.stored_bytes(clients_count)

    def checks(self) -> tuple[Check, ...]:
        """Check for what runs the engine on clients."""
        return buckets.checks()

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Remove old objects before a put, put what is missing before anything else, then drop caches."""
        puts = self.operation == "put"
        bare = [client for client in clients if puts or not self._laid_out(client, mounted)]
        each(bare, lambda client: self._ask(client, mounted, "remove", buckets.FOLDER))
        if not puts:
            self._load(bare, mounted, folder, LAYOUT, "put", self.time_limit_s, clock_offsets_s(bare))
            if short := [client.name for client in bare if not self._laid_out(client, mounted)]:
                problem = "the store does not list all objects that it acknowledged"
                raise MovedTooLittle(problem, where=", ".join(short))
        keep_doubts(folder, cold(clients, mounted))

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together and read the reports. Raises WorkloadError, TransientError."""
        with noted(folder, clients) as run:
            run.start_utc_s = self._load(
                clients, mounted, folder, "", self.operation, self.duration_s, run.ahead_s
            )
        return self.outcome(folder)

    def read_back(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome | None:
        """Count what the store has of what was put or deleted, and with `verify` get and compare it."""
        if self.operation not in WRITING:
            return None
        counts = each(clients, lambda client: self._stored(client, mounted))
        stored = dict(zip((client.name for client in clients), counts, strict=True))
        (folder / STORED).write_text(json.dumps(stored))
        outcome = self.outcome(folder)
        if self.verify:
            keep_doubts(folder, cold(clients, mounted), BACK)
            ahead_s = clock_offsets_s(clients)
            self._load(clients, mounted, folder, BACK, "get", self.time_limit_s, ahead_s, stored)
            outcome = self.outcome(folder)
        return outcome

    def outcome(self, folder: Path) -> Outcome:
        """Parse a raw folder.

        Raises WorkloadError if the store has less than it acknowledged, or what it deleted, or a file is damaged.
        """
        with reading("the raw output of s3", folder):
            ran = read_as(RunClocks, folder / "run.json")
            reports = {name: _report(folder / f"{name}.log") for name in ran.clients}
            results = tuple(self._result(name, report, ran) for name, report in reports.items())
            require_time(results)
            doubts = [*prepared_doubts(folder), *ran.doubts({r.host: r.began_s for r in results})]
            doubts += self._doubts(results, reports)
            counted = self.operation in WRITING and (folder / STORED).exists()
            stored = json_of(folder / STORED) if counted else None
            if stored is not None:
                self._require_stored(results, reports, stored)
            backs = {name: folder / f"{BACK}{name}.log" for name in ran.clients if self.verify}
            if backs and not all(path.exists() for path in backs.values()):
                doubts.append(WORK.not_read_back())
            elif backs:
                doubts += prepared_doubts(folder, BACK)
                self._require_same(results, {name: _report(path) for name, path in backs.items()})
            return Outcome(
                f"perjoule's S3 engine, Python {reports[results[0].host]['python']}",
                results,
                tuple(dict.fromkeys(doubts)),
                tuple(self._goodput(result, reports[result.host]) for result in results if self._moves),
                self._measured(reports),
                "; ".join(self._notes(stored is not None, bool(backs), reports)),
            )

    def _measured(self, reports: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
        errors_count = sum(sum(report["errors"].values()) for report in reports.values())
        return {
            **({OBJECTS: float(sum(r["operations"] for r in reports.values()))} if self._moves else {}),
            ENGINE_CPU: float(sum(report["cpu_s"] for report in reports.values())),
            **({ERRORS: float(errors_count)} if self.tolerate_errors else {}),
        }

    def _notes(
        self, counted: bool, compared: bool, reports: Mapping[str, Mapping[str, Any]]
    ) -> Sequence[str]:
        objects = "all objects that it acknowledged" if self._moves else "no object that it deleted"
        errors = sum((Counter[str](report["errors"]) for report in reports.values()), Counter[str]())
        return (
            *([f"the store has {objects}"] if counted else ()),
            *(["got and compared after the measured window"] if compared else ()),
            *(f"{count} x {kind}" for kind, count in errors.most_common()),
        )

    def _doubts(
        self, results: Sequence[ClientResult], reports: Mapping[str, Mapping[str, Any]]
    ) -> list[Doubt]:
        lengths_s = {result.host: result.ended_s - result.began_s for result in results}
        shares = {name: reports[name]["cpu_s"] / length_s for name, length_s in lengths_s.items()}
        doubts = [
            WORK.engine_busy(host=name, busy_ratio=share)
            for name, share in shares.items()
            if share > buckets.BUSY_RATIO and lengths_s[name] >= SHORTEST_S
        ]
        shortest_s = min(lengths_s.values())
        return doubts + ([TIMES.short(shortest_s=shortest_s)] if shortest_s < SHORTEST_S else [])

    def _result(self, name: str, report: Mapping[str, Any], ran: RunClocks) -> ClientResult:
        count, counts = report["operations"], report["per_second"]
        moved_bytes = count * self.object_bytes if self._moves else 0
        if report["bytes"] != moved_bytes or sum(counts) != count or not count:
            raise ValueError(f"the report of {name} contradicts itself")
        offset_s = ran.offset_of_s(name)
        return ClientResult(
            host=name,
            direction="write" if self.operation in WRITING else "read",
            began_s=report["began_s"] + offset_s,
            ended_s=report["ended_s"] + offset_s,
            moved_bytes=moved_bytes,
            operations_count=count,
            latency_s={key: float(value) for key, value in report["latency_s"].items()},
        )

    def _require_stored(
        self,
        results: Sequence[ClientResult],
        reports: Mapping[str, Mapping[str, Any]],
        stored: Mapping[str, Mapping[str, int]],
    ) -> None:
        """Require that the store has what it acknowledged, and no more but for what failed."""
        for result in results:
            count, size_bytes = stored[result.host]["objects_count"], stored[result.host]["bytes"]
            failed_count = sum(reports[result.host]["errors"].values())
            done_count = result.operations_count
            acknowledged_count = done_count if self.operation == "put" else self.objects_count - done_count
            extra_count = count - acknowledged_count
            if not 0 <= extra_count <= failed_count or size_bytes != count * self.object_bytes:
                problem = (
                    f"the store has {count} objects with {size_bytes} B, and by what it acknowledged "
                    f"{acknowledged_count} with {acknowledged_count * self.object_bytes} B"
                )
                raise MovedTooLittle(problem, where=result.host)

    def _require_same(self, results: Sequence[ClientResult], backs: Mapping[str, Mapping[str, Any]]) -> None:
        for result in results:
            if (count := backs[result.host]["operations"]) < result.operations_count:
                problem = f"{count} of {result.operations_count} objects were read back"
                raise MovedTooLittle(problem, where=result.host)

    def _goodput(self, result: ClientResult, report: Mapping[str, Any]) -> Series:
        """Return one client's bytes per second over each second; their sum is exact."""
        counts = np.array(report["per_second"], dtype=np.float64)
        t_s = np.append(result.began_s + 1.0 + np.arange(len(counts) - 1), result.ended_s)
        if len(t_s) > 1 and t_s[-1] <= t_s[-2]:  # the last object came right at a second's end
            t_s, counts = np.delete(t_s, -2), np.append(counts[:-2], counts[-2:].sum())
        duration_s = np.diff(t_s, prepend=result.began_s)
        channel = Channel("s3", result.host, "all", "goodput", "B/s", "window mean", "counter")
        return Series(channel, t_s, duration_s, counts * self.object_bytes / duration_s)

    def _prefix(self, mounted: Mounted) -> str:
        layout = f"{mounted.layout_name}/" if mounted.layout_name else ""
        return f"{buckets.FOLDER}{layout}{self.object_bytes}/"

    def _ask(self, client: Host, mounted: Mounted, operation: str, prefix: str) -> dict[str, Any]:
        bucket = able(mounted, OffersBuckets).bucket(client.name)
        return buckets.ask(client, bucket, operation, prefix, timeout_s=self.time_limit_s)

    def _stored(self, client: Host, mounted: Mounted) -> dict[str, Any]:
        return self._ask(client, mounted, "stored", self._prefix(mounted))

    def _laid_out(self, client: Host, mounted: Mounted) -> bool:
        stored = self._stored(client, mounted)
        return (stored["objects_count"], stored["bytes"]) == (self.objects_count, self.size_bytes)

    def _load(
        self,
        clients: Sequence[Host],
        mounted: Mounted,
        folder: Path,
        prefix: str,
        operation: str,
        duration_s: float,
        ahead_s: Mapping[str, float],
        stored: Mapping[str, Mapping[str, int]] | None = None,
    ) -> float | None:
        """Run one engine per client to its end, logs named by prefix and client; gives the moment of the
        common start.
        """
        if not clients:
            return None
        hosts = {prefix + client.name: client for client in clients}
        programs = dict(zip(hosts, each(clients, buckets.send), strict=True))
        until_s = time.monotonic() + self.time_limit_s
        running: dict[str, Process] = {}
        with daemons_first(mounted):
            try:
                gates = Gates(hosts)
                for name, client in hosts.items():
                    removal.remove_file(log := folder / f"{name}.log")
                    load = buckets.request(
                        able(mounted, OffersBuckets).bucket(client.name),
                        operation,
                        self._prefix(mounted),
                        object_bytes=self.object_bytes,
                        count=stored[client.name]["objects_count"] if stored else self.objects_count,
                        in_flight=self.in_flight_count,
                        duration_s=duration_s,
                        # other bytes in each trial, against deduplication
                        seed=f"{client.name} {mounted.layout_name}",
                        tolerate_errors=self.tolerate_errors and not prefix,
                        wait=gates.argv(name),
                    )
                    running[name] = client.spawn([buckets.PYTHON, programs[name], load], log=log)
                moment_s = gates.open(running, ahead_s, until_s=until_s)
                ended = codes("s3", running, until_s=until_s, time_limit_s=self.time_limit_s)
                for name, code in ended.items():
                    if code:
                        raise buckets.refused(running[name].output(), hosts[name].name)
            finally:
                stop(running.values())
        return moment_s


def _report(log: Path) -> dict[str, Any]:
    return json_from(text_of(log).strip().rpartition("\n")[2])
