"""A power meter that reads a known waveform: perjoule's test double,
https://en.wikipedia.org/wiki/Test_double

The waveform is a function of the monotonic clock, so `Simulated.energy_j` knows the true energy of any
window, whatever the meter's faults: noise, resolution, lost samples, a counter that wraps, a clock that lags.
"""

import math
import random
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check, Hosts, Meter, Outlet, Sink
from perjoule.meters._sampler import sampling
from perjoule.model import OPTIONS, Channel, Semantics
from perjoule.model.doubts import Doubt
from perjoule.model.units import Hertz, Joules, Ratio, Seconds, Watts
from perjoule.model.waveform import Shape, Waveform

EXAMPLE = """
[[meter]]
kind = "simulated"
waveform = "square"
low = "40 W"
high = "60 W"
period = "2 s"
rate = "20 Hz"
"""


class WaveSample(NamedTuple):
    """A sample of the meter, as `Sink.append` takes it."""

    t_s: float
    value: float
    duration_s: float = 0.0


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Simulated(Meter):
    """A known waveform, with the faults of real meters on request."""

    waveform: Shape = "square"
    """Constant (at high), bursts of high in each period, a sine between low and high, or high in periods
    drawn at random.
    """

    low_w: Watts = 40.0
    """The lowest power."""

    high_w: Watts = 60.0
    """The highest power."""

    period_s: Seconds = 2.0
    """Length of a period."""

    duty_ratio: Ratio = 0.5
    """The share of high: within a period (square), or of all periods (random)."""

    semantics: Semantics = "window mean"
    """What a sample is: energy so far, mean since the last one, instantaneous power, a running average, or
    low or high
    (state)."""

    rate_hz: Hertz = 20.0
    """How often it reads, on average."""

    window_s: Seconds = 1.0
    """How far back a running average goes (semantics "average")."""

    noise_w: Watts = 0.0
    """Standard deviation of the noise added to each power (a counter has none)."""

    resolution_w: Watts = 0.0
    """Powers are whole multiples of this; 0 W: as they are."""

    step_j: Joules = 0.0
    """A counter's step; 0 J: none."""

    wrap_j: Joules = 0.0
    """A counter wraps at this; 0 J: never."""

    gap_ratio: Ratio = 0.0
    """Share of lost samples."""

    delay_s: Seconds | None = None
    """Lag of the meter: each value is timestamped this much later."""

    name: str = "simulated"
    """Name of its channel, if there are several."""

    seed: int = 1
    """Seed of the random waveform, noise and gaps."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.high_w < self.low_w:
            raise ValueError("high is below low (swap them)")
        if min(self.noise_w, self.resolution_w, self.step_j, self.wrap_j) < 0:
            raise ValueError("noise, resolution and wrap can't be negative (remove the one you don't want)")
        return self

    @property
    def channel(self) -> Channel:
        """Its one channel: the power, or the energy, of the whole cluster."""
        counter = self.semantics == "counter"
        kind = ("energy", "J") if counter else ("power", "W")
        return Channel(self.name, "", "total", *kind, self.semantics, "simulated")

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return the whole cluster."""
        return (Boundary(self.name, "", "total").outlet("name", quantity=self.channel.quantity),)

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream the meter's samples; the hosts don't matter."""
        stream = self.samples(iter(time.monotonic, None))

        def sample() -> None:
            reading = next(stream)
            if reading is not None:
                sink.append(self.channel, *reading, reading.t_s, reading.t_s)

        with sampling(self.name, self.rate_hz, sample) as doubts:
            yield doubts

    @property
    def sampled_hz(self) -> float:
        """How often it is read."""
        return self.rate_hz

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements."""
        return ()

    @property
    def truth(self) -> Waveform:
        """The true power."""
        return Waveform(self.waveform, self.low_w, self.high_w, self.period_s, self.duty_ratio, self.seed)

    def energy_j(self, began_s: float, ended_s: float) -> float:
        """Return the true energy of a window."""
        return self.truth.energy_j(began_s, ended_s)

    def samples(self, moments_s: Iterable[float]) -> Iterator[WaveSample | None]:
        """Return the meter's samples at these moments, in order; None is a lost sample (and the first of a
        window mean).
        """
        truth, dice = self.truth, random.Random(self.seed)
        last_s: float | None = None
        counted_j = 0.0
        for t_s in moments_s:
            true_s = t_s - (self.delay_s or 0.0)
            before_s, last_s = last_s, true_s
            counted_j += truth.energy_j(before_s, true_s) if before_s is not None else 0.0
            lost = dice.random() < self.gap_ratio
            noise_w = dice.gauss(0, self.noise_w) if self.noise_w else 0.0
            if self.semantics == "counter":
                sample = WaveSample(t_s, self._count_j(counted_j))
            elif self.semantics == "window mean":
                if before_s is None or true_s <= before_s:
                    yield None
                    continue
                duration_s = true_s - before_s
                sample = WaveSample(
                    t_s, self._said_w(truth.energy_j(before_s, true_s) / duration_s + noise_w), duration_s
                )
            elif self.semantics == "average":
                mean_w = truth.energy_j(true_s - self.window_s, true_s) / self.window_s
                sample = WaveSample(t_s, self._said_w(mean_w + noise_w))
            elif self.semantics == "instantaneous":
                sample = WaveSample(t_s, self._said_w(truth.power_w(true_s) + noise_w))
            else:  # state: one of two labelled powers
                sample = WaveSample(
                    t_s, self.high_w if truth.power_w(true_s) > (self.low_w + self.high_w) / 2 else self.low_w
                )
            yield None if lost else sample

    def _said_w(self, power_w: float) -> float:
        return round(power_w / self.resolution_w) * self.resolution_w if self.resolution_w else power_w

    def _count_j(self, energy_j: float) -> float:
        stepped_j = math.floor(energy_j / self.step_j) * self.step_j if self.step_j else energy_j
        return stepped_j % self.wrap_j if self.wrap_j else stepped_j
