"""The terminal, and tables on it."""

import errno
import os
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from perjoule.cli.exits import CLOSED_PIPE
from perjoule.cli.terminal.tables import TableLines, laid_out, wrapped_at_words
from perjoule.model import UNMETERED, Cell
from perjoule.model.metrics import DURABLE, EDP_RATIO, ENERGY, OF_PEAK, PER_JOULE, POWER, RATES, metric_of
from perjoule.results.limitations import in_rows, omissions, rows_text, simulated_notes
from perjoule.results.table import Table

if TYPE_CHECKING:
    from perjoule.drivers.protocols import Check


class _Stream:
    """Standard output or error.

    When its terminal is closed (EIO), work continues, or is taken down, without output.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)

    def _now(self) -> IO[str]:
        file = getattr(sys, self._name)
        return getattr(file, "rich_proxied_file", file)  # while a live line is shown

    def write(self, text: str) -> None:
        """Write, and ignore a closed terminal."""
        self._unless_closed(lambda: self._now().write(text))

    def flush(self) -> None:
        """Flush, and ignore a closed terminal."""
        self._unless_closed(lambda: self._now().flush())

    def _unless_closed(self, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), self._now().fileno())  # also for what Python flushes when it ends


# What a terminal would obey rather than show: control characters, what turns the direction of writing, halves
# of characters.
_OBEYED = ((0x00, 0x20), (0x7F, 0xA0), (0x200E, 0x2010), (0x2028, 0x202F), (0x2066, 0x206A), (0xD800, 0xE000))
_SHOWN = {
    code: ascii(chr(code))[1:-1]
    for first, end in _OBEYED
    for code in range(first, end)
    if chr(code) not in "\n\t"
}


def visible(text: str) -> str:
    """Make control characters visible instead of letting the terminal obey them: in a label, a path, a
    meter's answer.
    """
    return text.translate(_SHOWN)


class Terminal(Console):
    """The only way to the terminal: its own styles are escape sequences; those within a text are made
    visible.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; rich drops some control characters of a text before it lays it out."""
        super().print(*(visible(item) if isinstance(item, str) else item for item in objects), **options)

    def on_broken_pipe(self) -> None:
        """End as other programs do when nobody reads on, and print nothing more while everything is taken down."""
        with suppress(SystemExit):
            super().on_broken_pipe()
        raise SystemExit(CLOSED_PIPE)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Lay out the text to print."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


# On a terminal lines are wrapped at words; what goes into a file is never wrapped.
_unwrapped = Terminal(highlight=False, markup=False, emoji=False, soft_wrap=True, width=1000)
_out, _err = (cast("IO[str]", _Stream(name)) for name in ("stdout", "stderr"))
out = Terminal(file=_out, highlight=False, markup=False, emoji=False) if sys.stdout.isatty() else _unwrapped
err = Terminal(file=_err, highlight=False, markup=False, emoji=False, soft_wrap=not sys.stderr.isatty())

# Columns that a narrow terminal can do without, first to last.
_SPARE = (
    metric_of(ENERGY).label,
    "max",
    *(metric_of(metric_of(key).burst).label for key in (*PER_JOULE, *RATES)),
    metric_of(DURABLE).label,
    metric_of(EDP_RATIO).label,
    metric_of(OF_PEAK).label,
    "redundancy",
    metric_of(POWER).label,
)


_FINDING = ("", "where", "found", "fix")  # of the table of checks
_MARKS = {"–": "", "1": " !"}  # by how many doubts a row has; more have two


def show_line(line: str, column: int | None = None, style: str = "") -> None:
    """Print a line; on a terminal, continue long lines indented, or at a column."""
    indent_count = len(line) - len(line.lstrip()) + 2 if column is None else column
    out.print("\n".join(wrapped_at_words(line, out.width, " " * indent_count)), style=style, soft_wrap=True)


def show_checks(checks: Sequence["Check"]) -> None:
    """Print the checks of this machine: those that passed first, the most urgent last, each with its fix."""
    ordered = sorted(checks, key=lambda check: (not check.ok, check.needed))
    for check, after in zip_longest(ordered, ordered[1:]):
        mark, style = _mark(check)
        show_line(f"{mark} {check.name}: {check.detail}", 5, style)
        if not check.ok and check.fix and (after is None or after.fix != check.fix):
            show_line(f"     {check.fix}")


def show_findings(checks: Sequence["Check"]) -> None:
    """Print checks as a table, or as `show_checks` does where it doesn't fit: those that passed first, the most
    urgent last.
    """
    ordered = sorted(checks, key=lambda check: (not check.ok, check.needed))
    marks = [_mark(check) for check in ordered]
    rows = tuple(
        (mark.strip(), check.name, check.detail, "" if check.ok else check.fix)
        for check, (mark, _) in zip(ordered, marks, strict=True)
    )
    table = Table(_FINDING, rows, _FINDING)
    if laid_out(table, out.width).headers:
        show_table(table, styles=[style for _, style in marks])
    else:
        show_checks(ordered)


def show_missing(checks: Sequence["Check"]) -> None:
    """Warn of what this machine lacks, one line for each fix."""
    names: dict[tuple[str, str], list[str]] = {}
    for check in checks:
        names.setdefault((check.detail, check.fix), []).append(check.name)
    for (detail, fix), alike in names.items():
        out.print(f"missing on this machine: {', '.join(alike)} ({detail}); {fix}", style="yellow")


def _mark(check: "Check") -> tuple[str, str]:
    return ("ok  ", "green") if check.ok else (("no  ", "red") if check.needed else ("less", "yellow"))


def show_table(
    table: Table,
    console: Console = out,
    *,
    spare: Sequence[str] = (),
    apart: Container[int] = (),
    styles: Sequence[str] = (),
) -> TableLines:
    """Print a table, words on the left and numbers on the right, and below it what is the same in all rows.

    Args:
        table: what to print.
        console: where.
        spare: headers of the columns that may be left out, first to last.
        apart: indices of the rows with an empty line above.
        styles: of each row; none is plain.

    Returns: what was printed.
    """
    layout = laid_out(table, console.width, spare)
    for line in layout.headers:
        console.print(line, style="bold", soft_wrap=True)
    for index, lines in enumerate(layout.by_row):
        if index in apart and layout.headers:
            console.print()
        for line in lines:
            console.print(line, style=styles[index] if styles else None, soft_wrap=True)
    if layout.common:
        show_line(f"in all rows: {layout.common}")
    return layout


def show(
    table: Table, cells: Sequence[Cell], scales: Sequence[float], *, wide: bool = False, whole: str = ""
) -> None:
    """Print a table, words on the left and numbers on the right, and the notes on its numbers below it.

    Args:
        table: what to print.
        cells: whose notes follow.
        scales: at which they were emulated.
        wide: whether lines may be longer than the terminal.
        whole: the command that shows all columns; without one, none is left out of a narrow terminal.
    """
    console = _unwrapped if wide else out
    layout = show_table(_marked(table), console, spare=_SPARE if whole else (), apart=_new_loads(cells))
    if layout.hidden:
        show_line(f"not shown for lack of width: {', '.join(layout.hidden)}; `{whole}` shows all")
    for note in notes(cells, scales):
        show_line(note)


def _new_loads(cells: Sequence[Cell]) -> set[int]:
    """Return the rows with which a block of another load begins, if a load has several rows."""
    loads = [(cell.workload, cell.direction) for cell in cells]
    new = {index for index, (before, load) in enumerate(pairwise(loads), 1) if load != before}
    return new if len(new) + 1 < len(loads) else set()


def _marked(table: Table) -> Table:
    """Mark the repetitions of rows with doubts, "3 !", or "3 !!" with several, instead of counting doubts in a
    column; leave out the column of failures if there are none.
    """
    if not {"n", "failed", "doubts"} <= set(table.headers):
        return table
    count, failed, doubts = map(table.headers.index, ("n", "failed", "doubts"))
    without = {doubts} | ({failed} if all(row[failed] == "–" for row in table.rows) else set[int]())
    rows = (
        (*row[:count], row[count] + _MARKS.get(row[doubts], " !!"), *row[count + 1 :]) for row in table.rows
    )
    columns = [index for index in range(len(table.headers)) if index not in without]
    return replace(
        table,
        headers=tuple(table.headers[index] for index in columns),
        rows=tuple(tuple(row[index] for index in columns) for row in rows),
    )


def notes(cells: Sequence[Cell], scales: Sequence[float]) -> list[str]:
    """List the limitations of numbers: simulation, emulation, failures, and doubts with their rows."""
    lines = [
        *simulated_notes(cells),
        *(f"emulated at scale {scale:g}: all numbers are in emulated time" for scale in scales),
    ]
    metered = [cell for cell in cells if cell.reality != "simulated"]
    for grade in sorted({grade for cell in metered for grade in cell.grade.split("+")} & UNMETERED):
        rows = [cell for cell in metered if grade in cell.grade.split("+")]
        where = "" if len(rows) == len(cells) else f": {rows_text(rows, len(cells))}"
        lines.append(f"power is {grade}, not measured{where}")
    lines += in_rows("! doubt in", cells, omitted=False)
    return lines + omissions(cells)
