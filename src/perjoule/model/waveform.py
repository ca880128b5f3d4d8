"""Exactly known power over time: the truth behind the simulated meter, the simulators of meters, and the
benchmarks.
"""

import math
import random
from dataclasses import dataclass
from typing import Literal

Shape = Literal["constant", "square", "sine", "random"]


@dataclass(frozen=True)
class Waveform:
    """Power as a function of time, with its integral in closed form."""

    # constant (at high), bursts of high, a sine from low to high, or high in periods drawn at random
    shape: Shape = "square"
    low_w: float = 40.0
    high_w: float = 60.0
    period_s: float = 2.0
    duty_ratio: float = 0.5  # of high: within a period (square), or of all periods (random)
    seed: int = 1  # of the random shape

    def power_w(self, t_s: float) -> float:
        """Return the power at a moment."""
        phase_s = t_s % self.period_s
        match self.shape:
            case "constant":
                return self.high_w
            case "sine":
                return (
                    self.low_w
                    + (self.high_w - self.low_w) * (1 + math.sin(2 * math.pi * phase_s / self.period_s)) / 2
                )
            case "square":
                return self.high_w if phase_s < self.duty_ratio * self.period_s else self.low_w
            case "random":
                return self.high_w if self._drawn(math.floor(t_s / self.period_s)) else self.low_w

    def energy_j(self, began_s: float, ended_s: float) -> float:
        """Return the energy of a window: the integral of `power_w`, exact except for rounding."""
        return self.low_w * (ended_s - began_s) + (self.high_w - self.low_w) * self._high_s(began_s, ended_s)

    def _drawn(self, period: int) -> bool:
        return random.Random(self.seed * 1_000_003 + period).random() < self.duty_ratio

    def _high_s(self, began_s: float, ended_s: float) -> float:
        """Return the integral over the window of the share of (high - low) that is on."""
        period_s = self.period_s
        match self.shape:
            case "constant":
                return ended_s - began_s
            case "sine":
                omega = 2 * math.pi / period_s
                cosines = math.cos(omega * (began_s % period_s)) - math.cos(omega * (ended_s % period_s))
                return (ended_s - began_s) / 2 + cosines / (2 * omega)
            case "square":
                on_s = self.duty_ratio * period_s
                until_s = [t_s // period_s * on_s + min(t_s % period_s, on_s) for t_s in (began_s, ended_s)]
                return until_s[1] - until_s[0]
            case "random":
                slots = range(math.floor(began_s / period_s), math.floor(ended_s / period_s) + 1)
                overlaps = (min((k + 1) * period_s, ended_s) - max(k * period_s, began_s) for k in slots)
                return sum(s for k, s in zip(slots, overlaps, strict=True) if s > 0 and self._drawn(k))
