"""Files that raw folders of several tools share, read within limits and with type checks."""

import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perjoule.drivers.protocols import Host
from perjoule.machine.untrusted import UNEXPECTED, read_as, words
from perjoule.model import Clock
from perjoule.model.doubts import TIMES, Doubt
from perjoule.model.errors import UnexpectedOutput
from perjoule.workloads._start import clock_offsets_s

SET_S = 0.05  # change of a clock during a run, above which it is a doubt
LATE_S = 0.02  # after the common start, above which it is a doubt


@dataclass(frozen=True)
class RunClocks:
    """run.json: the clients, and all clocks before and after the run."""

    clients: tuple[str, ...]
    clocks: tuple[Clock, ...]  # this machine's
    # of each host: before, after
    ahead_s: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    start_utc_s: float | None = None  # of a start that was the same for all, by this machine's clock

    def __post_init__(self) -> None:
        if not self.clients or len(self.clocks) != 2:
            raise ValueError(
                f"{len(self.clients)} clients and {len(self.clocks)} clocks, but it needs at least one "
                "client and exactly two clocks"
            )

    @property
    def offset_s(self) -> float:
        """The monotonic clock minus UTC."""
        return self.clocks[0].monotonic_s - self.clocks[0].utc_s

    @property
    def drift_s(self) -> float:
        """By how much the clock was set meanwhile."""
        return (self.clocks[-1].monotonic_s - self.clocks[-1].utc_s) - self.offset_s

    def offset_of_s(self, client: str) -> float:
        """The monotonic clock minus the UTC of a client's own clock."""
        return self.offset_s - next(iter(self.ahead_s.get(client, ())), 0.0)

    def doubts(self, began_s: Mapping[str, float]) -> tuple[Doubt, ...]:
        """Return doubts about clocks that were set meanwhile, and late clients; `began_s` by client in the
        monotonic clock.
        """
        doubts = [
            TIMES.host_set(host=name, set_s=after_s - before_s)
            for name, (before_s, after_s) in self.ahead_s.items()
            if abs(after_s - before_s) > SET_S
        ]
        if abs(self.drift_s) > SET_S:
            doubts.append(TIMES.set(set_s=self.drift_s))
        if self.start_utc_s is not None:
            late_s = {name: began - self.start_utc_s - self.offset_s for name, began in began_s.items()}
            doubts += [
                TIMES.began_late(host=name, late_s=late) for name, late in late_s.items() if late > LATE_S
            ]
        return tuple(doubts)


@dataclass
class RunState:
    """The state of a run in progress."""

    ahead_s: Mapping[str, float]
    """By how much the clock of each host is ahead, at the start."""
    start_utc_s: float | None = None
    """The common start of all loads, if they had one."""


@contextmanager
def noted(folder: Path, clients: Sequence[Host]) -> Generator[RunState]:
    """Record in run.json the clients of the block, and all clocks before and after it.

    Raises TransientError.
    """
    clocks, run = [_clock()], RunState(clock_offsets_s(clients))
    yield run
    clocks.append(_clock())
    after_s = clock_offsets_s(clients)
    ahead_s = {name: [before_s, after_s[name]] for name, before_s in run.ahead_s.items()}
    clock_facts = {
        "clients": [c.name for c in clients],
        "clocks": clocks,
        "ahead_s": ahead_s,
        "start_utc_s": run.start_utc_s,
    }
    (folder / "run.json").write_text(json.dumps(clock_facts))


def _clock() -> dict[str, float]:
    return {"monotonic_s": time.monotonic(), "utc_s": time.time()}


@dataclass(frozen=True)
class Prepared:
    """prepared.json: doubts found before the run began."""

    doubts: tuple[Doubt, ...]


def keep_doubts(folder: Path, doubts: Sequence[Doubt], prefix: str = "") -> None:
    """Keep the doubts found before a run began. Raises OSError."""
    (folder / f"{prefix}prepared.json").write_text(json.dumps({"doubts": [doubt.data for doubt in doubts]}))


def prepared_doubts(folder: Path, prefix: str = "") -> tuple[Doubt, ...]:
    """Read the doubts found before a run began. Raises OSError, ValueError."""
    return read_as(Prepared, folder / f"{prefix}prepared.json").doubts


@contextmanager
def reading(name: str, folder: Path) -> Generator[None]:
    """Turn any error from a damaged raw folder into a WorkloadError of one sentence."""
    try:
        yield
    except (OSError, *UNEXPECTED) as error:
        raise UnexpectedOutput(f"{name} can't be read: {words(error)}", where=str(folder)) from error
