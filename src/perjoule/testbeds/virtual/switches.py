"""Context switches of a virtual host: a control group doesn't count them, so they are added up over its
tasks.

https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
"""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress

from perjoule.testbeds._kernel import read_once, switches_count

PERIOD_S = 0.5  # between two looks: one takes about 20 µs for each task


class ContextSwitches:
    """A host's context switches since the first look.

    Those of a task that began and ended between two looks are missing.
    """

    def __init__(self, pids: Callable[[], Iterable[int]], proc: str = "/proc") -> None:
        self._pids, self._proc = pids, proc
        self._seen: dict[str, int] = {}  # of each task
        self._total_count = 0
        self._next_s = 0.0

    def count(self, now_s: float) -> int | None:
        """Return the count; None if it was read less than half a second ago, or can't be read."""
        if now_s < self._next_s:
            return None
        began = bool(self._next_s)
        self._next_s = now_s + PERIOD_S
        counts = self._tasks()
        if not counts:  # a host has at least its holder
            return None
        if began:
            self._total_count += sum(count - self._before(task, count) for task, count in counts.items())
        self._seen = counts
        return self._total_count

    def _before(self, task: str, count: int) -> int:
        """Return a task's last count; 0 if it is new, or another one with its number."""
        before = self._seen.get(task, 0)
        return before if before <= count else 0

    def _tasks(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        with suppress(OSError):
            for pid in self._pids():
                with suppress(OSError):  # it has just ended
                    for task in os.listdir(f"{self._proc}/{pid}/task"):  # noqa: PTH208  # half the time of a path
                        with suppress(OSError):
                            count = switches_count(read_once(f"{self._proc}/{pid}/task/{task}/status"))
                            if count is not None:
                                counts[task] = count
        return counts
