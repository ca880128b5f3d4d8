"""What a host sends over its keeper's connection: lines until it keeps the host, then answers. Nobody trusts
a host: all of it has limits.
"""

import re
from collections.abc import Generator
from typing import NamedTuple

from perjoule.model.units import MIB, bytes_text
from perjoule.testbeds.cluster.scripts import MOST_BYTES, MOST_ERRORS_BYTES

# until it keeps the host: three times the power states of 1024 cores
MOST_LINES_BYTES, MOST_LINES = 8 * MIB, 100_000
MOST_HEAD_BYTES = 128  # more than any first line of an answer has
_HEAD = re.compile(r"answer (\d{1,18}) (\d{1,9}) (\d{1,9}) (\d{1,9})", re.ASCII)  # no sizes below 0


class Sent(NamedTuple):
    """An answer: the number of its question, the exit code, and both outputs."""

    number: int
    code: int
    out: bytes
    err: bytes


class Heard:
    """The bytes that came and are not read yet.

    All that is not as a keeper sends it raises ValueError, in a clause.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._lines_bytes = self._lines_count = 0

    def take(self, octets: bytes) -> None:
        """Take in what has come."""
        self._bytes += octets

    def line(self) -> str | None:
        """Return the next line; None if it has not come whole.

        Raises ValueError: there are too many, or one does not end.
        """
        if self._lines_bytes + len(self._bytes) > MOST_LINES_BYTES or self._lines_count > MOST_LINES:
            most = f"{bytes_text(MOST_LINES_BYTES)} or {MOST_LINES} lines"
            raise ValueError(f"it sent more than {most} instead of an answer")
        end = self._bytes.find(b"\n")
        if end < 0:
            return None
        line = self._bytes[:end].decode(errors="replace")
        del self._bytes[: end + 1]
        self._lines_bytes, self._lines_count = self._lines_bytes + end + 1, self._lines_count + 1
        return line

    def answers(self, asked_count: int) -> Generator[Sent]:
        """Yield each answer that has come whole, to one of the questions 1 to `asked_count`, or 0.

        Raises ValueError.
        """
        while (newline_at := self._bytes.find(b"\n", 0, MOST_HEAD_BYTES)) >= 0:
            number, code, out_bytes, err_bytes = _head(self._bytes[:newline_at], asked_count)
            begin, end = newline_at + 1, newline_at + 1 + out_bytes + err_bytes
            if len(self._bytes) < end:
                return
            with memoryview(self._bytes) as view:
                out, err = bytes(view[begin : begin + out_bytes]), bytes(view[begin + out_bytes : end])
            del self._bytes[:end]
            yield Sent(number, code, out, err)
        if len(self._bytes) >= MOST_HEAD_BYTES:
            _head(self._bytes[:MOST_HEAD_BYTES], asked_count)


def _head(line: bytearray, asked_count: int) -> tuple[int, int, int, int]:
    """Parse the first line of an answer: its number, exit code and sizes."""
    text = line.decode(errors="replace")
    if not (match := _HEAD.fullmatch(text)):
        raise ValueError(f"unexpected answer: {text[:60]}")
    number, code, out_bytes, err_bytes = map(int, match.groups())
    if number > asked_count or out_bytes > MOST_BYTES or err_bytes > MOST_ERRORS_BYTES:
        raise ValueError(f"unexpected answer: {text[:60]}")
    return number, code, out_bytes, err_bytes
