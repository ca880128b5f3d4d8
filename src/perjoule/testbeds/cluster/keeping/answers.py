"""What the times of a host's answers say: that it stood still, or that its clock was set."""

import threading
import time

from perjoule.model.doubts import TIMES, Doubt
from perjoule.testbeds.cluster.facts import clock_s

LATE_S = 1.0  # from a question to its answer, above which it is unknown when the host read what it answers
STEP_S = 0.05  # by which its clock may differ from the first answer, beside what both are known to


class HostAnswers:
    """The answers of a host since `disturbances` was last called."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._longest_s = 0.0
        self._first: tuple[float, float] | None = None  # by how much its clock is ahead, and the uncertainty
        self._set_s = self._now_set_s = 0.0

    def take(self, t_s: float, half_s: float, answer: str) -> bool:
        """Take an answer in; return whether its moment is known well enough to use it. Raises ValueError: it
        states no time.

        Args:
            t_s: the middle of the round trip (monotonic).
            half_s: half of the round trip.
            answer: the answer, which begins with the host's clock.
        """
        ahead_s = clock_s(answer) - (time.time() - (time.monotonic() - t_s))
        with self._lock:
            if 2 * half_s > LATE_S:
                self._longest_s = max(self._longest_s, 2 * half_s)
                return False
            if self._first is None:
                self._first = ahead_s, half_s
            first_s, unsure_s = self._first
            off_s = ahead_s - first_s
            self._now_set_s = off_s if abs(off_s) > STEP_S + unsure_s + half_s else 0.0
            self._set_s = max(self._set_s, self._now_set_s, key=abs)
        return True

    def disturbances(self, name: str) -> tuple[Doubt, ...]:
        """Say what was unusual since the last call, of the host of this name."""
        with self._lock:
            # what stays, the run's clocks show
            longest_s, set_s = self._longest_s, 0.0 if self._now_set_s else self._set_s
            self._forget()
        still = [TIMES.no_answer(host=name, silent_s=longest_s)] if longest_s else []
        stepped = [TIMES.host_set_and_back(host=name, set_s=set_s)] if set_s else []
        return (*still, *stepped)
