"""Pauses of this machine and steps of its clocks during a load: a thread compares three clocks ten times a
second.

The monotonic clock stands still while the machine is suspended, the one since boot does not
(https://man7.org/linux/man-pages/man2/clock_gettime.2.html). A thread that was not run for long has a gap
between two looks: perjoule was stopped, the machine had no time for it, or it is a virtual machine that was
paused.
"""

import threading
import time
from dataclasses import dataclass
from typing import NamedTuple, Self

from perjoule.execution.write_back import LATE_S
from perjoule.model.doubts import TIMES, Doubt

LOOK_S = 0.1
NOTICED_S = 1.0  # between two looks, above which nothing ran; a busy machine takes less
STEP_S = 0.05  # between two looks, above which a clock was set
TORN_S = 0.005  # in which one look must read all clocks: it may be interrupted between two of them


class Look(NamedTuple):
    """One moment on all clocks, in s."""

    monotonic_s: float
    boot_s: float  # since boot, including suspensions
    utc_s: float


@dataclass(frozen=True)
class Pause:
    """What happened between two looks: for how long nothing ran, by which a clock was set."""

    began_s: float
    ended_s: float  # monotonic
    suspended_s: float
    set_s: float  # by which the UTC clock was set

    @property
    def stood_still_s(self) -> float:
        """The time in which nothing ran; 0 if that is no more than usual."""
        gap_s = self.ended_s - self.began_s + self.suspended_s
        return gap_s if gap_s > NOTICED_S or self.suspended_s > STEP_S else 0.0

    @property
    def fails(self) -> bool:
        """Whether what was measured in it is not kept where the load stood still, too."""
        return self.stood_still_s > LATE_S or self.suspended_s > STEP_S


def read_clocks() -> Look:
    """Read all clocks, again until that took no time."""
    while True:
        look = Look(time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME), time.time())
        if time.monotonic() - look.monotonic_s < TORN_S:
            return look


def between(before: Look, after: Look) -> Pause | None:
    """Compare two looks; None if nothing was unusual."""
    suspended_s = (after.boot_s - before.boot_s) - (after.monotonic_s - before.monotonic_s)
    set_s = (after.utc_s - before.utc_s) - (after.boot_s - before.boot_s)
    pause = Pause(before.monotonic_s, after.monotonic_s, suspended_s, set_s if abs(set_s) > STEP_S else 0.0)
    return pause if pause.stood_still_s or pause.set_s else None


class Watch:
    """Looks at the clocks from the begin of a block to its end; `pauses` are those so far."""

    def __init__(self) -> None:
        self.pauses: tuple[Pause, ...] = ()
        self._last = read_clocks()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clocks", daemon=True)

    def __enter__(self) -> Self:
        self._last = read_clocks()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_S):
            self._look()
        self._look()

    def _look(self) -> None:
        look = read_clocks()
        if pause := between(self._last, look):
            self.pauses += (pause,)
        self._last = look

    def stood_still(self) -> Doubt | None:
        """Say for how long this machine or perjoule stood still; None if it did not."""
        total_s = sum(pause.stood_still_s for pause in self.pauses)
        return TIMES.stood_still(still_s=total_s) if total_s else None

    def set_and_back(self) -> Doubt | None:
        """Say that the clock was set and set back; None if it was not. (What is left in the end, the run's
        own clocks show.)
        """
        sets_s = [pause.set_s for pause in self.pauses if pause.set_s]
        if not sets_s or abs(sum(sets_s)) > STEP_S:
            return None
        return TIMES.set_and_back(set_s=sets_s[0])
