"""An Agilent DSO6014A at a TCP port or a serial line: an alternating voltage and 5 V, each with a Hall sensor
ACS712-05B.

Channels 1 and 2 show the known power, channels 3 and 4 a second supply, steady at STEADY_W.
https://www.keysight.com/us/en/assets/9018-08017/programming-guides/9018-08017.pdf
"""

import math
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault
from perjoule.simulators._hostile import pour
from perjoule.simulators._lines import Line, lines

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = ("late", "duplicate", "missing", "frozen", "nan", "spike", "disconnect")
IDENTITY = "AGILENT TECHNOLOGIES,DSO6014A,MY44001234,06.16.0001"
LOW_V, HIGH_V, SWINGS = 10.0, 14.0, 10  # the voltage, and how often it swings in an acquisition
VOLT_PER_AMPERE, ZERO_V = 0.185, 2.5
STEADY_V, STEADY_W = 5.0, 3.0
POINTS = 1000
# Increment, origin, reference of each channel's bytes.
PREAMBLES = {1: (0.08, 10.24, 128), 2: (0.02, 2.5, 128), 3: (0.05, 5.0, 128), 4: (0.001, 2.5, 128)}


@contextmanager
def serve(
    behaviour: Behaviour, *, address: str = "127.0.0.1", port: int = 0, line: Line = "tcp"
) -> Generator[Mapping[str, Json]]:
    """Serve one oscilloscope during the block; yields the options of the [[meter]] table that reads it."""
    sensor: Mapping[str, Json] = {"ampere_per_volt": 1 / VOLT_PER_AMPERE, "current_zero": f"{ZERO_V} V"}
    with lines(lambda send, hang_up: _Scope(behaviour, send, hang_up), line, address, port) as resource:
        yield {"kind": "scope", "address": resource, **sensor}


class _Scope:
    def __init__(
        self, behaviour: Behaviour, send: Callable[[bytes], None], hang_up: Callable[[], None]
    ) -> None:
        self._behaviour, self._send, self._hang_up, self._stop = behaviour, send, hang_up, threading.Event()
        self._window_s, self._source = 0.001, 1
        self._shown: dict[int, list[float]] = {number: [] for number in PREAMBLES}  # volts
        self._errors: list[str] = []
        self._kept_j = math.nan

    def close(self) -> None:
        """End pending answers."""
        self._stop.set()

    def take(self, line: str) -> bytes | None:
        """Execute commands, answer the last query."""
        answers = [
            answer for command in line.upper().split(";") if (answer := self._answer(command)) is not None
        ]
        return answers[-1] + b"\n" if answers else None

    def _answer(self, command: str) -> bytes | None:
        header, _, value = command.partition(" ")
        answer: str | None = None
        match header:
            case "*IDN?":
                answer = IDENTITY
            case ":SYST:ERR?":
                answer = self._errors.pop(0) if self._errors else '+0,"No error"'
            case "*OPC?":
                answer = "1"
            case ":TIM:RANG":
                self._window_s = float(value)
            case ":DIG":
                manner = self._behaviour.manner()
                if manner.hang_up:
                    self._hang_up()
                if manner.hostile:
                    pour(manner.hostile, self._send, self._stop)
                if self._stop.wait(manner.delay_s + self._window_s) or manner.silent or manner.hang_up:
                    raise OSError("no answer")
                self._acquire()
            case ":WAV:SOUR":
                self._source = int(value.removeprefix("CHAN"))
            case ":WAV:PRE?":
                increment_v, origin_v, reference = PREAMBLES[self._source]
                step_s = self._window_s / POINTS
                answer = f"0,0,{POINTS},1,{step_s:.5E},{-self._window_s / 2:.5E},0,{increment_v:.5E},{origin_v:.5E},{reference}"
            case ":WAV:DATA?":
                block = bytes(map(self._byte, self._shown[self._source]))
                return f"#8{len(block):08d}".encode() + block
            case ":MEAS:VAV?":
                shown_v = self._shown[int(value.removeprefix("CHAN"))]
                answer = (
                    f"{math.fsum(shown_v) / len(shown_v):.6E}"
                    if not any(map(math.isnan, shown_v))
                    else "+9.9E+37"
                )
            case ":CHAN1:DISP" | ":CHAN2:DISP" | ":CHAN3:DISP" | ":CHAN4:DISP":
                pass
            case "*CLS" | ":TRIG:SWE" | ":ACQ:TYPE" | ":WAV:FORM" | ":WAV:UNS" | ":WAV:POIN":
                pass
            case _:
                self._errors.append('-113,"Undefined header"')
        return None if answer is None else answer.encode()

    def _acquire(self) -> None:
        """Return the current that, with the voltage, gives the known power of each moment."""
        now_s, truth = self._behaviour.now_s(), self._behaviour.truth()
        if truth.true_energy_j == self._kept_j:
            return  # frozen
        self._kept_j = truth.true_energy_j
        factor = truth.power_w / truth.true_power_w
        moments_s = [now_s - self._window_s * (1 - (n + 0.5) / POINTS) for n in range(POINTS)]
        voltage_v = [LOW_V if n * SWINGS * 2 // POINTS % 2 else HIGH_V for n in range(POINTS)]
        power_w = [self._behaviour.waveform.power_w(t_s) * factor for t_s in moments_s]
        current_v = [ZERO_V + VOLT_PER_AMPERE * p / u for p, u in zip(power_w, voltage_v, strict=True)]
        steady_v = ZERO_V + VOLT_PER_AMPERE * STEADY_W / STEADY_V
        self._shown = {1: voltage_v, 2: current_v, 3: [STEADY_V] * POINTS, 4: [steady_v] * POINTS}

    def _byte(self, shown_v: float) -> int:
        increment_v, origin_v, reference = PREAMBLES[self._source]
        if math.isnan(shown_v):
            return 0
        return min(max(round((shown_v - origin_v) / increment_v + reference), 1), 255)
