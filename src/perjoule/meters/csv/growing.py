"""A log that is read while another program writes it."""

import codecs
import time
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from perjoule.machine.untrusted import marked_encoding
from perjoule.meters.csv.moments import LogSample
from perjoule.model.units import MIB, bytes_text

MOST_BEHIND_S = 60.0  # by which a new row's time may precede ours; older times are invalid
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
