"""The lines of SmartPower3: https://github.com/hardkernel/smartpower3 (logTask of smartpower3.ino)

    0000123456,15000,0500,07500,0,05200,1000,05200,1,00,00000,0000,00000,0,00,69,1e

81 characters with CR and LF: ms since its start; of the input mV, mA, mW and whether it is below 6 V; of outputs 0
and 1 mV, mA, mW, whether it is on, and the interrupts of its converter (hex); the two's complement of the sum of all
bytes before, and their XOR (hex). Firmware 1.7 to 1.9 writes a sum of 0 as 100, and 1.7 ends lines with LF and CR;
older ones send no checksums.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

_LOAD = rb"[0-9]{5},[0-9]{4},([0-9]{5}),[01],"
_OUTPUT = _LOAD + rb"[0-9a-f]{2},"
_LINE = re.compile(rb"(([0-9]{10})," + _LOAD + _OUTPUT + _OUTPUT + rb")(1?[0-9a-f]{2}),([0-9a-f]{2})")
_UNSUMMED = re.compile(rb"[0-9]{10}(,[0-9a-f]+){14}")
_END = re.compile(rb"[\r\n]+")
MOST_BYTES = 1024  # without the end of a line
SHOWN_BYTES = 100
INTERVALS_S = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0)  # that can be chosen on its screen
TIMES = 2**32  # of its clock, in ms


@dataclass(frozen=True)
class SentLine:
    """One line: its time, and the power of the input and of both outputs."""

    time_ms: int
    power_w: tuple[float, float, float]


def reading(text: bytes) -> SentLine:
    """Parse a line without its end. Raises ValueError: it is none, or a checksum is wrong."""
    shown = repr(text[:SHOWN_BYTES])[1:]
    match = _LINE.fullmatch(text)
    if match is None:
        if _UNSUMMED.fullmatch(text):
            raise ValueError("its lines have no checksums (update its firmware to 1.7 or later)")
        raise ValueError(f"this is no line of a SmartPower3: {shown} (is baud as on its screen?)")
    summed, time_ms, *loads_mw, total, exclusive = match.groups()
    if (sum(summed) + int(total, 16)) % 256 or reduce(int.__xor__, summed) != int(exclusive, 16):
        raise ValueError(f"a line has a wrong checksum: {shown}")
    of_input, first, second = (int(load_mw) / 1000 for load_mw in loads_mw)
    return SentLine(int(time_ms), (of_input, first, second))


class Lines:
    """Lines in a stream of bytes. What comes before the first end of a line is left out: it may be a part of one."""

    def __init__(self) -> None:
        self._left = b""
        self._whole = False

    def readings(self, received: bytes) -> Iterator[SentLine]:
        """Yield the lines that have ended. Raises ValueError: one is wrong, or has no end."""
        *texts, self._left = _END.split(self._left + received)
        for text in texts:
            if text and self._whole:
                yield reading(text)
            self._whole = True
        if len(self._left) > MOST_BYTES:
            raise ValueError(f"{MOST_BYTES} bytes without the end of a line")


def passed_s(earlier: SentLine, later: SentLine) -> float:
    """Return the time between two lines by its clock, which begins anew after 49 days."""
    return (later.time_ms - earlier.time_ms) % TIMES / 1000


def interval_s(readings: list[SentLine]) -> float:
    """Return the interval that its lines come at: of those that it has, the one nearest to the middle of theirs."""
    apart_s = sorted(map(passed_s, readings, readings[1:]))
    return min(INTERVALS_S, key=lambda known_s: abs(known_s - apart_s[len(apart_s) // 2]))
