"""Rows of a log: after the lines that instruments write above it, with decimal commas or points, and markers for missing numbers.

A log may be read while it grows: lines are passed as they come.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_NOTHING = {"", "-", "--", "---", "nan", "inf", "+inf", "-inf", "null", "none", "n/a", "error", "overflow", "overrange"}
_SHOWN = 3  # of the lines above the one that names the columns
_SCPI_NAN = 9.9e37  # IEEE 488.2 and SCPI: 9.91E37 is "not a number", 9.9E37 infinity; no watts are as many


@dataclass(frozen=True)
class Layout:
    """The format of a log."""

    time: tuple[str, ...]  # columns that make up the time together, by name, or by number from 1 without a header
    value: str
    window: str = ""  # the column with the length of each window
    delimiter: str = ","
    decimal: str = "."
    header: bool = True


@dataclass(frozen=True)
class Row:
    """One line with its time as text; the value is NaN if absent, None if it is not a number at all."""

    time: str
    value: float | None
    window_s: float
    text: str  # of the value


class Rows:
    """The rows of one log, in order; remembers the positions of the columns."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._names = (*layout.time, layout.value, *((layout.window,) if layout.window else ()))
        self._columns: list[int] | None = None if layout.header else [int(name) - 1 for name in self._names]
        self._skipped: list[str] = []

    @property
    def began(self) -> bool:
        """Whether the columns are known."""
        return self._columns is not None

    def missing(self) -> str:
        """Return the message that no line named the columns."""
        seen = " | ".join(self._skipped)
        return f"no line has the columns {', '.join(self._names)}; the first lines are: {seen[:200]}"

    def rows(self, lines: Iterable[str]) -> Iterator[Row]:
        """Read lines after the one that names all columns. Raises ValueError: one is not CSV."""
        for fields in _fields(lines, self._layout.delimiter):
            cells = [cell.strip() for cell in fields]
            if not any(cells):
                continue
            named = self._layout.header and set(self._names) <= set(cells)
            if named:  # once, or again where a logger was restarted
                self._columns = [cells.index(name) for name in self._names]
            elif self._columns is None:
                if len(self._skipped) < _SHOWN:
                    self._skipped.append(self._layout.delimiter.join(fields))
            else:
                yield self._row([cells[column] if column < len(cells) else "" for column in self._columns])

    def _row(self, cells: Sequence[str]) -> Row:
        times_count = len(self._layout.time)
        value_text = cells[times_count]
        window = number(cells[-1], self._layout.decimal) if self._layout.window else 0.0
        value = number(value_text, self._layout.decimal)
        return Row(" ".join(cells[:times_count]).strip(), value, math.nan if window is None else window, value_text)


def number(text: str, decimal: str = ".") -> float | None:
    """Parse a number of a log: NaN for a missing number, None for anything else.

    Raises:
        ValueError: commas and points are not as declared.
    """
    if text.lower() in _NOTHING:
        return math.nan
    if decimal == "," and "." in text and _NUMBER.fullmatch(text.replace(",", "")):
        raise ValueError(f'{text!r} has a point, but decimal is "," (set decimal = ".")')
    if decimal == "." and _COMMA.fullmatch(text.partition("E")[0].partition("e")[0]):
        raise ValueError(f'{text!r} has a comma, but decimal is "." (set decimal = ",")')
    plain = text.replace(",", ".") if decimal == "," else text
    if not _NUMBER.fullmatch(plain):
        return None
    value = float(plain)
    return value if abs(value) < _SCPI_NAN else math.nan


def _fields(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    try:
        yield from csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    except csv.Error as error:
        raise ValueError(f"a line is not CSV ({error})") from None
