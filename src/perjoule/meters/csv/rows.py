"""Rows of a log: after the lines that instruments write above it, with decimal commas or points, and markers
for missing numbers.

A log may be read while it grows: lines are passed as they come.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import AnyStr

from perjoule.meters.csv.names import units_of

# Python has others: some unpack, some take the square of a text's length in time (punycode).
# https://docs.python.org/3/library/codecs.html#standard-encodings, by the names that `codecs.lookup` gives
CHARACTERS = re.compile(
    r"ascii|utf-(7|8|8-sig|(16|32)(-[bl]e)?)|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|kz1048|ptcp154|tis-620|hp-roman8"
    r"|gb2312|gbk|gb18030|hz|big5(hkscs)?|euc_\w+|iso2022_\w+|shift_jis\w*|johab",
    re.ASCII,
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d+,\d+")
# between thousands: never a decimal separator
_SPACED = re.compile(r"(?<=\d)[ '\u2019\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_GROUPS = re.compile(r"[+-]?\d{1,3}((?:([.,])\d{3})(?:\2\d{3})*)(?:([.,])\d+)?")
_WITH_UNIT = re.compile(r"(.*\d[.,]?)\s*([A-Za-z\u00b5\u03bc]{1,10})")
# begins with a number; "-1.#IND" is how some programs write none
_LIKE_NUMBER = re.compile(r"(?![+-]?1\.#)\W{0,2}\d.*", re.DOTALL)
_NOTHING = {
    "",
    "-",
    "--",
    "---",
    "nan",
    "inf",
    "+inf",
    "-inf",
    "null",
    "none",
    "n/a",
    "error",
    "overflow",
    "overrange",
    "unavailable",
    "unknown",
}
# of InfluxDB's annotated CSV, above the header of each table
_ANNOTATIONS = frozenset({"#group", "#datatype", "#default"})
_UNIT_CELL = re.compile(
    r"[numkMG\u00b5\u03bc]?(?:Wh?|J|VAh?|varh?|V|A|Hz)|(?:micro|milli|kilo|mega|[kmM])?(?:watt|joule)s?(?:[ -]?hours?)?",
    re.IGNORECASE,
)
_FAILED = ["error", "reference"]  # the header of its table that says why a query failed
_OTHERS_COUNT = 8  # of texts that are not those of `where`, to be named
_LONGER_COUNT = 10  # lines before one that was cut
_SHOWN, _ABOVE_COUNT = 3, 100  # of the lines above the one that names the columns: in an error, and kept
_SCPI_NAN = 9.9e37  # IEEE 488.2 and SCPI: 9.91E37 is "not a number", 9.9E37 infinity; no watts are as many


@dataclass(frozen=True)
class LogLayout:
    """The format of a log."""

    # columns that make up the time together, by name, or by number from 1 without a header
    time: tuple[str, ...]
    value: str
    window: str = ""  # the column with the length of each window
    delimiter: str = ","
    decimal: str = "."
    header: bool = True
    by: str = ""  # the column that distinguishes rows of one moment
    thousands: str = ""
    where: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # the texts of columns, in rows that count


@dataclass(frozen=True)
class LogRow:
    """One line with its time as text; the value is NaN if absent, None if it is not a number at all."""

    time: str
    value: float | None
    window_s: float
    text: str  # of the value
    unit: str = ""  # behind the value, or in a column of units
    key: str = ""  # in the column `by`
    cells: Sequence[str] = ()  # all of the line


class Rows:
    """The rows of one log, in order; remembers the positions of the columns."""

    def __init__(self, layout: LogLayout) -> None:
        self._layout = layout
        self._names = (*layout.where, *layout.time, layout.value, *filter(None, (layout.window, layout.by)))
        self.header: Sequence[str] = ()
        self._columns: list[int] | None = None if layout.header else [int(name) - 1 for name in self._names]
        self._unit_at = -1  # the column with units; there may be none
        self.above: list[str] = []  # lines, before the one with the names
        self._wanted = list(layout.where.values())
        self._others: dict[str, None] = {}
        self._matched = not layout.where

    @property
    def began(self) -> bool:
        """Whether the columns are known, or were those of a table before."""
        return self._columns is not None or bool(self.header)

    def missing(self) -> str:
        """Return the message that no line named the columns."""
        skipped = " | ".join(self.above[:_SHOWN])
        hint = ' (its encoding is another: set encoding, such as "latin-1")' if "\ufffd" in skipped else ""
        return f"no line has the columns {', '.join(self._names)}{hint}; the first lines are: {skipped[:200]}"

    def unmatched(self) -> str:
        """Return the message that no row has the texts of `where`; "" if one has."""
        wanted = ", ".join(f"{column} = {text}" for column, text in self._layout.where.items())
        return (
            ""
            if self._matched
            else f"no row has {wanted}; there are: {' | '.join(self._others) or 'no rows'}"
        )

    @property
    def used(self) -> frozenset[int]:
        """The positions of the declared columns."""
        return frozenset(self._columns or ())

    def rows(self, lines: Iterable[str]) -> Iterator[LogRow]:
        """Read lines after the one that names all columns. Raises ValueError: one is not CSV."""
        for fields in _fields(lines, self._layout.delimiter):
            cells = [cell.strip() for cell in fields]
            if not any(cells):
                continue
            if len(cells) <= 3 and list(filter(None, cells)) == _FAILED:
                raise ValueError("it has an error of InfluxDB's instead of rows: repeat the export")
            if self._layout.header and cells[0] in _ANNOTATIONS:
                self._columns = None  # until its header; a table of another schema is left out
                continue
            if self._layout.header and cells[0].startswith("#"):
                cells = self._uncommented(cells)
            is_header = self._layout.header and set(self._names) <= set(cells)
            if is_header:  # once, or again where a logger was restarted
                if twice := next((name for name in self._names if cells.count(name) > 1), ""):
                    raise ValueError(
                        f'two columns are called "{twice}" (set header = false, and name columns by number, from 1)'
                    )
                self._columns = [cells.index(name) for name in self._names]
                unit_at = units_of(cells, self._columns[len(self._layout.where) + len(self._layout.time)])
                self._unit_at = -1 if unit_at in self._columns else unit_at
                self.header = cells
            elif self._layout.header and self.header and set(self._layout.time) <= set(cells):
                self._columns = None  # a table without the number, as where a logger was set up anew
            elif self._columns is None:
                if len(self.above) < _ABOVE_COUNT:
                    self.above.append(self._layout.delimiter.join(fields))
            else:
                picked = [cells[column] if column < len(cells) else "" for column in self._columns]
                count = len(self._wanted)
                if self._counts(picked[:count]):
                    if self.header and any(cells[len(self.header) :]):
                        raise ValueError(
                            f"a row has {len(cells)} columns, and the line with their names {len(self.header)}: "
                            f"{self._layout.delimiter.join(fields)[:80]!r} (do its numbers or times have the "
                            "delimiter in them?)"
                        )
                    yield self._row(picked[count:], cells)

    def _uncommented(self, cells: list[str]) -> list[str]:
        """Return a line in a comment without its mark, if it names the columns: "#time,power", "# time power"."""
        first_name = cells[0].lstrip("#").strip()
        if not first_name and self._layout.delimiter != " ":
            return cells  # a column of numbers
        names = [first_name, *cells[1:]] if first_name else cells[1:]
        return names if set(self._names) <= set(names) else cells

    def _counts(self, texts: Sequence[str]) -> bool:
        """Return whether a row has the texts of `where`."""
        if texts == self._wanted:
            self._matched = True
            return True
        if len(self._others) < _OTHERS_COUNT:
            self._others[", ".join(texts)] = None
        return False

    def _row(self, picked: Sequence[str], cells: Sequence[str]) -> LogRow:
        layout, times_count = self._layout, len(self._layout.time)
        text = picked[times_count]
        window = number(picked[times_count + 1], layout.decimal) if layout.window else 0.0
        value, unit = number(text, layout.decimal, layout.thousands), ""
        if value is None and (parts := _WITH_UNIT.fullmatch(text)):
            value, unit = number(parts[1], layout.decimal, layout.thousands), parts[2]
        stated_unit = cells[self._unit_at] if 0 <= self._unit_at < len(cells) else ""
        if value is not None and not unit and _UNIT_CELL.fullmatch(stated_unit):
            unit = stated_unit
        if value is None and _LIKE_NUMBER.fullmatch(text):
            raise ValueError(f"{text!r} is not a number (is the column right, and decimal and thousands?)")
        time = " ".join(picked[:times_count]).strip()
        key = picked[-1] if layout.by else ""
        return LogRow(time, value, math.nan if window is None else window, text, unit, key, cells)


def separator(delimiter: str) -> str:
    """Return the character between columns: a tab is declared as "\\t", because options have no control characters."""
    return "\t" if delimiter == r"\t" else delimiter


def uncut(log: AnyStr, line_feed: AnyStr) -> AnyStr:
    """Return a log without a last line that was cut: it has no line feed, and is shorter than each before it."""
    *lines, last_line = log.rsplit(line_feed, _LONGER_COUNT + 1)
    is_cut = len(lines) > _LONGER_COUNT and all(len(line) > len(last_line) for line in lines[1:])
    return log[: len(log) - len(last_line)] if is_cut else log


def number(text: str, decimal: str = ".", thousands: str = "") -> float | None:
    """Parse a number of a log: NaN for a missing number, None for anything else.

    A separator of thousands needs no declaration where it can be nothing else: "1 234,5", "1'234.5",
    "1,234.5", "1,234,567".

    Raises:
        ValueError: commas and points are not as declared, or "1,234" may be either.
    """
    if text.lower() in _NOTHING:
        return math.nan
    text = _ungrouped(_SPACED.sub("", text.replace("\u2212", "-")), decimal, thousands)
    if decimal == "," and "." in text and _NUMBER.fullmatch(text.replace(",", "")):
        raise ValueError(f'{text!r} has a point, but decimal is "," (set decimal = ".")')
    if decimal == "." and _COMMA.fullmatch(text.partition("E")[0].partition("e")[0]):
        raise ValueError(f'{text!r} has a comma, but decimal is "." (set decimal = ",")')
    plain = text.replace(",", ".") if decimal == "," else text
    if not _NUMBER.fullmatch(plain):
        return None
    value = float(plain)
    return value if abs(value) < _SCPI_NAN else math.nan


def _ungrouped(text: str, decimal: str, thousands: str) -> str:
    """Remove separators of thousands. Raises ValueError: it may be a decimal separator."""
    groups = _GROUPS.fullmatch(text)
    if groups is None or groups[2] == decimal or groups[3] == groups[2]:
        return text
    if not thousands and len(groups[1]) == 4 and groups[3] is None:
        raise ValueError(
            f"{text!r} may have a decimal separator or one of thousands "
            f'(set decimal = "{groups[2]}" or thousands = "{groups[2]}")'
        )
    return text.replace(groups[2], "") if thousands in ("", groups[2]) else text


def _fields(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    except csv.Error as error:
        raise ValueError(f"a line is not CSV ({error})") from None
