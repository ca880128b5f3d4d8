"""Tables for the width of a terminal: no number is cut, and what is left out is named.

What does not fit as it is gets, in this order, headers on several lines, one line for the columns that are the
same in all rows, ranges below their numbers, fewer of the columns that a reader can do without, wrapped words, and
intervals below their numbers; else each row becomes a record with a line for each column, as psql prints with `\\x auto`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import wrap

from rich.cells import cell_len

from perjoule.results.table import Table

_GAP = 2  # between columns
_DIGITS = re.compile(r"\d+(?: \d{3}(?!\d))*")  # "13 400" is one number
# before what may stand below a number: a range and what follows it, then any interval
_FOLDS = (re.compile(r" (?=\()|(?<=\)) (?=±)"), re.compile(r" (?=[±(])"))
# spaces within a number: before its thousands and its per cent
_WITHIN, _JOINT = re.compile(r"(?<=\d) (?=\d{3}(?!\d)|%)"), "\u00a0"


@dataclass(frozen=True)
class TableLines:
    """Lines to print, none longer than the width unless a number alone is."""

    headers: tuple[str, ...]  # none above records
    by_row: tuple[tuple[str, ...], ...]  # the lines of each row
    common: str = ""  # the columns that are the same in all rows
    hidden: tuple[str, ...] = ()  # headers of the columns that are left out

    @property
    def rows(self) -> tuple[str, ...]:
        """The lines of all rows."""
        return tuple(line for lines in self.by_row for line in lines)


@dataclass(frozen=True)
class _Column:
    header: str
    cells: tuple[str, ...]
    of_words: bool
    width: int = 0  # to which words and header are wrapped

    @cached_property
    def natural(self) -> int:
        """The width without wrapping."""
        return max(map(cell_len, (self.header, *self._lines)))

    @cached_property
    def least(self) -> int:
        """The width with every word on a line of its own."""
        return max(map(cell_len, (*self.header.split(), *self._pieces, "")))

    @cached_property
    def of_cells(self) -> int:
        """The width with wrapped header alone."""
        return max(map(cell_len, (*self.header.split(), *self._lines, "")))

    @property
    def _lines(self) -> Iterator[str]:
        return (line for cell in self.cells for line in cell.split("\n"))

    @property
    def _pieces(self) -> Iterator[str]:
        cells = (_WITHIN.sub(_JOINT, line) if self.of_words else line for line in self._lines)
        return (piece for cell in cells for piece in (cell.split(" ") if self.of_words else (cell,)))

    def folded(self, fold: re.Pattern[str]) -> "_Column":
        """Return it with parts of its numbers below them."""
        cells = (fold.sub("\n", cell.strip()) for cell in self.cells)
        return self if self.of_words else replace(self, cells=_aligned(tuple(cells)))

    def lines(self, text: str) -> list[str]:
        """Return a cell or the header at the column's width, numbers on the right."""
        wrapped = wrapped_at_words(text, self.width) or [""]
        # the spaces that align a number at its decimal point are no place to wrap it
        wrapped = wrapped if self.of_words or text == self.header else text.split("\n")
        padding = (" " * (self.width - cell_len(line)) for line in wrapped)
        return [
            line + space if self.of_words else space + line
            for line, space in zip(wrapped, padding, strict=True)
        ]


def wrapped_at_words(text: str, width: int, indent: str = "") -> list[str]:
    """Wrap a text at its spaces, but not within a number, "13 400" or "63 %"; later lines are indented."""
    joined = _WITHIN.sub(_JOINT, text)
    lines = wrap(
        joined, max(width, 1), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_JOINT, " ") for line in lines]


def laid_out(table: Table, width: int, spare: Sequence[str] = ()) -> TableLines:
    """Lay a table out.

    Args:
        table: what to print.
        width: in characters.
        spare: headers of the columns that may be left out, first to last.
    """
    columns = [
        _column(header, tuple(row[index] for row in table.rows), of_words=header in table.words)
        for index, header in enumerate(table.headers)
    ]
    if _total(column.natural for column in columns) <= width:
        return _grid([replace(column, width=column.natural) for column in columns])
    if _total(column.of_cells for column in columns) <= width:
        return _grid(_widened(columns, width))
    common = [column for column in columns if len(table.rows) > 1 and len(set(column.cells)) == 1]
    rest = [column for column in columns if column not in common]
    ranges, intervals = _FOLDS
    if _total(column.of_cells for column in rest) > width:
        rest = [column.folded(ranges) for column in rest]
    hidden: list[str] = []
    for header in spare:
        if _total(column.of_cells for column in rest) <= width:
            break
        hidden += [column.header for column in rest if column.header == header]
        rest = [column for column in rest if column.header != header]
    if _total(column.least for column in rest) > width:
        rest = [column.folded(intervals) for column in rest]
    if rest and _total(column.least for column in rest) <= width:
        same = ", ".join(f"{column.header} {column.cells[0].strip()}" for column in common)
        return replace(_grid(_widened(rest, width)), common=same, hidden=tuple(hidden))
    return TableLines((), tuple(map(tuple, _records(columns, width))))


def _total(widths: Iterator[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _widened(columns: Sequence[_Column], width: int) -> list[_Column]:
    """Share what a width has above the least widths, one character at a time, to the column that lacks
    most.
    """
    widths = [column.least for column in columns]
    for _ in range(width - _total(iter(widths))):
        lacks = [column.of_cells - present for column, present in zip(columns, widths, strict=True)]
        if max(lacks) <= 0:
            lacks = [column.natural - present for column, present in zip(columns, widths, strict=True)]
        if max(lacks) <= 0:
            break
        widths[lacks.index(max(lacks))] += 1
    return [replace(column, width=present) for column, present in zip(columns, widths, strict=True)]


def _column(header: str, cells: tuple[str, ...], *, of_words: bool) -> _Column:
    return _Column(header, cells if of_words else _aligned(cells), of_words)


def _aligned(cells: Sequence[str]) -> tuple[str, ...]:
    """Pad numbers on the right so that their decimal points are below each other: that of the first number
    in a cell.
    """
    parts = [cell.partition("\n") for cell in cells]
    firsts = [first for first, _, _ in parts]
    whole_lengths = [next((digits.end() for digits in _DIGITS.finditer(text)), len(text)) for text in firsts]
    longest = max((len(text) - length for text, length in zip(firsts, whole_lengths, strict=True)), default=0)
    return tuple(
        first + " " * (longest - len(first) + length) + newline + below
        for (first, newline, below), length in zip(parts, whole_lengths, strict=True)
    )


def _grid(columns: Sequence[_Column]) -> TableLines:
    headers = [column.lines(column.header) for column in columns]
    tallest = max(map(len, headers))
    above = [
        [" " * column.width] * (tallest - len(lines)) + lines
        for column, lines in zip(columns, headers, strict=True)
    ]
    rows = (
        _beside(columns, [column.lines(column.cells[index]) for column in columns])
        for index in range(len(columns[0].cells))
    )
    return TableLines(tuple(_beside(columns, above)), tuple(map(tuple, rows)))


def _beside(columns: Sequence[_Column], cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Print the cells of a row, each of one or more lines, beside each other."""
    for number in range(max(map(len, cells))):
        parts = (
            lines[number] if number < len(lines) else " " * column.width
            for column, lines in zip(columns, cells, strict=True)
        )
        yield (" " * _GAP).join(parts).rstrip()


def _records(columns: Sequence[_Column], width: int) -> Iterator[list[str]]:
    """Print each row as a record, with an empty line between two."""
    names_width = max(cell_len(column.header) for column in columns) + _GAP
    for index in range(len(columns[0].cells)):
        record = [""] if index else []
        for column in columns:
            cell = column.cells[index].strip()
            room = max(width - names_width, column.least)
            lines = wrapped_at_words(cell, room) if column.of_words else [cell]
            for number, line in enumerate(lines or [""]):
                name = "" if number else column.header
                record.append(f"{name}{' ' * (names_width - cell_len(name))}{line}".rstrip())
        yield record
