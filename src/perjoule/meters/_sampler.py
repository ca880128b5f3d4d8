"""One thread that samples at irregular moments until it is told to stop; shared by the meters."""

import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager

from perjoule.errors import PerjouleError
from perjoule.protocols import Counters, Host

JITTER = 0.4  # of a period, either way: a strict period aliases with flushers and timers (5 s flushers cost up to 88 %)


def moments(began_s: float, period_s: float, dice: random.Random) -> Iterator[float]:
    """Plan the moments of samples: one per period, somewhere in it, so that the mean rate is kept and nothing can lock to it."""
    index = 0
    while True:
        index += 1
        yield began_s + period_s * (index + dice.uniform(-JITTER, JITTER))


@contextmanager
def sampling(name: str, rate_hz: float, sample: Callable[[], None]) -> Generator[list[str]]:
    """Call `sample` once before the block, in a thread while it runs, and once at its end; give the doubts.

    An exception in `sample` ends the sampling and is raised when the block ends: nothing is lost in a thread.
    """
    doubts: list[str] = []
    failures: list[Exception] = []
    stop = threading.Event()
    period_s = 1 / rate_hz
    late_count = taken_count = 0

    def loop() -> None:
        nonlocal late_count, taken_count
        try:
            for moment_s in moments(time.monotonic(), period_s, random.Random()):
                wait_s = moment_s - time.monotonic()
                if wait_s < -period_s:  # a whole period behind: this sample is left out, and not made up for
                    late_count += 1
                    continue
                if stop.wait(max(wait_s, 0)):
                    sample()
                    return
                sample()
                taken_count += 1
        except Exception as error:
            failures.append(error)

    sample()
    thread = threading.Thread(target=loop, name=name, daemon=True)
    thread.start()
    try:
        yield doubts
    finally:
        stop.set()
        thread.join()
        if late_count:
            doubts.append(
                f"{name}: {late_count} of {late_count + taken_count} samples left out, the host was too slow or too busy"
            )
    if failures:  # not in the `finally`: what the block itself raises comes first
        raise failures[0]


@contextmanager
def counting(
    name: str, rate_hz: float, hosts: Sequence[Host], take: Callable[[Mapping[str, Counters]], None]
) -> Generator[list[str]]:
    """Sample the counters of all hosts while the block runs; give the doubts.

    `take` gets each round's readings by the host's name. A host that fails is not in it (a gap); a doubt says how often and why.
    """
    failures: dict[str, list[str]] = {}
    rounds_count = 0

    def sample() -> None:
        nonlocal rounds_count
        rounds_count += 1
        readings: dict[str, Counters] = {}
        for host in hosts:
            try:
                readings[host.name] = host.counters()
            except (PerjouleError, OSError, ValueError) as error:
                failures.setdefault(host.name, []).append(" ".join(str(error).split()) or type(error).__name__)
        take(readings)

    with sampling(name, rate_hz, sample) as doubts:
        yield doubts
    for host, reasons in failures.items():
        doubts.append(f"{name}: {len(reasons)} of {rounds_count} readings of {host} failed, the last with: {reasons[-1]}")
