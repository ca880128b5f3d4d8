"""Bounds for a block that computes what a stranger's file makes it compute: memory and processor time.

Sizes that a file states bound neither: a series file of 10 KB can state 1 KB and unpack to 2 GB.
"""

import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

MOST_BYTES = 8 * 1024**3  # more than the current size of this process; results of 12,000 trials take 61 MB
MOST_RATIO = 0.75  # of what the machine has left
_PAGE_BYTES = resource.getpagesize()


@contextmanager
def bounded(most_cpu_s: float = 0.0) -> Generator[None]:
    """Limit what the block takes; to be entered in the main thread.

    Args:
        most_cpu_s: processor time of all threads, 0 for no limit.

    Raises:
        MemoryError: it would take more memory than MOST_BYTES, or than most of what is available.
        TimeoutError: it took more time.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limits = [_size_bytes() + min(MOST_BYTES, round(MOST_RATIO * _available_bytes()))]
    limits += [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    handler = signal.signal(signal.SIGPROF, _late)
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    signal.setitimer(signal.ITIMER_PROF, most_cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, handler)


def _late(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("it took too much processor time")


def _size_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * _PAGE_BYTES


def _available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(
        (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), MOST_BYTES
    )
