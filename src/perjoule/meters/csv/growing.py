"""A log that is read while another program writes it, and one that nobody writes any more."""

import codecs
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from perjoule.drivers.protocols import Check
from perjoule.machine.untrusted import marked_encoding
from perjoule.meters.csv.moments import LogSample
from perjoule.model.units import MIB, bytes_text, seconds_text

MOST_BEHIND_S = 60.0  # by which a new row's time may precede ours; older times are invalid
STILL_S = 120.0  # for which a log may not grow before a campaign
_CHUNK_BYTES = MIB  # read at once, and the longest line


class Growing:
    """The lines of a file that grows, each once it is whole; only a chunk of them is in memory."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self.found = False  # whether the last call found a whole line
        self._file, self._rest = file, ""
        self._encoding = encoding
        self._decoder: codecs.IncrementalDecoder | None = None

    def lines(self, chunks: Iterable[object]) -> Iterator[str]:
        """Read on until the file's end, in at most as many chunks. Raises ValueError: a line does not end."""
        self.found = False
        for _ in chunks:
            if not (chunk := self._file.read(_CHUNK_BYTES)):
                return
            if self._decoder is None:
                encoding = marked_encoding(chunk) or self._encoding
                self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
            *complete, self._rest = (self._rest + self._decoder.decode(chunk)).split("\n")
            if len(self._rest) > _CHUNK_BYTES:
                begins, self._rest = self._rest[:40], ""
                raise ValueError(
                    f"a line is longer than {bytes_text(_CHUNK_BYTES)}; it begins with {begins!r}"
                )
            self.found = self.found or bool(complete)
            yield from complete


def dated_s(sample: LogSample) -> float:
    """Return the time of a new row. Raises ValueError if it is too old."""
    behind_s = time.monotonic() - sample.t_s
    if behind_s > MOST_BEHIND_S:
        raise ValueError(f"its clock is {behind_s:.0f} s behind (check clock and zone)")
    return sample.t_s


def stopped(label: str, path: Path, row_s: float) -> tuple[Check, ...]:
    """Return that a log has not grown for longer than it takes to write some rows; () if it has, or can't be asked."""
    still_s = 0.0
    with suppress(OSError):  # what is missing or unreadable is named by who reads it
        still_s = time.time() - path.stat().st_mtime
    if still_s <= max(STILL_S, 2 * row_s):
        return ()
    detail = f"{path} has not grown for {seconds_text(still_s)}"
    fix = "start the program that writes it, or state its period"
    return (Check(f"answer of meter {label}", ok=False, detail=detail, fix=fix),)
