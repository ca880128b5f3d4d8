"""The clock of this machine over a campaign: set between two trials, it puts them in another order, and at
other distances.

The drift of a campaign is a slope over the times of its trials, and repetitions are paired by them.
"""

from contextlib import suppress

from perjoule.execution import pauses
from perjoule.model.doubts import CHANGE, Doubt
from perjoule.model.errors import PerjouleError
from perjoule.store import Results

# by which a clock may differ: once, and over time (NTP corrects half of it)
STEP_S, SLEWED_RATIO = 1.0, 0.001


class CampaignClock:
    """The clock from the last trial of a results folder on; trials are reported in the order in which they
    are measured.
    """

    def __init__(self, results: Results) -> None:
        self._look = pauses.read_clocks()
        self._kept_utc_s = 0.0  # when the last trial was kept
        with suppress(PerjouleError):
            for entry in results.entries()[-1:]:
                self._kept_utc_s = results.record(entry).clock.utc_s

    def doubt(self, took_s: float) -> Doubt | None:
        """Return a doubt if the clock was set since the last trial, at the end of another one, which took
        this long.
        """
        before, after = self._look, pauses.read_clocks()
        since_s = after.boot_s - before.boot_s
        set_s = after.utc_s - before.utc_s - since_s
        if abs(set_s) <= STEP_S + SLEWED_RATIO * since_s:
            set_s = min(0.0, after.utc_s - took_s + STEP_S - self._kept_utc_s)  # while no perjoule watched it
        self._look, self._kept_utc_s = after, after.utc_s
        if not set_s:
            return None
        return CHANGE.clock_set(set_s=set_s)
