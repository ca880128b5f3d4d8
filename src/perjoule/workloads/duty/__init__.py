"""A load at a share of the maximum throughput, steady, in bursts, or along a day's profile, by fio.

The graduated loads of SPECpower, https://www.spec.org/power_ssj2008/, for file systems. fio:
https://fio.readthedocs.io

The maximum (100 %) is measured first in each trial, before the meters start, or stated. The paced load
follows: at one share, or at those of a profile in turn. A share of 0 means no load.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from dataclasses import dataclass as plain_dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule import drivers
from perjoule.drivers.protocols import Check, Host, Mounted, Workload
from perjoule.machine.untrusted import read_as
from perjoule.model import OPTIONS, Direction, Json, Outcome, Pattern, Spec
from perjoule.model.errors import WorkloadError
from perjoule.model.metrics import ASKED_LOAD, ERRORS, REACHED_LOAD
from perjoule.model.options import ProfileFile
from perjoule.model.units import (
    BYTES,
    MIB,
    RATES,
    SECONDS,
    Bytes,
    BytesPerSecond,
    Ratio,
    Seconds,
    bytes_text,
    exact_text,
)
from perjoule.workloads._raw import reading
from perjoule.workloads.duty.joining import joined, mean, pace_doubts, rate_bytes_per_s
from perjoule.workloads.duty.profile import LoadStep, profile_steps
from perjoule.workloads.duty.room import found_room_bytes

EXAMPLE = """
[[workload]]
kind = "duty"
operation = "read"
load = ["0 %", "25 %", "50 %", "100 %"]
size = "256 MiB"
duration = "20 s"
"""

FULL, STEP, RAW = "full-{}", "step-{}", "duty.json"
# to measure the maximum for long enough, and the most by which the bytes grow from one to the next
ATTEMPTS, GROWTH = 4, 4
# of what its files may take, to which they grow at most: copies and parity may be counted in neither
GROWN_RATIO = 0.25
MARGIN = 2  # times the bytes of a step: a file of this size is never at its end before the time is


@plain_dataclass(frozen=True)
class Paced:
    """duty.json: the maximum of all clients together, and the numbers of clients and of steps."""

    full_bytes_per_s: float
    clients_count: int
    steps_count: int

    @property
    def client_bytes_per_s(self) -> float:
        """The share of each client."""
        return self.full_bytes_per_s / self.clients_count


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Duty(Workload):
    """A paced load, at a share of the maximum throughput."""

    simulated_with: ClassVar[Mapping[str, Json] | None] = {
        "engine": "simulated",
        "size": "8 MiB",
        "transfer": "64 KiB",
        "duration": "0.4 s",
        "hour": "20 ms",
    }

    engine: Literal["fio", "simulated"] = "fio"
    """The load generator; "simulated" claims to load a simulated file system."""

    operation: Literal["write", "read", "randwrite", "randread"] = "write"
    """The operation of the clients."""

    transfer_bytes: Bytes = MIB
    """Bytes per I/O call."""

    size_bytes: Bytes = 256 * MIB
    """Bytes that each client moves to measure the maximum, for at most `duration`; more if they take less
    than half of it.
    """

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT). Otherwise writes may stay in it until the closing fsync."""

    full_bytes_per_s: BytesPerSecond | None = None
    """The maximum of all clients together, per second of wall time; measured first in each trial if
    omitted.
    """

    load_ratio: Ratio = 0.5
    """The share of the maximum; at 0 % there is no load, at 100 % clients are not limited."""

    duration_s: Seconds = 20.0
    """How long the load lasts, in wall time."""

    burst_s: Seconds | None = None
    """Length of bursts at full speed, with pauses between them that give the share; a steady pace if
    omitted.
    """

    tolerate_errors: bool = False
    """Continue after I/O errors of lost servers and count them, for campaigns with events, as
    `tolerate_errors` of fio does.
    """

    profile: ProfileFile | None = None
    """A CSV file with the columns hour and load, relative to the campaign, instead of `load` and
    `duration`: a day's shares.
    """

    hour_s: Seconds = 10.0
    """Wall time for an hour of the profile."""

    time_limit_s: Seconds = 600.0
    """Time limit of each of its loads, and of the layout before."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.profile is not None:
            try:
                profile_steps(self.profile.text, self.hour_s)
            except ValueError as error:
                raise ValueError(f"{self.profile.name} {error}") from None
        if max(step.duration_s for step in self.steps) >= self.time_limit_s:
            raise ValueError("a load lasts as long as time_limit (raise time_limit)")
        return self

    @cached_property
    def steps(self) -> tuple[LoadStep, ...]:
        """Return the shares in order."""
        if self.profile is not None:
            return profile_steps(self.profile.text, self.hour_s)
        return (LoadStep(self.load_ratio, self.duration_s),)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The direction of its operation; "idle" if every share is 0."""
        if not any(step.load_ratio for step in self.steps):
            return ("idle",)
        return ("write" if "write" in self.operation else "read",)

    @property
    def duration_limit_s(self) -> float:
        """The duration of all steps together."""
        return sum(step.duration_s for step in self.steps)

    @property
    def pattern(self) -> Pattern:
        """As configured."""
        return Pattern(
            self.transfer_bytes, "random" if self.operation.startswith("rand") else "sequential", self.direct
        )

    def moved_bytes(self, clients_count: int) -> int:
        """Return what it would move at the full rate, if that is stated or else what `size` says; not more
        than it will.
        """
        seconds = sum(step.load_ratio * step.duration_s for step in self.steps)
        return (
            round(seconds * self.full_bytes_per_s)
            if self.full_bytes_per_s
            else clients_count * self.size_bytes
        )

    def stored_bytes(self, clients_count: int) -> int:
        """Return what its files hold if `size` is enough to measure the maximum, or the rate is stated.

        Files of a faster load are larger, but no larger than there is room when it is prepared.
        """
        return MARGIN * max(clients_count * self.size_bytes, self.moved_bytes(clients_count))

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """Its duration, whatever the speed, and that of the first measurement."""
        return sum(step.duration_s for step in self.steps) + (
            0.0 if self.full_bytes_per_s else self.duration_s
        )

    def checks(self) -> tuple[Check, ...]:
        """Check what its engine needs."""
        return self._load(1.0, 0.0, self.size_bytes, self.duration_s).checks()

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Measure the maximum, unless it is stated; then prepare the first step.

        Raises:
            WorkloadError: its files don't fit, or as the engine.
        """
        room_bytes = inf if self.engine == "simulated" else found_room_bytes(clients[0], mounted)
        full_bytes_per_s = self.full_bytes_per_s or self._maximum(clients, mounted, folder, room_bytes)
        paced = Paced(full_bytes_per_s, len(clients), len(self.steps))
        if (needed_bytes := len(clients) * self._file_bytes(paced)) > room_bytes:
            rate, room = f"{bytes_text(full_bytes_per_s)}/s", bytes_text(room_bytes)
            problem = f"its files need {bytes_text(needed_bytes)} at {rate}, and there is room for {room}"
            raise WorkloadError(
                problem, where=clients[0].name, next="free space, or choose a shorter duration"
            )
        (folder / RAW).write_text(json.dumps(asdict(paced)))
        self.step(0, paced).prepare(clients, mounted, _made(folder / STEP.format(0)))

    def _maximum(self, clients: Sequence[Host], mounted: Mounted, folder: Path, room_bytes: float) -> float:
        """Measure the maximum in B/s for at least half of `duration`: caches and bursts are faster than a
        longer load.

        If the file system lacks room for that many bytes, fewer have to do.
        """
        size_bytes, rate, most_bytes = self.size_bytes, 0.0, GROWN_RATIO * room_bytes / len(clients)
        for attempt in range(1, ATTEMPTS + 1):
            load, room = (
                self._load(1.0, 0.0, size_bytes, self.duration_s),
                _made(folder / FULL.format(attempt)),
            )
            load.prepare(clients, mounted, room)
            outcome = load.run(clients, mounted, room)
            rate = rate_bytes_per_s(outcome.results)
            if outcome.ended_s - outcome.began_s >= self.duration_s / 2 or size_bytes >= most_bytes:
                break
            needed_bytes = round(MARGIN * rate * self.duration_s / len(clients))
            # a cache's speed would ask for too much
            larger_bytes = min(max(size_bytes, needed_bytes), GROWTH * size_bytes)
            size_bytes = int(min(larger_bytes, most_bytes))
        return rate

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load step by step. Raises as the engine does."""
        paced = self._paced(folder)
        for number in range(len(self.steps)):
            load, room = self.step(number, paced), _made(folder / STEP.format(number))
            if number:
                load.prepare(clients, mounted, room)
            load.run(clients, mounted, room)
        return self.outcome(folder)

    def outcome(self, folder: Path) -> Outcome:
        """Parse the reports of all steps. Raises WorkloadError."""
        with reading("what a paced load left", folder):
            return self._outcome(folder)

    def _outcome(self, folder: Path) -> Outcome:
        paced = self._paced(folder)
        outcomes = [self.step(n, paced).outcome(folder / STEP.format(n)) for n in range(len(self.steps))]
        joined_outcome = outcomes[0] if len(outcomes) == 1 else joined(outcomes)
        share = mean([step.load_ratio for step in self.steps], [step.duration_s for step in self.steps])
        times_s = [step_outcome.ended_s - step_outcome.began_s for step_outcome in outcomes]
        reached = mean(
            [rate_bytes_per_s(step_outcome.results) / paced.full_bytes_per_s for step_outcome in outcomes],
            times_s,
        )
        full = (
            f"{bytes_text(paced.full_bytes_per_s)}/s, "
            f"{'stated' if self.full_bytes_per_s else 'measured before'}"
        )
        doubted = (*joined_outcome.doubts, *pace_doubts(share, reached, outcomes))
        return replace(
            joined_outcome,
            doubts=tuple(dict.fromkeys(doubted)),
            measured={ASKED_LOAD: share, REACHED_LOAD: reached, **self._errors(outcomes)},
            note="; ".join(filter(None, (f"{share:.3g} of {full}", joined_outcome.note))),
        )

    def _errors(self, outcomes: Sequence[Outcome]) -> dict[str, float]:
        """Return the errors of all steps, where they are tolerated: steps without a load have none."""
        counts = (outcome.measured.get(ERRORS, 0.0) for outcome in outcomes)
        return {ERRORS: sum(counts)} if self.tolerate_errors else {}

    def _paced(self, folder: Path) -> Paced:
        with reading("what a paced load left", folder):
            paced = read_as(Paced, folder / RAW)
            if (
                paced.steps_count != len(self.steps)
                or paced.clients_count < 1
                or not paced.full_bytes_per_s > 0
            ):
                raise ValueError(
                    f"{paced.steps_count} steps of {paced.clients_count} clients at "
                    f"{paced.full_bytes_per_s} B/s"
                )
            return paced

    def step(self, number: int, paced: Paced) -> Workload:
        """Return the load of a step. All are on files of the same size, so that one layout does for reads."""
        load_ratio, duration_s = self.steps[number]
        if not load_ratio:
            return drivers.workload(
                Spec("idle", {"duration": exact_text(duration_s, SECONDS), "rest": "0 s"}, "")
            )
        size_bytes = self._file_bytes(paced)
        return self._load(
            load_ratio, paced.client_bytes_per_s, size_bytes, duration_s, tolerant=self.tolerate_errors
        )

    def _file_bytes(self, paced: Paced) -> int:
        """Return the size of each client's file: that of the largest step."""
        return round(
            MARGIN * max(step.load_ratio * step.duration_s for step in self.steps) * paced.client_bytes_per_s
        )

    def _load(
        self,
        load_ratio: float,
        client_bytes_per_s: float,
        size_bytes: int,
        duration_s: float,
        *,
        tolerant: bool = False,
    ) -> Workload:
        """Return a load of the engine at this share of the maximum of each client."""
        blocks_count = max(1, -(-size_bytes // self.transfer_bytes))
        options: dict[str, Json] = {
            "operation": self.operation,
            "transfer": exact_text(self.transfer_bytes, BYTES),
            "size": exact_text(blocks_count * self.transfer_bytes, BYTES),
            "duration": exact_text(duration_s, SECONDS),
        }
        if self.engine == "simulated":
            options["operation"] = self.operation.removeprefix("rand")
        else:
            options |= {"direct": self.direct, "time_limit": exact_text(self.time_limit_s, SECONDS)}
            options |= {"tolerate_errors": True} if tolerant else {}
        if load_ratio < 1 and self.burst_s and self.engine != "simulated":
            options["burst"] = exact_text(
                max(self.transfer_bytes, round(client_bytes_per_s * self.burst_s)), BYTES
            )
            options["pause"] = exact_text(self.burst_s * (1 - load_ratio) / load_ratio, SECONDS)
        elif load_ratio < 1:
            options["rate"] = exact_text(max(1, round(load_ratio * client_bytes_per_s)), RATES)
        return drivers.workload(Spec(self.engine, options, ""))


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder
