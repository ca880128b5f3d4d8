"""A log that another program writes, live or afterwards: https://www.rfc-editor.org/rfc/rfc4180

Everything about it is declared: columns, unit, semantics, time zone. Lines above the header are skipped, so
exports of LMG or Yokogawa instruments need no editing. The log may grow while it is read.

Exports of databases have several series in one file, of which `where` chooses one: InfluxDB's annotated CSV
(https://docs.influxdata.com/influxdb/v2/reference/syntax/annotated-csv/), what `influx -format csv` of InfluxDB 1
prints, with nanoseconds (https://docs.influxdata.com/influxdb/v1/tools/influx-cli/use-influx-cli/), and Home
Assistant's history (`changes`).
"""

import codecs
import os
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from itertools import count
from pathlib import Path
from typing import Literal, Self
from zoneinfo import ZoneInfoNotFoundError

import numpy as np
from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check, Hosts, Sink
from perjoule.machine.untrusted import foreign_text, marked_encoding, opened
from perjoule.meters._declared import Declared
from perjoule.meters._metered import MeterReading, Read, source
from perjoule.meters._unit_names import names_a_unit, other_unit
from perjoule.meters.csv.grouped import doubtful
from perjoule.meters.csv.growing import Growing, dated_s, stopped
from perjoule.meters.csv.log import DeclaredLog
from perjoule.meters.csv.moments import LogSample
from perjoule.meters.csv.names import is_start
from perjoule.meters.csv.readings import KeptReadings, contradiction, doubts, of_trial
from perjoule.meters.csv.rows import CHARACTERS, LogLayout, Rows, separator, uncut
from perjoule.meters.csv.times import Kind, zone_named
from perjoule.model import OPTIONS, Channel, Clock, Json
from perjoule.model.doubts import Doubt
from perjoule.model.errors import CampaignError
from perjoule.model.series import Floats
from perjoule.model.units import Seconds

__all__ = ["Csv", "contradiction", "doubts"]

EXAMPLE = """
[[meter]]
kind = "csv"
path = "power.csv"
time = ["Date", "Time"]
format = "%d.%m.%Y %H:%M:%S"
zone = "Europe/Berlin"
value = "P1"
delimiter = ";"
decimal = ","
unit = "W"
semantics = "window mean"
window = "1 s"
grade = "wall"
"""

# of a log that is read at once if it is plain, and of its beginning that shows whether it is
_LONG_BYTES = 256 * 1024
_CHUNKS_AT_ONCE = 16  # of new lines; the rest waits for the next read


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Csv(Declared):
    """A log with columns."""

    path: Path
    """The file."""

    time: tuple[str, ...] = ("time",)
    """The column with the time, or the columns that form it (["Date", "Time"]); without a header by
    number, from 1.
    """

    value: str
    """The column with the numbers."""

    window_column: str = ""
    """The column with the length of each window in seconds, instead of `window`."""

    clock: Kind = "date"
    """What the times are: dates, Unix seconds, seconds of this machine's CLOCK_MONOTONIC, or since the
    recording's beginning.
    """

    format: str = ""
    """How dates are written, in strptime's notation ("%d.%m.%Y %H:%M:%S"); ISO 8601 by default."""

    zone: str = ""
    """The time zone of dates without one: "UTC", "Europe/Berlin", "+0100"."""

    twice: Literal["refuse", "in order"] = "refuse"
    """How to treat the hour that occurs twice when daylight saving time ends: refuse it, or resolve it by the
    order of the
    rows."""

    delimiter: str = ","
    """Between columns; '\\t', in single quotes, for tabs."""

    decimal: Literal["", ".", ","] = ""
    """The decimal separator; by default a point, or a comma beside `thousands = "."`.

    State it where a point may be either.
    """

    thousands: Literal["", ",", ".", " ", "'"] = ""
    """The separator of thousands, where it may be mistaken for a decimal separator ("1,234", "1.234")."""

    by: str = ""
    """The column that distinguishes rows of one moment: outlets, phases, GPUs. Their values are added."""

    only: tuple[str, ...] = ()
    """The values of the column `by` that count; all by default."""

    where: Mapping[str, str] = field(default_factory=dict[str, str])
    """Columns, each with the text that rows must have there to count: {"_field" = "power", "host" = "storage-1"}."""

    changes_only: bool = False
    """Whether a row is written only if its number changed (Home Assistant): until the next row, the meter read it
    again every `period`. Such a log is read once it is whole."""

    header: bool = True
    """Whether a line names the columns."""

    encoding: str = "utf-8-sig"
    """The file's encoding, unless a byte order mark says another."""

    wait_s: Seconds | None = None
    """How long to wait at the end for the last rows, if the log is written with a delay."""

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if len(separator(self.delimiter)) != 1:
            raise ValueError("delimiter must be one character")
        if self.delimiter == self.decimal and not self.header:
            # the line with the names tells how many columns a row has, once numbers are in quotes
            raise ValueError("without a header, delimiter and decimal must differ")
        if self.thousands and self.thousands == self.decimal:
            raise ValueError("thousands and decimal must differ")
        if self.only and not self.by:
            raise ValueError("only chooses among the values of a column (set by)")
        if self.changes_only and (
            self.by or self.counts == "energy" or not self.period_s or self.tells_window
        ):
            raise ValueError(
                "changes_only needs period, and is for power without windows of its own (where chooses rows, not by)"
            )
        if not self.header and not all(
            name.isdigit() and int(name)
            for name in filter(None, (*self.time, self.value, self.by, *self.where))
        ):
            raise ValueError("without a header, columns are numbers from 1")
        directives = self.format.replace("%%", "")
        if ("%p" in directives) != ("%I" in directives):
            raise ValueError("of 12 hours, format needs both %I and %p: strptime ignores %p beside %H")
        if "%Z" in directives:
            raise ValueError(
                'strptime loses the zone that %Z reads: write its letters into format ("%H:%M:%S UTC"), and set zone'
            )
        is_mean = self.semantics in ("window mean", "average") and self.clock != "beginning"
        if is_mean and (starts := next(filter(is_start, self.time), "")):
            raise ValueError(f'"{starts}" is the start of a window, and the time of a mean is its end')
        if named_unit := other_unit(self.value, self.unit):
            raise ValueError(f'the column "{self.value}" is in {named_unit}, and unit is "{self.unit}"')
        try:
            if not CHARACTERS.fullmatch(codecs.lookup(self.encoding).name):
                raise ValueError(f"{self.encoding} is no encoding of characters")
            zone_named(self.zone or "UTC")
        except (LookupError, ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"zone or encoding is not known ({error})") from None
        return self

    @property
    def source(self) -> tuple[str, ...]:
        """The column, and the rows of it that count."""
        return (*source(self, "only"), *filter(None, [", ".join(sorted(self.only))]))

    @property
    def tells_window(self) -> bool:
        """Whether each row contains its window."""
        return bool(self.window_column)

    @property
    def names_unit(self) -> bool:
        """Whether the column's name states its unit."""
        return names_a_unit(self.value)

    @property
    def layout(self) -> LogLayout:
        """The format of the log."""
        return LogLayout(
            time=self.time,
            value=self.value,
            window=self.window_column,
            delimiter=separator(self.delimiter),
            decimal=self.decimal or ("," if self.thousands == "." else "."),
            header=self.header,
            by=self.by,
            thousands=self.thousands,
            where=self.where,
        )

    @property
    def guesses(self) -> bool:
        """Whether points are taken for decimals only because nobody declared them, in watts or joules
        themselves.
        """
        return not self.decimal and not self.thousands and self.factor == 1

    @property
    def sampled_hz(self) -> float:
        """How often it has a row, if that is stated, however often the log is read."""
        row_s = self.window_s or self.period_s
        return 1 / row_s if row_s else self.rate_hz

    def declared(self, extent: Boundary) -> Channel:
        """Return the declared channel; times of this machine's own clock are known."""
        channel = super().declared(extent)
        if self.clock not in ("monotonic", "beginning") or self.clock_uncertainty_s is not None:
            return channel
        return replace(channel, specification=replace(channel.specification, clock_s=0.0))

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Its file, from this folder if it is relative."""
        return {"path": str(Path(place).absolute())} if place else {}

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream the rows that arrive during the block, and judge them together at its end."""
        kept = KeptReadings(sink)
        with super().record(hosts, kept) as meter_doubts:
            yield meter_doubts
            time.sleep(self.wait_s or 0.0)
        meter_doubts.extend(of_trial(self, np.array(kept.t_s), np.array(kept.values)))

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Open the log. Raises OSError, or CampaignError: it must be whole to be read.

        Its present content is old, or, if times are since the beginning, it is replayed.
        """
        if self.changes_only:
            fault = "a log of changes says only with its next row how long a number held"
            raise CampaignError(
                fault, where=f"meter {self.label}", next="import it with its run (perjoule docs import)"
            )
        channel, replays = self.declared(extent), self.clock == "beginning"
        log = DeclaredLog(self, Clock(time.monotonic(), time.time()))
        with opened(self.path.expanduser()) as file:
            text, waiting = Growing(file, self.encoding), deque[LogSample]()

            def new(chunks: Iterable[object], *, only_last: bool = False) -> Iterable[LogSample]:
                self._same(file.fileno(), file.tell())
                samples = list(log.samples(text.lines(chunks), only_last=only_last))
                if text.found and not log.rows.began:
                    raise ValueError(log.rows.missing())
                return samples

            old = new(count(), only_last=not replays)  # the last row alone shows whether it is as declared
            waiting.extend(old if replays else ())

            def read() -> Iterable[MeterReading]:
                waiting.extend(new(range(_CHUNKS_AT_ONCE)))
                while waiting and not (replays and waiting[0].t_s > time.monotonic()):
                    sample = waiting.popleft()
                    yield MeterReading(channel, sample.value, dated_s(sample), sample.duration_s, dated=True)

            yield read

    def names_columns(self, text: str) -> bool:
        """Return whether a line of a log names its columns."""
        rows = Rows(self.layout)
        with suppress(ValueError):
            next(rows.rows(text.split("\n")), None)
        return rows.began

    def samples(self, text: str, clock: Clock, began_s: float = 0.0) -> Iterator[LogSample]:
        """Read all rows of a log that is joined with a record afterwards: `clock` and the beginning are the
        record's.

        Raises:
            CampaignError: the columns are missing, or a row is not as declared.
        """
        return self._read(DeclaredLog(self, clock, began_s, guesses=self.guesses), uncut(text, "\n"))

    def _read(self, log: DeclaredLog, text: str) -> Iterator[LogSample]:
        try:
            samples = [*log.samples(text.split("\n")), *log.end()]
        except ValueError as error:
            raise CampaignError(
                str(error), where=str(self.path), next="check what the [[meter]] table declares"
            ) from None
        if not log.rows.began:
            raise CampaignError(
                log.rows.missing(), where=str(self.path), next="set time, value and delimiter"
            )
        if unmatched := log.rows.unmatched():
            raise CampaignError(unmatched, where=str(self.path), next="set where to what it has")
        yield from samples

    def plain(self, content: bytes) -> tuple[Floats, Floats] | None:
        """Read a long log at once, as (seconds of UTC, W or J); None if it needs `samples`. Raises
        CampaignError as that does.

        Its first rows are read by both.
        """
        bare = (
            self.format
            or self.decimal == ","
            or self.thousands
            or self.by
            or self.where
            or self.changes_only
            or self.window_column
            or len(self.time) > 1
            or self.zone[:1] in ("+", "-")
        )
        if (
            bare
            or not self.header
            or self.clock not in ("date", "unix")
            or marked_encoding(content) not in ("", "utf-8-sig")
        ):
            return None
        if len(content) < _LONG_BYTES or codecs.lookup(self.encoding).name not in ("utf-8", "utf-8-sig"):
            return None
        from perjoule.meters.csv.plain import columns  # pyarrow takes as long to import as `perjoule show`

        arrays = columns(
            uncut(content, b"\n").removeprefix(codecs.BOM_UTF8),
            time="".join(self.time),
            value=self.value,
            delimiter=separator(self.delimiter),
            clock=self.clock,
            zone=self.zone or "UTC",
        )
        if arrays is None:
            return None
        head = foreign_text(content[: content.rindex(b"\n", 0, _LONG_BYTES)])
        log = DeclaredLog(self, Clock(0.0, 0.0), 0.0)
        first = [*self._read(log, head)]
        if self.guesses and not log.points.settled and doubtful(arrays[1]):
            return None
        t_s, values = arrays[0], arrays[1] * self.factor
        same = all(
            row.t_s == t and row.value == value for row, t, value in zip(first, t_s, values, strict=False)
        )
        return (t_s, values) if same else None

    def checks(self) -> tuple[Check, ...]:
        """Check that the log exists."""
        exists = self.path.expanduser().is_file()
        detail = str(self.path) if exists else f"{self.path} does not exist"
        return (
            Check(
                "log",
                ok=exists,
                detail=detail,
                fix="" if exists else "start the program that writes it, or set path",
            ),
        )

    def answers(self) -> tuple[Check, ...]:
        """Ask it once; powers must still be written, unless their times are since the beginning."""
        if self.clock == "beginning" or self.counts == "energy":  # a counter may step once an hour
            return super().answers()
        row_s = max(self.period_s or 0.0, self.window_s or 0.0, self.wait_s or 0.0)
        return stopped(self.label, self.path.expanduser(), row_s) or super().answers()

    def _same(self, descriptor: int, at_bytes: int) -> None:
        """Check that the file is still the opened one. Raises OSError."""
        opened, current = os.fstat(descriptor), self.path.expanduser().stat()
        if (opened.st_ino, opened.st_dev) != (current.st_ino, current.st_dev) or current.st_size < at_bytes:
            raise OSError(f"{self.path} was replaced or truncated")
