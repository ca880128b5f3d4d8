"""What a person sees on the terminal while a campaign runs, and the tables afterwards."""

import errno
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from perjoule.analysis.windows import windows
from perjoule.drivers.protocols import Check
from perjoule.execution.runner import Event
from perjoule.model import UNMEASURED, Cell, Channel, Record, Trial
from perjoule.model.units import MIB, seconds_text
from perjoule.results.table import Table


class _Stream:
    """Standard output or error, which outlives its terminal: when that is closed (EIO) work goes on, or is taken down, unseen."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now(), name)

    def _now(self) -> IO[str]:
        file = getattr(sys, self._name)
        return getattr(file, "rich_proxied_file", file)  # while a live line is shown

    def write(self, text: str) -> None:
        """Write, and leave a terminal that is closed."""
        self._unless_closed(lambda: self._now().write(text))

    def flush(self) -> None:
        """Flush, and leave a terminal that is closed."""
        self._unless_closed(lambda: self._now().flush())

    def _unless_closed(self, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            with Path(os.devnull).open("wb") as nowhere:
                os.dup2(nowhere.fileno(), self._now().fileno())  # also for what Python flushes when it ends


# What a terminal would obey rather than show: control characters, what turns the direction of writing, halves of characters.
_OBEYED = ((0x00, 0x20), (0x7F, 0xA0), (0x200E, 0x2010), (0x2028, 0x202F), (0x2066, 0x206A), (0xD800, 0xE000))
_SHOWN = {code: ascii(chr(code))[1:-1] for first, end in _OBEYED for code in range(first, end) if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """Show what a terminal would obey: an escape sequence in a label, in a path, in what a meter says."""
    return text.translate(_SHOWN)


class Terminal(Console):
    """The one way to the terminal: its own styles are sequences, those within a text are shown."""

    def print(self, *objects: Any, **words: Any) -> None:
        """Print; rich drops some control characters of a text before it lays it out."""
        super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **words)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Lay out what is printed."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


# On a terminal lines are wrapped at words; what goes into a file is never wrapped.
_unwrapped = Terminal(highlight=False, markup=False, emoji=False, soft_wrap=True, width=1000)
_out, _err = (cast("IO[str]", _Stream(name)) for name in ("stdout", "stderr"))
out = Terminal(file=_out, highlight=False, markup=False, emoji=False) if sys.stdout.isatty() else _unwrapped
err = Terminal(file=_err, highlight=False, markup=False, emoji=False, soft_wrap=not sys.stderr.isatty())

# Columns that a narrow terminal can do without, first to last.
_BURST = ("burst MiB/J", "burst op/J", "burst MiB/s", "burst op/s", "% on disk")
_SPARE = ("J", "max", "doubts", "failed", *_BURST, "EDP / best", "% TPP", "redundancy", "W")


class Progress:
    """A live line per campaign: trial, phase, MiB/s, W, time left; plain lines where the output is no terminal.

    Args:
        planned_s: how long each trial that is still to run may take, its share of the deployment in it, by trial id.
        stopping: whether everything is being taken down.
    """

    def __init__(self, planned_s: Mapping[str, float], stopping: Callable[[], bool] = lambda: False) -> None:
        self.stopping = stopping
        self.planned_s = dict(planned_s)  # of the trials still to be kept
        self.trials_count, self.total_s = len(planned_s), sum(planned_s.values())
        self.began_s = self.kept_s = time.monotonic()  # kept_s: when the last trial was kept
        self.headline, self.phase = "", ""
        self.settled: set[str] = set()  # ids of combinations that need no more repetitions
        self.event: Event | None = None
        self.before: tuple[float, ...] | None = None  # t_s, and what the clients had sent and received, in bytes
        self.rate_bytes_per_s = 0.0
        self.live = Live(console=err, get_renderable=self._render, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Progress":
        if err.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if err.is_terminal:
            self.live.stop()

    def __call__(self, event: Event) -> None:
        """Take an event of `perjoule.execution.runner`."""
        match event.kind:
            case "deploy":
                self.event, self.headline, self.phase = None, event.text, "bringing it up"
            case "deployed" | "note":
                err.print(Text(event.text, style="yellow" if event.kind == "note" else "dim"))
            case "trial":
                assert event.trial is not None
                self.event, self.before, self.rate_bytes_per_s = event, None, 0.0
                self.headline = trial_text(event.trial)
            case "phase":
                self.phase = event.text
            case "settled":
                assert event.trial is not None
                self.planned_s.pop(event.trial.id, None)
                self.trials_count -= 1
                combination = replace(event.trial, repetition=1).id
                if combination not in self.settled:  # once, not with each repetition that is not needed
                    err.print(Text(f"{trial_text(event.trial)}: not needed, {event.text}", style="dim"))
                self.settled.add(combination)
            case "kept":
                self._kept(event)

    def _kept(self, event: Event) -> None:
        record = event.record
        assert record is not None
        self.planned_s.pop(record.trial.id, None)
        self.kept_s, self.event, self.phase = time.monotonic(), None, "kept"
        number = f"{self.kept_count}/{self.trials_count} {trial_text(record.trial)}"
        if record.outcome is None or record.status == "failed":
            err.print(Text(f"{number}: failed: {record.reason}", style="red"))
            return
        took_s = windows(record, record.outcome.results).length_s * record.scale
        moved_bytes = sum(result.moved_bytes for result in record.outcome.results)
        rate = f"{moved_bytes / took_s / MIB:.1f} MiB/s"
        if not moved_bytes:
            rate = f"{sum(result.operations_count for result in record.outcome.results) / took_s:.0f} op/s"
        emulated = f" (emulated at scale {record.scale:g})" if record.scale != 1 else ""
        left = f", {self.left_text()} left" if self.planned_s else ""
        err.print(f"{number}: {rate}{emulated}{left}")

    @property
    def kept_count(self) -> int:
        """How many trials have been kept."""
        return self.trials_count - len(self.planned_s)

    def left_text(self) -> str:
        """How long the rest may take: as planned, corrected by how the trials so far took, less what this one has had."""
        rest_s = sum(self.planned_s.values())
        prior_s = self.total_s / 10  # trust in the plan: one slow first trial does not turn it over
        ratio = (self.kept_s - self.began_s + prior_s) / (self.total_s - rest_s + prior_s) if prior_s else 1.0
        current_s = next(iter(self.planned_s.values()), 0.0) * ratio
        left_s = rest_s * ratio - min(time.monotonic() - self.kept_s, current_s)
        return seconds_text(float(max(1, round(left_s))))

    def _render(self) -> RenderableType:
        if self.stopping():
            return Text("please wait", style="dim")
        lines = [Text.assemble((self.headline, "bold"), "  ", self.phase, no_wrap=True, overflow="ellipsis")]
        if self.event is not None and self.event.hosts is not None:
            with suppress(RuntimeError):  # the recorder adds a channel while we look
                lines.append(Text(self._live_text(self.event.latest(), self.event), no_wrap=True, overflow="ellipsis"))
        bar = ProgressBar(total=self.trials_count, completed=self.kept_count, width=24)
        foot = Text(f"{self.kept_count} of {self.trials_count} trials, about {self.left_text()} left", style="dim")
        return Group(*lines, bar, foot)

    def _live_text(self, latest: Mapping[Channel, tuple[float, float, float]], event: Event) -> str:
        assert event.hosts is not None and event.trial is not None
        clients = {host.name for host in event.hosts.clients[: event.trial.clients_count]}
        watts = [s[1] for c, s in latest.items() if c.quantity == "power"]
        ways = ("network_sent", "network_received")
        moved = [[s for c, s in latest.items() if c.host in clients and c.quantity == way] for way in ways]
        times_s = [s[0] for samples in moved for s in samples]
        if times_s and (self.before is None or max(times_s) > self.before[0]):
            now = (max(times_s), *(sum(s[1] for s in samples) for samples in moved))
            if self.before is not None:
                took_s = (now[0] - self.before[0]) * event.hosts.scale
                both_bytes = [after - before for after, before in zip(now[1:], self.before[1:], strict=True)]
                self.rate_bytes_per_s = max(both_bytes) / took_s  # one way is the load, the other its acknowledgements
            self.before = now
        text = f"{self.rate_bytes_per_s / MIB:6.1f} MiB/s on the clients' network" if times_s else ""
        modelled = "modelled " if any(c.grade == "modelled" for c in latest) else ""
        return text + (f"  {sum(watts):6.1f} W {modelled}with switch" if watts else "")


def counted(count: int, noun: str) -> str:
    """Print "1 trial", "2 trials"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def trial_text(trial: Trial) -> str:
    """Name a trial for people."""
    clients = counted(trial.clients_count, "client")
    return f"{trial.filesystem.label}, {trial.workload.label}, {clients}, repetition {trial.repetition}"


def show_line(line: str) -> None:
    """Print a line; on a terminal what does not fit goes on indented."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    wrapped = wrap(line, out.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    out.print("\n".join(wrapped), soft_wrap=True)


def show_checks(checks: Sequence[Check]) -> None:
    """Print what was found of this machine: what works first, what must be fixed last, each with its fix."""
    ordered = sorted(checks, key=lambda one: (not one.ok, one.needed))
    for one, after in zip_longest(ordered, ordered[1:]):
        mark, style = ("ok  ", "green") if one.ok else (("no  ", "red") if one.needed else ("less", "yellow"))
        out.print(f"{mark} {one.name}: {one.detail}", style=style)
        if not one.ok and one.fix and (after is None or after.fix != one.fix):
            show_line(f"     {one.fix}")


def show(table: Table, cells: Sequence[Cell], records: Sequence[Record]) -> None:
    """Print a table, numbers right-aligned, and the notes on its numbers below it."""
    kept = _fitting(table, out.width)
    rich = RichTable(box=None, header_style="bold", pad_edge=False)
    least = 2 * (len(kept) - 1)
    for index in kept:
        there = [row[index] for row in table.rows]
        words = all(not cell[:1].isdigit() for cell in there)
        whole = [*table.headers[index].split(), *(cell for cell in there if not words), *" ".join(there).split()]
        least += max(map(len, whole))
        rich.add_column(table.headers[index], justify="left" if words else "right", min_width=max(map(len, whole)))
    for row in table.rows:
        rich.add_row(*(row[index] for index in kept))
    (out if least <= out.width else _unwrapped).print(rich)  # what can't fit goes on in the next line rather than lose digits
    for note in notes(cells, records):
        out.print(note)


def _fitting(table: Table, width: int) -> list[int]:
    """The columns to show in a width; spare ones are left out as needed."""
    widths = [max(map(len, column)) for column in zip(table.headers, *table.rows, strict=True)]
    kept = list(range(len(widths)))
    for spare in _SPARE:
        if sum(widths[index] + 2 for index in kept) - 2 <= width:
            break
        kept = [index for index in kept if table.headers[index] != spare]
    return kept


def notes(cells: Sequence[Cell], records: Sequence[Record]) -> list[str]:
    """List the limitations of numbers: emulation, failures, doubts with the rows that they are about."""
    scales = sorted({record.scale for record in records if record.hosts and record.scale != 1})
    found = [f"emulated at scale {scale:g}: all numbers are in emulated time" for scale in scales]
    unmeasured = sorted({grade for cell in cells for grade in cell.grade.split("+")} & UNMEASURED)
    found += [f"power is {grade}, not measured" for grade in unmeasured]
    found += _in_rows("doubt in", [cell.doubts for cell in cells])
    return found + _in_rows("in", [cell.omitted for cell in cells])


def _in_rows(before: str, said: Sequence[Sequence[str]]) -> list[str]:
    """Say each thing once, with the number of rows that it is about."""
    about = Counter(words for row in said for words in row)
    rows = {words: "all rows" if count == len(said) else f"{count} of {len(said)} rows" for words, count in about.items()}
    return [f"{before} {rows[words]}: {words}" for words in about]
