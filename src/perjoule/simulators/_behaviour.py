"""The behaviour of a simulated meter: a known power, and the faults of real meters on purpose, at random
or for a while.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from perjoule.model.waveform import Waveform

Fault = Literal[
    "late", "duplicate", "missing", "frozen", "nan", "wrap", "reset", "spike", "clock jump", "disconnect",
    "reversed", "zero", "unknown", "drip", "flood", "endless line", "deep", "garbage",
]  # fmt: skip
FAULTS: tuple[Fault, ...] = get_args(Fault)
# instead of an answer: see `_hostile`
HOSTILE: tuple[Fault, ...] = ("drip", "flood", "endless line", "deep", "garbage")
# Of a clamp the wrong way round, times the power; of meters that have none and say so with a number, in W.
SHOWN_W: Mapping[Fault, float] = {"reversed": -1.0, "zero": 0.0, "unknown": 65535.0}
SPIKE_FACTOR = 1000.0
JUMP_S = 3600.0  # by which a meter's own clock jumps


@dataclass(frozen=True)
class Truth:
    """The simulated meter's state at a moment, including the faults of its values."""

    power_w: float  # NaN: it has none, and says so in its protocol's way
    energy_j: float  # since it was started, or since its last reset or wrap
    clock_s: float  # seconds of UTC by the meter's own clock
    true_power_w: float
    true_energy_j: float


@dataclass(frozen=True)
class Manner:
    """How to answer one request, apart from the values."""

    delay_s: float = 0.0
    silent: bool = False  # no answer at all
    hang_up: bool = False  # close the connection, and refuse new ones while it lasts
    hostile: Fault | None = None  # what is sent instead of an answer


@dataclass
class Behaviour:
    """An exactly known power, with faults: each request draws, by `share_ratio`, whether one of `faults`
    affects it.

    Thread-safe. `truth()` is the answer of a server, `manner()` how it answers; a server calls `manner`
    first, once per request.
    """

    waveform: Waveform = field(default_factory=Waveform)
    faults: tuple[Fault, ...] = ()
    share_ratio: float = 0.1
    seed: int = 1
    # where the energy counter wraps; with the fault "wrap" and none given: every 100 s of high power
    range_j: float = math.inf
    late_s: float = 1.5  # how long a late answer takes
    away_s: float = 3.0  # for how long a meter is gone, or frozen
    now_s: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._dice, self._lock, self._began_s = random.Random(self.seed), threading.Lock(), self.now_s()
        self._fault: Fault | None = None
        self._until_s = -math.inf  # how long a fault that lasts does
        self._said: Truth | None = None
        self._reset_j = 0.0
        self._jump_s = 0.0
        if "wrap" in self.faults and math.isinf(self.range_j):
            self.range_j = 100.0 * self.waveform.high_w

    def manner(self) -> Manner:
        """Draw the fault of the next request, and return how to answer it."""
        with self._lock:
            now_s = self.now_s()
            if now_s >= self._until_s:
                # a wrap comes by itself
                menu: list[Fault] = [fault for fault in self.faults if fault != "wrap"]
                self._fault = (
                    self._dice.choice(menu) if menu and self._dice.random() < self.share_ratio else None
                )
                lasting = self._fault in ("frozen", "disconnect")
                self._until_s = now_s + self.away_s if lasting else now_s
            if self._fault == "reset":
                self._reset_j = self.waveform.energy_j(self._began_s, now_s)
            if self._fault == "clock jump":
                self._jump_s += JUMP_S
            return Manner(
                delay_s=self.late_s if self._fault == "late" else 0.0,
                silent=self._fault == "missing",
                hang_up=self._fault == "disconnect",
                hostile=self._fault if self._fault in HOSTILE else None,
            )

    def truth(self) -> Truth:
        """Return the meter's values at this moment."""
        with self._lock:
            now_s = self.now_s()
            power_w, energy_j = self.waveform.power_w(now_s), self.waveform.energy_j(self._began_s, now_s)
            counted_j = (
                (energy_j - self._reset_j) % self.range_j
                if math.isfinite(self.range_j)
                else energy_j - self._reset_j
            )
            truth = Truth(power_w, counted_j, time.time() + self._jump_s, power_w, energy_j)
            if self._fault in ("frozen", "duplicate") and self._said is not None:
                return self._said
            if self._fault == "nan":
                truth = Truth(math.nan, math.nan, truth.clock_s, power_w, energy_j)
            elif self._fault == "spike":
                truth = Truth(power_w * SPIKE_FACTOR, counted_j, truth.clock_s, power_w, energy_j)
            elif self._fault is not None and self._fault in SHOWN_W:
                truth = Truth(
                    SHOWN_W[self._fault] * (power_w if self._fault == "reversed" else 1.0),
                    counted_j,
                    truth.clock_s,
                    power_w,
                    energy_j,
                )
            self._said = truth
            return truth
