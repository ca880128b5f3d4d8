"""A load of a share of what the file system can, steady or in bursts, or along a day's profile, by fio.

The graduated loads of SPECpower, https://www.spec.org/power_ssj2008/, for file systems. fio: https://fio.readthedocs.io

What it can (100 %) is measured first in each trial, before the meters start, or stated. The paced load follows: for one share, or
for one after the other of a profile. A share of 0 is no load.
"""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from dataclasses import dataclass as plain_dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule import drivers
from perjoule.drivers.protocols import Check, Host, Mounted, Workload
from perjoule.machine.untrusted import read_as
from perjoule.model import OPTIONS, ClientResult, Direction, Json, Outcome, Pattern, Series, Spec, TextFile
from perjoule.model.doubts import UNLIKE, Doubt
from perjoule.model.units import (
    BYTES,
    MIB,
    RATES,
    RATIOS,
    SECONDS,
    Bytes,
    BytesPerSecond,
    Ratio,
    Seconds,
    bytes_text,
    exact_text,
    quantity,
)
from perjoule.workloads._raw import reading

EXAMPLE = """
[[workload]]
kind = "duty"
operation = "read"
load = ["0 %", "25 %", "50 %", "100 %"]
size = "256 MiB"
duration = "20 s"
"""

FULL, STEP, RAW = "full", "step-{}", "duty.json"
MARGIN = 2  # times the bytes of a step: a file of this size is never at its end before the time is
MISSED_RATIO = 0.05  # of the share, from which a load that falls short is a doubt
BETWEEN_RATIO = 0.05  # of a profile, from which the time between its steps is a doubt
DAY_HOURS = 24.0


class Step(NamedTuple):
    """A share of what the file system can, for a time."""

    load_ratio: float
    duration_s: float


@plain_dataclass(frozen=True)
class Paced:
    """duty.json: what the clients can together, how many they were, and how many steps there were."""

    full_bytes_per_s: float
    clients_count: int
    steps_count: int


def profile_steps(text: str, hour_s: float) -> tuple[Step, ...]:
    """Parse a day's profile: lines "hour,load" with the hour from which a share holds. Raises ValueError, with the line."""
    rows = list(csv.reader(text.splitlines()))
    if not rows or [word.strip() for word in rows[0]] != ["hour", "load"]:
        raise ValueError('line 1: write "hour,load"')
    found: list[tuple[float, float]] = []
    for number, row in enumerate(rows[1:], start=2):
        try:
            hour, load = float(row[0]), quantity(row[1].strip(), RATIOS, bare=True)
            found.append((hour, load))
        except (IndexError, ValueError):
            raise ValueError(f'line {number}: write an hour and a load, such as "8,40 %"') from None
        if not (0 <= hour < DAY_HOURS and 0 <= load <= 1) or (len(found) > 1 and hour <= found[-2][0]):
            raise ValueError(f"line {number}: hours rise from 0 to below 24, and loads are from 0 to 100 %")
    if not found or not any(load for _, load in found):
        raise ValueError("it has no line with a load")
    ends = [*(hour for hour, _ in found[1:]), DAY_HOURS]
    return tuple(Step(load, (end - hour) * hour_s) for (hour, load), end in zip(found, ends, strict=True))


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Duty(Workload):
    """A paced load, at a share of what the file system can."""

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
    """Bytes that each client moves to measure what the file system can, in `duration` at most."""

    direct: bool = False
    """Bypass the client's page cache (O_DIRECT). Otherwise writes may gather in it until the closing fsync."""

    full_bytes_per_s: BytesPerSecond | None = None
    """What all clients together can, per second of wall time; measured first in each trial if omitted."""

    load_ratio: Ratio = 0.5
    """The share of what they can; 0 is no load, and at 100 % they are not held back."""

    duration_s: Seconds = 20.0
    """How long the load lasts, in wall time."""

    burst_s: Seconds | None = None
    """Load in bursts of about this length, as fast as it can, with pauses that give the share; at a steady pace if omitted."""

    profile: TextFile | None = None
    """A CSV file with the columns hour and load, relative to the campaign, in place of `load` and `duration`: a day's shares."""

    hour_s: Seconds = 10.0
    """Wall time that stands for an hour of the profile."""

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
    def steps(self) -> tuple[Step, ...]:
        """Return the shares in order."""
        if self.profile is not None:
            return profile_steps(self.profile.text, self.hour_s)
        return (Step(self.load_ratio, self.duration_s),)

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The one of its operation; none of a share of 0."""
        if not any(step.load_ratio for step in self.steps):
            return ("idle",)
        return ("write" if "write" in self.operation else "read",)

    @property
    def duration_limit_s(self) -> float:
        """That of all steps."""
        return sum(step.duration_s for step in self.steps)

    @property
    def pattern(self) -> Pattern:
        """As configured."""
        return Pattern(self.transfer_bytes, "random" if self.operation.startswith("rand") else "sequential", self.direct)

    def moved_bytes(self, clients_count: int) -> int:
        """Return what it would move at the full rate, if that is stated or else what `size` says; not more than it will."""
        seconds = sum(step.load_ratio * step.duration_s for step in self.steps)
        return round(seconds * self.full_bytes_per_s) if self.full_bytes_per_s else clients_count * self.size_bytes

    def stored_bytes(self, clients_count: int) -> int:
        """Return the most that its files hold."""
        return MARGIN * max(clients_count * self.size_bytes, self.moved_bytes(clients_count))

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """Its duration, whatever the speed, and that of the first measurement."""
        return sum(step.duration_s for step in self.steps) + (0.0 if self.full_bytes_per_s else self.duration_s)

    def checks(self) -> tuple[Check, ...]:
        """Check what its engine needs."""
        return self._load(1.0, 0.0, self.size_bytes, self.duration_s).checks()

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Measure what the clients can, unless it is stated; then prepare the first step. Raises as the engine does."""
        full_bytes_per_s = self.full_bytes_per_s
        if full_bytes_per_s is None:
            load, room = self._load(1.0, 0.0, self.size_bytes, self.duration_s), _made(folder / FULL)
            load.prepare(clients, mounted, room)
            full_bytes_per_s = _rate_bytes_per_s(load.run(clients, mounted, room).results)
        paced = Paced(full_bytes_per_s, len(clients), len(self.steps))
        (folder / RAW).write_text(json.dumps(asdict(paced)))
        self.step(0, paced).prepare(clients, mounted, _made(folder / STEP.format(0)))

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
        paced = self._paced(folder)
        found = [self.step(n, paced).outcome(folder / STEP.format(n)) for n in range(len(self.steps))]
        whole = found[0] if len(found) == 1 else _joined(found)
        asked = _mean([step.load_ratio for step in self.steps], [step.duration_s for step in self.steps])
        times_s = [one.ended_s - one.began_s for one in found]
        reached = _mean([_rate_bytes_per_s(one.results) / paced.full_bytes_per_s for one in found], times_s)
        full = f"{bytes_text(paced.full_bytes_per_s)}/s, {'stated' if self.full_bytes_per_s else 'measured before'}"
        doubts = (*whole.doubts, *_doubts(asked, reached, found))
        return replace(
            whole,
            doubts=tuple(dict.fromkeys(doubts)),
            measured={"asked_load_ratio": asked, "load_ratio": reached},
            note="; ".join(filter(None, (f"{asked:.3g} of {full}", whole.note))),
        )

    def _paced(self, folder: Path) -> Paced:
        with reading("what a paced load left", folder):
            paced = read_as(Paced, folder / RAW)
            if paced.steps_count != len(self.steps) or paced.clients_count < 1 or not paced.full_bytes_per_s > 0:
                raise ValueError(f"{paced.steps_count} steps of {paced.clients_count} clients at {paced.full_bytes_per_s} B/s")
            return paced

    def step(self, number: int, paced: Paced) -> Workload:
        """Return the load of a step. All are on files of the same size, so that one layout does for reads."""
        load_ratio, duration_s = self.steps[number]
        if not load_ratio:
            return drivers.workload(Spec("idle", {"duration": exact_text(duration_s, SECONDS), "rest": "0 s"}, ""))
        client_bytes_per_s = paced.full_bytes_per_s / paced.clients_count
        most_bytes = max(step.load_ratio * step.duration_s for step in self.steps) * client_bytes_per_s
        return self._load(load_ratio, client_bytes_per_s, round(MARGIN * most_bytes), duration_s)

    def _load(self, load_ratio: float, client_bytes_per_s: float, size_bytes: int, duration_s: float) -> Workload:
        """Return a load of the engine, by each client at this share of what it can."""
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
        if load_ratio < 1 and self.burst_s and self.engine != "simulated":
            options["burst"] = exact_text(max(self.transfer_bytes, round(client_bytes_per_s * self.burst_s)), BYTES)
            options["pause"] = exact_text(self.burst_s * (1 - load_ratio) / load_ratio, SECONDS)
        elif load_ratio < 1:
            options["rate"] = exact_text(max(1, round(load_ratio * client_bytes_per_s)), RATES)
        return drivers.workload(Spec(self.engine, options, ""))


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _rate_bytes_per_s(results: Sequence[ClientResult]) -> float:
    """Return the throughput of all clients, in wall time: the bytes until the last one's end."""
    began_s, ended_s = min(one.began_s for one in results), max(one.ended_s for one in results)
    return sum(one.moved_bytes for one in results) / (ended_s - began_s)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def _joined(found: Sequence[Outcome]) -> Outcome:
    """Join steps: each client moved the bytes of all, from the first step's beginning to the last one's end."""
    began_s, ended_s = found[0].began_s, found[-1].ended_s
    loads: dict[str, list[ClientResult]] = {}
    for one in (one for step in found for one in step.results if one.direction != "idle"):
        loads.setdefault(one.host, []).append(one)
    results = tuple(
        ClientResult(
            host,
            own[0].direction,
            began_s,
            ended_s,
            sum(one.moved_bytes for one in own),
            sum(one.operations_count for one in own),
        )
        for host, own in loads.items()
    )
    engine = next(step.engine for step in found if any(one.direction != "idle" for one in step.results))
    doubts = tuple(dict.fromkeys(doubt for step in found for doubt in step.doubts))
    return Outcome(engine, results, doubts, Series.joined(series for step in found for series in step.series))


def _doubts(asked: float, reached: float, found: Sequence[Outcome]) -> Iterator[Doubt]:
    if asked < 1 and abs(reached - asked) > MISSED_RATIO * asked:
        yield UNLIKE.doubt(f"the load was {reached:.1%} of what the file system can, in place of {asked:.1%}")
    inside_s = sum(one.ended_s - one.began_s for one in found)
    whole_s = found[-1].ended_s - found[0].began_s
    if whole_s - inside_s > BETWEEN_RATIO * whole_s:
        between = f"{1 - inside_s / whole_s:.0%} of the window lie between the steps of the profile: lengthen hour"
        yield UNLIKE.doubt(between)
