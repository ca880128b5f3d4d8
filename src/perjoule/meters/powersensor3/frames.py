"""The bytes of PowerSensor3: https://github.com/nlesc-recruit/PowerSensor3
(device/PowerSensor/PowerSensor.ino, version 1.6.1)

    a sensor's settings   type (16 bytes), name of its pair (16), reference in V and sensitivity (floats), in
    use (1) a frame               9 words of 2 bytes, 1sssllll 0mllllll: sensor s, a level l of 10 bits, and a
    mark m.
                          The first is the time in us modulo 1024, as sensor 7 with a mark; then come sensors
                          0 to 7
    a sensor's value      (3.3 V x level / 1023 - reference) / sensitivity, in A (even sensors) or V (odd
    ones)

Sensors 2n and 2n + 1 are pair n.
"""

import math
import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Levels = NDArray[np.int64]
Floats = NDArray[np.float64]

CONFIGURATION, NEXT, DONE, START, STOP = b"R", b"s", b"D", b"S", b"T"
SENSORS_COUNT, SENSOR_BYTES, FRAME_BYTES = 8, 41, 18
FULL_V, MOST_LEVEL = 3.3, 1023
MOST_STRANGE_BYTES = 65536  # without a frame among them
_TIME_US = 1024
_SENSOR = struct.Struct("<16s16sff?")
# of the first bytes of the words of a frame
_HEAD = np.array([0xF0, *(0x80 | n << 4 for n in range(SENSORS_COUNT))])


@dataclass(frozen=True)
class Pair:
    """A current and a voltage sensor on one supply."""

    number: int
    name: str
    current: tuple[float, float]  # reference in V, sensitivity in V/A
    voltage: tuple[float, float]  # reference in V, gain

    def power_w(self, levels: Levels) -> Floats:
        """Return the power of each frame, shape (N,), from levels of shape (N, 8)."""
        current_a = _value(levels[:, 2 * self.number], *self.current)
        return current_a * _value(levels[:, 2 * self.number + 1], *self.voltage)


def _value(level: Levels, reference_v: float, sensitivity: float) -> Floats:
    return (FULL_V * level / MOST_LEVEL - reference_v) / sensitivity


def pairs(settings: bytes) -> list[Pair]:
    """Return the pairs of which both sensors are in use. Raises ValueError: impossible settings."""
    sensors = [_SENSOR.unpack_from(settings, n * SENSOR_BYTES) for n in range(SENSORS_COUNT)]
    used_pairs: list[Pair] = []
    for number, (current, voltage) in enumerate(zip(sensors[::2], sensors[1::2], strict=True)):
        if not (current[4] and voltage[4]):
            continue
        numbers = (*current[2:4], *voltage[2:4])
        if not all(map(math.isfinite, numbers)) or not current[3] or not voltage[3]:
            raise ValueError(f"pair {number} has impossible settings: {numbers} (see psconfig -p)")
        name = current[1].partition(b"\0")[0].decode("ascii", "replace")
        used_pairs.append(Pair(number, name, current[2:4], voltage[2:4]))
    return used_pairs


class Frames:
    """Frames in a stream of bytes. Lost bytes cost the frames that they were of, and their time."""

    def __init__(self) -> None:
        self._left = b""
        self._time_us: int | None = None  # of the frame before
        self._strange_bytes = 0

    def levels(self, received: bytes) -> tuple[Levels, Floats]:
        """Return the levels, shape (N, 8), of whole frames, and seconds since the frame before each. Raises
        ValueError: too long none.

        The first frame ever, which none is before, is left out.
        """
        stream, at = self._left + received, 0
        heads = _heads(stream)
        levels: list[Levels] = []
        # more at once while all are good: a stream that is often damaged would be looked at again and again
        most_count = 1
        while len(stream) - at >= FRAME_BYTES:
            count = min(most_count, (len(stream) - at) // FRAME_BYTES)
            octets = (
                np.frombuffer(stream, np.uint8, count * FRAME_BYTES, at).reshape(count, 9, 2).astype(np.int64)
            )
            wrong = ~_valid(octets)
            good_count = int(np.argmax(wrong)) if wrong.any() else count
            most_count = 2 * most_count if good_count == count else 1
            if good_count:
                levels.append(((octets[:good_count, :, 0] & 0xF) << 6) | (octets[:good_count, :, 1] & 0x3F))
                self._strange_bytes = 0
                at += good_count * FRAME_BYTES
            else:
                later = int(np.searchsorted(heads, at, "right"))
                to = int(heads[later]) if later < len(heads) else len(stream) - 1
                self._strange_bytes += to - at
                at = to
            if self._strange_bytes > MOST_STRANGE_BYTES:
                raise ValueError(f"no sample among {self._strange_bytes} bytes")
        self._left = stream[at:]
        if not levels:
            return np.empty((0, SENSORS_COUNT), np.int64), np.empty(0)
        return self._since(np.concatenate(levels))

    def _since(self, levels: Levels) -> tuple[Levels, Floats]:
        times_us = levels[:, 0] if self._time_us is None else np.concatenate(([self._time_us], levels[:, 0]))
        self._time_us = int(times_us[-1])
        passed_us = np.diff(times_us) % _TIME_US
        return levels[len(levels) - len(passed_us) :, 1:], passed_us * 1e-6


def _valid(octets: Levels) -> NDArray[np.bool_]:
    """Say of each frame, shape (N, 9, 2), whether its words are those of a frame; the mark of sensor 0 may
    be set.
    """
    heads = ((octets[:, :, 0] & 0xF0) == _HEAD).all(axis=1)
    marks = octets[:, :, 1] >> 6
    return heads & (marks[:, 0] == 1) & (marks[:, 1] <= 1) & (marks[:, 2:] == 0).all(axis=1)


def _heads(stream: bytes) -> NDArray[np.int64]:
    """Return the places where a frame may begin: its first word has a mark."""
    raw = np.frombuffer(stream, np.uint8)
    return np.flatnonzero(((raw[:-1] & 0xF0) == 0xF0) & (raw[1:] >> 6 == 1))
