"""One thread that samples at irregular moments until it is stopped; shared by the meters."""

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from perjoule.model.doubts import METERS, Doubt

# of a period, either way: a strict period aliases with flushers and timers (5 s flushers cost up to 88 %)
JITTER = 0.4


def moments(began_s: float, period_s: float, dice: random.Random) -> Iterator[float]:
    """Plan the moments of samples: one per period, at random in it, so the mean rate is kept and nothing
    can lock to it.
    """
    index = 0
    while True:
        index += 1
        yield began_s + period_s * (index + dice.uniform(-JITTER, JITTER))


class Sampler:
    """A thread that calls `sample` once per period, from `start` to `stop`; `taken_count` and `late_count`
    show how it kept up.

    `failures` holds the exception in `sample` that ended it, if any, so none is lost in a thread.
    """

    def __init__(self, name: str, rate_hz: float, sample: Callable[[], None]) -> None:
        self.taken_count = self.late_count = 0
        self.failures: list[Exception] = []
        self._period_s, self._sample = 1 / rate_hz, sample
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; its first sample comes after one period."""
        self._thread.start()

    def stop(self) -> None:
        """Have the thread sample once more and end, at once."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            for moment_s in moments(time.monotonic(), self._period_s, random.Random()):
                wait_s = moment_s - time.monotonic()
                # a whole period behind: this sample is left out, and not made up for
                if wait_s < -self._period_s:
                    self.late_count += 1
                    continue
                if self._stop.wait(max(wait_s, 0)):
                    self._sample()
                    return
                self._sample()
                self.taken_count += 1
        except Exception as error:
            self.failures.append(error)


def left_out(name: str, late_count: int, taken_count: int) -> list[Doubt]:
    """Return a doubt about samples that came a whole period late, if there were any."""
    if not late_count:
        return []
    return [METERS.left_out(meter=name, count=late_count, all_count=late_count + taken_count)]


@contextmanager
def sampling(name: str, rate_hz: float, sample: Callable[[], None]) -> Generator[list[Doubt]]:
    """Call `sample` once before the block, in a thread during it, and once at its end; return doubts.

    An exception in `sample` ends the sampling and is raised when the block ends.
    """
    doubts: list[Doubt] = []
    sampler = Sampler(name, rate_hz, sample)
    sample()
    sampler.start()
    try:
        yield doubts
    finally:
        sampler.stop()
        doubts += left_out(name, sampler.late_count, sampler.taken_count)
    if sampler.failures:  # not in the `finally`: what the block itself raises comes first
        raise sampler.failures[0]
