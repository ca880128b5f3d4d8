"""Logs of changes: a row is written only if its number is another than the one before.

Home Assistant's history is one (https://www.home-assistant.io/integrations/history/). Its download
(`_downloadHistory` in home-assistant/frontend, src/panels/history/ha-panel-history.ts) has entity_id, state and
last_changed in UTC, one entity after the other. Equal states are left out, "unavailable" and "unknown" are none.
What the recorder has purged (after ten days) is replaced by means of an hour, dated at its start.
"""

import math
import re
from collections.abc import Iterator, Sequence

from perjoule.meters.csv.moments import LogSample

MOST_COUNT = 1_000_000  # of readings between two rows
_CHANGED = ("last_changed", "last_updated", "last_changed_ts", "last_updated_ts")  # _ts: in its database
_HOUR_S = 3600.0
_FULL_HOUR = re.compile(r".*\d\d:00:00(?:\.0+)?(?:Z|\+00:00)?")


class Changes:
    """Gives the readings that a log of changes left out: those of a meter that updates at an interval."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._before: LogSample | None = None

    def add(self, sample: LogSample) -> Iterator[LogSample]:
        """Return the readings up to a row, which are those of the row before, and the row's own.

        Raises ValueError: they are too many.
        """
        before, self._before = self._before, sample
        if before is not None and not math.isnan(before.value):
            count = math.ceil((sample.t_s - before.t_s) / self._period_s) - 1
            if count > MOST_COUNT:
                raise ValueError(
                    f"a number holds for {sample.t_s - before.t_s:.0f} s, {count} periods: is period right?"
                )
            yield from (before._replace(t_s=before.t_s + n * self._period_s) for n in range(1, count + 1))
        yield sample


class HistoryRows:
    """Looks at the rows of a log that may be a download of Home Assistant's history."""

    def __init__(self, *, is_power: bool, changes_only: bool) -> None:
        self._undeclared = is_power and not changes_only
        self._hour_s = math.nan  # of the row before, if that is of a full hour

    def row(self, time: str, t_s: float, header: Sequence[str]) -> None:
        """Take a row. Raises ValueError: it needs another declaration, or is a mean of an hour."""
        if "state" not in header or not set(header).intersection(_CHANGED):
            return
        if self._undeclared:
            raise ValueError(
                "Home Assistant records changes alone (set changes_only = true, and period to the interval at which "
                "the meter itself updates)"
            )
        before_s, self._hour_s = self._hour_s, t_s if _FULL_HOUR.fullmatch(time) else math.nan
        if abs(self._hour_s - before_s - _HOUR_S) < 1e-3:
            raise ValueError(
                f"{time!r} and the row before are of hours, not of moments: Home Assistant has no older states "
                "(download a later time)"
            )
