"""Answers of a broken or hostile meter: endless bytes, one byte now and then, JSON nested too deeply,
garbage.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator

from perjoule.simulators._behaviour import Fault

DRIP_S = 0.05
POUR_S = 2.0  # how long it lasts, unless stopped
CHUNK_BYTES = 4096


def pour(fault: Fault, send: Callable[[bytes], object], stop: threading.Event) -> None:
    """Send what a hostile meter does, for POUR_S or until the event. Raises OSError: the listener is gone."""
    until_s = time.monotonic() + POUR_S
    for chunk in chunks(fault):
        if stop.is_set() or time.monotonic() > until_s:
            return
        send(chunk)
        if fault == "drip":
            stop.wait(DRIP_S)


def chunks(fault: Fault) -> Iterator[bytes]:
    """Yield what is sent, piece by piece; without end for endless faults."""
    if fault == "deep":
        yield from [b"[" * CHUNK_BYTES] * 25
        yield b"\n"
    elif fault == "garbage":
        yield random.Random(1).randbytes(CHUNK_BYTES) + b"\r\n"
    else:
        chunk = {"drip": b"4", "flood": b"41.5;0.5;60.0\r\n" * (CHUNK_BYTES // 15)}.get(
            fault, b"9" * CHUNK_BYTES
        )
        while True:
            yield chunk
