"""A PowerSensor3 at a pseudo-terminal, with one pair of sensors on 12 V:
https://github.com/nlesc-recruit/PowerSensor3
"""

import math
import os
import select
import struct
import threading
import time
import tty
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress

from perjoule.model import Json
from perjoule.simulators._behaviour import HOSTILE, Behaviour, Fault
from perjoule.simulators._hostile import pour

__all__ = ["FAULTS", "HOSTILE", "serve"]

FAULTS: tuple[Fault, ...] = ("late", "missing", "frozen", "nan", "spike")
PAIR, NAME = 1, "slot"  # the number of the pair that is on, and its name
SUPPLY_V, REFERENCE_V, VOLT_PER_AMPERE, GAIN = 12.0, 1.65, 0.12, 0.0877
PERIOD_US = 500  # of frames; that of a real one is 50
SENT_S = 0.01
UNREAD_S = 0.2


@contextmanager
def serve(behaviour: Behaviour, *, address: str = "", port: int = 0) -> Generator[Mapping[str, Json]]:
    """Serve one during the block; address and port are ignored. NaN is a pause: it has no word for it."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    os.set_blocking(ours, False)
    stop = threading.Event()
    device = _Device(behaviour, ours, stop)
    thread = threading.Thread(target=device.run, name="powersensor3", daemon=True)
    thread.start()
    try:
        yield {"kind": "powersensor3", "address": os.ttyname(theirs), "drives": {str(PAIR): ""}}
    finally:
        stop.set()
        thread.join()
        os.close(ours)
        os.close(theirs)


class _Device:
    def __init__(self, behaviour: Behaviour, line: int, stop: threading.Event) -> None:
        self._behaviour, self._line, self._stop = behaviour, line, stop
        self._began_s: float | None = None  # of its stream
        self._sent_count = 0
        self._sensors_count = -1  # of the configuration, that were sent; -1: none is under way
        self._kept = (math.nan, math.nan)  # true energy and power of the frames before

    def run(self) -> None:
        """Answer letters and send frames until it is stopped."""
        while not self._stop.is_set():
            if select.select([self._line], [], [], SENT_S)[0]:
                letters = b""
                with suppress(OSError):  # nobody has it open
                    letters = os.read(self._line, 64)
                for letter in letters:
                    self._take(bytes([letter]))
            if self._began_s is not None:
                self._stream()

    def _take(self, letter: bytes) -> None:
        if self._sensors_count >= 0:  # any letter requests the next sensor
            self._sensor()
        elif letter == b"R":
            self._sensors_count = 0
            self._sensor()
        elif letter == b"S":
            self._began_s, self._sent_count = self._behaviour.now_s(), 0
        elif letter in b"TX":
            self._began_s = None

    def _sensor(self) -> None:
        number = self._sensors_count
        if number == 8:
            self._sensors_count = -1
            self._send(b"D")
            return
        kind, reference_v, sensitivity = (
            (b"MLX10", REFERENCE_V, VOLT_PER_AMPERE) if number % 2 == 0 else (b"voltage", 0.0, GAIN)
        )
        self._send(
            struct.pack("<16s16sff?", kind, NAME.encode(), reference_v, sensitivity, number // 2 == PAIR)
        )
        self._sensors_count += 1

    def _stream(self) -> None:
        """Send the frames that are due."""
        assert self._began_s is not None
        manner = self._behaviour.manner()
        if manner.hostile:
            with suppress(OSError):
                pour(manner.hostile, self._send, self._stop)
        due_count = int((self._behaviour.now_s() - self._began_s) * 1e6 / PERIOD_US)
        if self._stop.wait(manner.delay_s):
            return
        first, self._sent_count = self._sent_count, due_count
        truth = self._behaviour.truth()
        if manner.silent or manner.hostile or math.isnan(truth.power_w):
            return
        waveform, factor = self._behaviour.waveform, truth.power_w / truth.true_power_w
        frozen = truth.true_energy_j == self._kept[0]
        frames = b""
        for n in range(first, due_count):
            power_w = (
                self._kept[1]
                if frozen
                else waveform.power_w(self._began_s + (n + 0.5) * PERIOD_US * 1e-6) * factor
            )
            self._kept = (truth.true_energy_j, power_w)
            frames += self._frame(n * PERIOD_US, power_w)
        self._send(frames)

    def _frame(self, t_us: int, power_w: float) -> bytes:
        levels = [512 if n % 2 == 0 else 0 for n in range(8)]
        levels[2 * PAIR] = _level(REFERENCE_V + VOLT_PER_AMPERE * power_w / SUPPLY_V)
        levels[2 * PAIR + 1] = _level(GAIN * SUPPLY_V)
        messages = [_word(7, t_us % 1024, 1), *(_word(n, level, 0) for n, level in enumerate(levels))]
        return b"".join(messages)

    def _send(self, frames: bytes) -> None:
        until_s = time.monotonic() + UNREAD_S
        while frames and time.monotonic() < until_s and not self._stop.is_set():
            with suppress(OSError):
                if select.select([], [self._line], [], SENT_S)[1]:
                    frames = frames[os.write(self._line, frames) :]


def _level(volts: float) -> int:
    return min(max(round(volts / 3.3 * 1023), 0), 1023)


def _word(sensor: int, level: int, mark: int) -> bytes:
    return bytes([0x80 | sensor << 4 | level >> 6, mark << 6 | level & 0x3F])
