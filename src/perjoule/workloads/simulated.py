"""A load that moves nothing and takes exactly as long as a simulated file system defines, to the last bit
of its times.
"""

import json
import math
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import REBUILD, Check, Host, Mounted, Workload
from perjoule.machine.untrusted import read_as
from perjoule.model import OPTIONS, Channel, ClientResult, Direction, Outcome, Pattern, Series
from perjoule.model.doubts import WORK, Doubt
from perjoule.model.errors import CampaignError, TransientError, WorkloadError
from perjoule.model.units import MIB, Bytes, BytesPerSecond, Seconds
from perjoule.workloads._raw import reading

EXAMPLE = """
[[workload]]
kind = "simulated"
operation = ["write", "read"]
size = "4 MiB"
"""

ENGINE = "simulated 1"
METER = "simulated workload"
# length of its log's windows, or more, so that there are no more of them
LOGGED_S, LOGGED_COUNT = 0.5, 10_000
LATE_TIMES = 20  # as long as any other: a call that is late


@plain_dataclass(frozen=True)
class Kept:
    """simulated.json: the results."""

    results: tuple[ClientResult, ...]
    doubts: tuple[Doubt, ...]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SimulatedLoad(Workload):
    """Each client waits for size / throughput; the simulated file system defines the throughput and its
    noise.
    """

    operation: Literal["write", "read"] = "write"
    """The direction in which it claims to move data."""

    size_bytes: Bytes = 4 * MIB
    """Bytes that each client claims to move."""

    transfer_bytes: Bytes = MIB
    """Bytes that one operation claims to move."""

    rate_bytes_per_s: BytesPerSecond | None = None
    """The most that each client claims to move per second; as much as the file system can by default."""

    duration_s: Seconds | None = None
    """End after this time at the latest; what was not moved by then is left out."""

    late_after_s: Seconds | None = None
    """From this time after the start on, calls claim to take 20 times as long, and to move as much as
    otherwise.
    """

    late_until_s: Seconds | None = None
    """Until this time after the start, calls claim so; until the end if only `late_after` is set."""

    programs_s: Seconds | None = None
    """For this time before the load, and again after it, programs of each client claim to use half a core."""

    fail_at_count: int = Field(default=0, ge=0)
    """Fail the n-th run on each deployment (from 1); 0 is never."""

    failure: Literal["stable", "transient", "doubt"] = "stable"
    """The kind of failure: permanent, transient (a fresh deployment follows), or success with a doubt."""

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The one direction measured."""
        return (self.operation,)

    @property
    def duration_limit_s(self) -> float:
        """`duration`."""
        return self.duration_s or math.inf

    @property
    def pattern(self) -> Pattern:
        """One after the other."""
        return Pattern(self.transfer_bytes, "sequential")

    @property
    def streaming_calls_count(self) -> int:
        """One."""
        return 1

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all clients."""
        return clients_count * self.size_bytes

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements."""
        return (Check("simulated workload", True, "needs nothing"),)

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Drop caches, as a real load does."""
        for client in clients:
            client.drop_caches()
        mounted.drop_caches()

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Wait until the slowest client is done.

        Raises:
            CampaignError: the file system is not a simulated one.
            TransientError, WorkloadError: it is configured to fail.
        """
        number = _count_run(_whole(mounted.directories[clients[0].name]) / "runs")
        fails = number == self.fail_at_count
        if fails and self.failure == "transient":
            raise TransientError(
                f"the simulated load fails in its run {number}, as configured", where=clients[0].name
            )
        if fails and self.failure == "stable":
            raise WorkloadError(
                f"the simulated load fails in its run {number}, as configured", where=clients[0].name
            )
        self._work(clients)
        rates = [throughput_bytes_per_s(mounted, client.name, number) for client in clients]
        began_s = time.monotonic()
        results = tuple(
            self._result(client.name, began_s, rate) for client, rate in zip(clients, rates, strict=True)
        )
        ended_s = max(result.ended_s for result in results)
        time.sleep(max(0.0, ended_s - time.monotonic()))
        self._work(clients)
        doubts = [WORK.configured().data] if fails else []
        (folder / "simulated.json").write_text(
            json.dumps({"results": [asdict(r) for r in results], "doubts": doubts})
        )
        return self.outcome(folder)

    def _work(self, clients: Sequence[Host]) -> None:
        if self.programs_s:
            for client in clients:
                client.put(f"{self.programs_s:g}", client.directory / REBUILD)
            time.sleep(self.programs_s)

    def _result(self, client: str, began_s: float, rate_bytes_per_s: float) -> ClientResult:
        rate_bytes_per_s = min(rate_bytes_per_s, self.rate_bytes_per_s or rate_bytes_per_s)
        size_bytes = (
            self.size_bytes
            if self.duration_s is None
            else min(self.size_bytes, round(rate_bytes_per_s * self.duration_s))
        )
        latency_s = min(self.transfer_bytes, self.size_bytes) / rate_bytes_per_s
        claimed = ClientResult(
            host=client,
            direction=self.operation,
            began_s=began_s,
            ended_s=began_s + size_bytes / rate_bytes_per_s,
            moved_bytes=size_bytes,
            operations_count=-(-size_bytes // self.transfer_bytes),
            latency_s=dict.fromkeys(("mean", "p50", "p95", "p99", "p99.9", "max"), latency_s),
        )
        return replace(claimed, latency_s=self._claimed_s(claimed)) if self._late_s[0] < math.inf else claimed

    @property
    def _late_s(self) -> tuple[float, float]:
        late = self.late_after_s or self.late_until_s
        return (self.late_after_s or 0.0, self.late_until_s or math.inf) if late else (math.inf, math.inf)

    def _claimed_s(self, of: ClientResult) -> dict[str, float]:
        """Return its latencies with those of the calls that are late."""
        latency, calls = self._latencies(of)
        order = np.argsort(latency.value, kind="stable")
        latency_s, so_far = latency.value[order], np.cumsum(calls.value[order])
        shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
        quantiles = {
            name: float(latency_s[np.searchsorted(so_far, share * so_far[-1])])
            for name, share in shares.items()
        }
        return {"mean": float(latency.value @ calls.value / so_far[-1]), **quantiles}

    def outcome(self, folder: Path) -> Outcome:
        """Read the results. Raises WorkloadError."""
        with reading("what the simulated load left", folder):
            raw = read_as(Kept, folder / "simulated.json")
            series = (
                series_of
                for result in raw.results
                for series_of in (_goodput(result), *self._latencies(result))
            )
            return Outcome(ENGINE, raw.results, raw.doubts, tuple(series))

    def _latencies(self, of: ClientResult) -> tuple[Series, Series]:
        """Return how many calls returned in each window, at an even pace, and how long each of them took."""
        length_s = of.ended_s - of.began_s
        edges_s = np.append(np.arange(0, length_s, max(LOGGED_S, length_s / LOGGED_COUNT)), length_s)
        late = (edges_s[1:] > self._late_s[0]) & (edges_s[1:] <= self._late_s[1])
        took_s = (
            length_s
            / of.moved_bytes
            * min(self.transfer_bytes, of.moved_bytes)
            * np.where(late, LATE_TIMES, 1)
        )
        count = np.diff(np.round(of.operations_count * edges_s / length_s))
        latency = Channel(METER, of.host, of.direction, "latency", "s", "window mean", "simulated")
        calls = Channel(METER, of.host, of.direction, "calls", "1", "window mean", "simulated")
        times = of.began_s + edges_s[1:], np.diff(edges_s)
        return Series(latency, *times, took_s), Series(calls, *times, count)


def throughput_bytes_per_s(mounted: Mounted, client: str, run_number: int) -> float:
    """Return a client's throughput in the n-th run on a deployment: the file system's, with reproducible
    noise.

    Raises:
        CampaignError: the file system is not a simulated one.
    """
    throughput, noise, seed = (
        mounted.facts.get(key) for key in ("throughput_bytes_per_s", "noise_ratio", "seed")
    )
    if not isinstance(throughput, float | int) or not isinstance(noise, float | int):
        raise CampaignError(
            "a simulated load needs a simulated file system",
            where="workload",
            next='set filesystem kind "simulated"',
        )
    deviation = random.Random(f"{seed} {client} {run_number}").gauss(0, 1)
    return throughput * max(0.1, 1 + noise * deviation)


def _goodput(result: ClientResult) -> Series:
    duration_s = result.ended_s - result.began_s
    channel = Channel(METER, result.host, "all", "goodput", "B/s", "window mean", "simulated")
    rate_bytes_per_s = result.moved_bytes / duration_s
    return Series(channel, np.array([result.ended_s]), np.array([duration_s]), np.array([rate_bytes_per_s]))


def _whole(place: Path) -> Path:
    """Return the folder of a deployment, below which each trial has its own."""
    return next(
        (folder.parent for folder in (place, *place.parents) if folder.name.startswith("trial-")), place
    )


def _count_run(file: Path) -> int:
    """Count the runs of a deployment, in the folder of its files."""
    number = 1 + (len(file.read_text()) if file.exists() else 0)
    file.write_text("." * number)
    return number
