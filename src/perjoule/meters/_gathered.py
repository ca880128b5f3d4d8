"""Joules that a thread adds up between two polls, of instruments that send by themselves."""

import math
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import numpy as np


class GatheredEnergy:
    """Joules of several channels since they were last taken. A thread adds to them."""

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._energy_j = np.zeros(count)
        self._length_s, self._end_s = 0.0, math.nan
        self._failure: Exception | None = None

    def add(self, added_j: Sequence[float], length_s: float, end_s: float) -> None:
        """Add the joules of a time of this length, which ended at this moment."""
        with self._changed:
            self._energy_j += added_j
            self._length_s += length_s
            self._end_s = end_s
            self._changed.notify()

    def fail(self, failure: Exception) -> None:
        """Have the next reader raise this, as an OSError unless it is one or a ValueError."""
        with self._changed:
            self._failure = failure if isinstance(failure, OSError | ValueError) else OSError(str(failure))
            self._changed.notify()

    def taken(self, wait_s: float = 0.0) -> tuple[float, float, list[float]] | None:
        """Return end and length of the time that was measured, and the joules of each channel; None if
        nothing comes within `wait_s`.

        Raises OSError, ValueError.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._failure or self._length_s > 0, wait_s)
            if self._failure is not None:
                raise self._failure
            if not self._length_s:
                return None
            taken = self._end_s, self._length_s, [float(joules) for joules in self._energy_j]
            self._energy_j[:] = 0.0
            self._length_s = 0.0
            return taken


@contextmanager
def gathering(
    name: str, count: int, add: Callable[[GatheredEnergy], None], stop: threading.Event
) -> Generator[GatheredEnergy]:
    """Have a thread of this name `add` the joules of `count` channels during the block, until `stop` is set,
    which the end of the block does. What it raises the next reader gets.
    """
    sums = GatheredEnergy(count)

    def run() -> None:
        try:
            add(sums)
        except Exception as error:
            sums.fail(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield sums
    finally:
        stop.set()
        thread.join()
