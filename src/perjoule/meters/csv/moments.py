"""Samples of one moment: added up where a column distinguishes them, refused where their windows can't all
lie before it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

COMPLETE_COUNT = 10  # moments, of which one must have all rows
TOTALS_COUNT = 10  # moments, at all of which a row is the sum of the others
SUM_RATIO = 0.001  # by which a sum may be rounded
MOVED_RATIO = 0.05  # by which it must change: what is constant may add up by chance
OVERLAP_RATIO = 1.5  # by which the windows of a moment may exceed the time since the one before
OVERLAPS_COUNT = 5  # in a row
_TOTAL = re.compile(  # turbostat's "-", and words of PDUs, meters of circuits and exports
    r"-|all(?: \w+)?|sum|summary|overall|aggregate|main|mains|inlet(?:[\W_]?\w{1,2})?|\u03a3"
    r"|(?:.*[\W_])?(?:totals?|totale[ns]?|totaal|gesamt\w*|summe|somma|suma|ensemble|\u0438\u0442\u043e\u0433\u043e)(?:[\W_].*)?"
    r"|sum of .*|.*(?:\u5408\u8ba1|\u5408\u8a08|\u603b\u8ba1|\u7dcf\u8a08).*",
    re.IGNORECASE,
)


class LogSample(NamedTuple):
    """One row, as `Sink.append` takes it."""

    t_s: float
    value: float
    duration_s: float


class Sums:
    """The sums of each moment's rows, a gap where one is missing."""

    def __init__(self, column: str, only: tuple[str, ...]) -> None:
        self._column, self._only = column, only
        self._keys = frozenset(only)  # or those of the first moment
        self._moment: dict[str, LogSample] = {}
        self._complete_count = self._moments_count = 0
        self._totals: set[str] | None = None  # keys whose row was the sum of the others at each whole moment
        self._least, self._most = math.inf, 0.0  # of the sums

    def add(self, key: str, sample: LogSample) -> Iterator[LogSample]:
        """Take a row, and return the sum of the moment before if this begins another. Raises ValueError."""
        if self._moment and sample.t_s != next(iter(self._moment.values())).t_s:
            yield self._sum()
        before = self._moment.get(key)
        if before and before.value != sample.value and not math.isnan(sample.value):
            raise ValueError(
                f'"{key}" in column "{self._column}" has two values at one moment: {before.value:g}, '
                f"{sample.value:g}"
            )
        self._moment[key] = before or sample

    def end(self) -> Iterator[LogSample]:
        """Return the sum of the last moment. Raises ValueError: no moment had all rows."""
        if self._moment:
            yield self._sum(last=True)

    def _sum(self, *, last: bool = False) -> LogSample:
        moment, self._moment = self._moment, {}
        if not self._keys:
            self._keys = frozenset(moment)
            self._refuse_named()
        self._moments_count += 1
        if new := sorted(moment.keys() - self._keys):
            raise ValueError(
                f'column "{self._column}" has "{new[0]}", which is not at the first moment: name all with '
                "only, or, if their times differ, choose one with only and give each a table of its own"
            )
        complete = moment.keys() == self._keys
        self._complete_count += complete
        if not self._complete_count and (last or self._moments_count == COMPLETE_COUNT):
            listed = ", ".join(sorted(self._keys))
            raise ValueError(
                f"no moment has rows of all of {listed}: their times differ, so choose one with only and "
                "give each its own table"
            )
        if complete and not self._only:
            self._refuse_total({key: sample.value for key, sample in moment.items()})
        first = next(iter(moment.values()))
        value = math.fsum(sample.value for sample in moment.values()) if complete else math.nan
        return LogSample(first.t_s, value, max(sample.duration_s for sample in moment.values()))

    def _refuse_named(self) -> None:
        """Raise ValueError if the name of a row says that it is the sum of the others: of some, not of all, as where
        several racks have their totals.
        """
        totals = sorted(key for key in self._keys if _TOTAL.fullmatch(key))
        if totals and len(totals) < len(self._keys):
            raise ValueError(self._twice(totals[0], "by its name"))

    def _refuse_total(self, values: Mapping[str, float]) -> None:
        """Raise ValueError if one of three rows or more is the sum of the others at each moment."""
        all_of_them = math.fsum(values.values())
        if len(values) < 3 or math.isnan(all_of_them):
            return
        digits = 0.5 * len(values) if all(value == round(value) for value in values.values()) else 0.0
        totals = {
            key
            for key, value in values.items()
            if abs(2 * value - all_of_them) <= max(SUM_RATIO * value, digits)
        }
        self._totals = totals if self._totals is None else self._totals & totals
        self._least, self._most = min(self._least, all_of_them), max(self._most, all_of_them)
        moved = self._most - self._least > MOVED_RATIO * self._most
        if self._totals and moved and self._complete_count >= TOTALS_COUNT:
            raise ValueError(self._twice(min(self._totals), "at each moment"))

    def _twice(self, total: str, reason: str) -> str:
        return (
            f'"{total}" in column "{self._column}" is the sum of the others {reason}, and would count '
            f'their watts twice: set only = ["{total}"], or name the others'
        )


class Overlaps:
    """Windows of rows with one stamp, which follow each other if stamps are coarse, and can't if they are
    of several things.
    """

    def __init__(self, window_s: float | None) -> None:
        self._window_s = window_s or 0.0
        self._stamp_s = self._before_s = math.nan
        self._rows_count = self._overlaps_count = 0

    def add(self, t_s: float) -> None:
        """Take a row.

        Raises ValueError: the windows of several moments are longer than the time between them.
        """
        if t_s == self._stamp_s:
            self._rows_count += 1
            return
        long = self._rows_count * self._window_s > OVERLAP_RATIO * (self._stamp_s - self._before_s)
        self._overlaps_count = self._overlaps_count + 1 if self._rows_count > 1 and long else 0
        if self._overlaps_count == OVERLAPS_COUNT:
            raise ValueError(
                f"moments have {self._rows_count} rows, whose windows of {self._window_s:g} s overlap: if "
                "they are of several outlets or phases, export the column that tells them apart and set by"
            )
        self._before_s, self._stamp_s, self._rows_count = self._stamp_s, t_s, 1
