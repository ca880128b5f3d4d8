"""The rows of a log, held against what its meter declares."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from perjoule.meters._unit_names import FACTORS, other_unit, symbol
from perjoule.meters.csv.changes import Changes, HistoryRows
from perjoule.meters.csv.grouped import Points
from perjoule.meters.csv.moments import LogSample, Overlaps, Sums
from perjoule.meters.csv.names import about_times, unit_above, zones_of
from perjoule.meters.csv.rows import LogRow, Rows
from perjoule.meters.csv.several import Several
from perjoule.meters.csv.times import Times
from perjoule.model import Clock

if TYPE_CHECKING:
    from perjoule.meters.csv import Csv

_UNIT_ROWS = 3  # below a header, as instruments write them


class DeclaredLog:
    """The rows of a log as samples, in order."""

    def __init__(
        self, meter: "Csv", clock: Clock, began_s: float | None = None, *, guesses: bool = False
    ) -> None:
        began_s = clock.monotonic_s if began_s is None else began_s
        self.rows = Rows(meter.layout)
        self._times = Times(meter.clock, clock, began_s, meter.format, meter.zone, meter.twice, meter.time)
        self._meter = meter
        self._several = Several(are_powers=meter.counts == "power" and not meter.changes_only)
        self.points, self._guesses = Points(), guesses
        self._sums = Sums(meter.by, meter.only) if meter.by and len(meter.only) != 1 else None
        self._last_s = self._last_value = math.nan
        self._coarse = False  # whether rows of one stamp had different values
        self._overlaps = Overlaps(meter.window_s)
        self._changes = Changes(meter.period_s or 0.0) if meter.changes_only else None
        self._history = HistoryRows(is_power=meter.counts == "power", changes_only=meter.changes_only)
        self._strange_count = 0
        self._head: Sequence[str] = ()  # the names of which the following were read
        self._about_times: Sequence[str] = meter.time
        self._zone_at, self._zone = -1, ""  # the column of zones, and the last one

    def samples(self, lines: Iterable[str], *, only_last: bool = False) -> Iterator[LogSample]:
        """Read lines. Raises ValueError if they are not as declared, or time goes back."""
        rows = self.rows.rows(lines)
        for row in deque(rows, maxlen=1) if only_last else rows:
            self._stated(row)
            counts = not self._meter.only or row.key in self._meter.only  # others may have another unit
            if not counts or (sample := self._sample(row)) is None:
                continue
            if sample.t_s < self._last_s:
                raise ValueError(
                    f"time goes back {self._last_s - sample.t_s:.3g} s at {row.time!r} (rows must be in the order of "
                    "time: sort them if the newest come first)"
                )
            if self._sums and not only_last:
                yield from self._sums.add(row.key, sample)
                self._last_s = sample.t_s
                continue
            if not only_last:
                self.points.cell(row.text)
                self._history.row(row.time, sample.t_s, self.rows.header)
            if not self._meter.by and not only_last:
                self._several.row(row.time, row.cells, self.rows.header, self.rows.used)
                self._several.reading(sample.t_s, sample.value)
            if sample.t_s == self._last_s:
                if not self._coarse and (sample.value == self._last_value or math.isnan(sample.value)):
                    continue  # a line written twice
                self._coarse = True  # stamps are coarser than rows: what it means is for the analysis to say
            self._overlaps.add(sample.t_s)
            self._last_s, self._last_value = sample.t_s, sample.value
            yield from self._changes.add(sample) if self._changes else (sample,)

    def end(self) -> Iterator[LogSample]:
        """Return what the end of a whole log completes. Raises ValueError if its rows are not as declared."""
        self._several.end()
        if self._guesses:
            self.points.end()
        if self._sums:
            yield from self._sums.end()

    def _stated(self, row: LogRow) -> None:
        """Hold the lines above the names, and the zone of a row, against the declaration. Raises ValueError."""
        lines, self.rows.above = self.rows.above, []
        if lines and (unit := symbol(unit_above(lines))) in FACTORS and unit != self._meter.unit:
            raise ValueError(f'above the names it says {unit}, and unit is "{self._meter.unit}"')
        if self._head is not self.rows.header:
            self._head, self._zone_at = self.rows.header, zones_of(self.rows.header)
            self._about_times, self._zone = (*self._about_times, *about_times(lines)), ""
            self._times.read(self._about_times)
        zone = row.cells[self._zone_at] if 0 <= self._zone_at < len(row.cells) else ""
        if zone != self._zone:
            self._zone = zone
            self._times.read((*self._about_times, zone))

    def _sample(self, row: LogRow) -> LogSample | None:
        """Return a row as a sample; None if it is a row of units. Raises ValueError."""
        factor = self._meter.factor_of(row.unit) if row.unit else self._meter.factor
        value = math.nan if row.value is None else row.value * factor
        try:
            t_s = self._times.moment_s(row.time)
        except ValueError:
            first = math.isnan(self._last_s)
            if not math.isnan(value) or (first and self._strange_count == _UNIT_ROWS):
                raise
            stated_unit = row.text.strip("[]()")
            if unit_below := other_unit(f"[{stated_unit}]", self._meter.unit):
                raise ValueError(
                    f'below the names it says {unit_below}, and unit is "{self._meter.unit}"'
                ) from None
            self._strange_count += first
            if first or symbol(stated_unit) == self._meter.unit:  # units, below the names
                return None
            # damaged: a gap after the last
            return LogSample(math.nextafter(self._last_s, math.inf), math.nan, 0.0)
        return LogSample(
            t_s, value, row.window_s if self._meter.tells_window else self._meter.window_s or 0.0
        )
