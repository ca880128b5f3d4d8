"""The page over many campaigns: what each compared, its best results, and a link to its report."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from perjoule.figures import vega
from perjoule.figures.overview import Best, overview
from perjoule.model import Cell
from perjoule.model.units import MIB
from perjoule.report.claims import graded
from perjoule.report.content import Content, content
from perjoule.report.document import document, drawn
from perjoule.results.table import with_meter
from perjoule.store import Results

WORDS = ("results", "measured (UTC)", "compared", "best by MiB/s", "best by MiB/J", "grade")
HEADERS = (*WORDS[:3], "valid", "failed", "MiB/s", WORDS[3], "MiB/J", *WORDS[4:])
METRICS = {"throughput_bytes_per_s": "MiB/s", "efficiency_bytes_per_j": "MiB/J"}


@dataclass(frozen=True)
class Entry:
    """A results folder, and the path from the index to its report."""

    name: str  # of the folder: several may be of one campaign
    found: Content
    href: str

    def best(self, metric: str) -> Cell | None:
        """The cell with the highest mean."""
        having = [cell for cell in self.found.cells if metric in cell.metrics]
        return max(having, key=lambda cell: cell.metrics[metric].mean, default=None)

    @property
    def grade(self) -> str:
        """How its numbers were obtained."""
        grades = sorted({cell.grade for cell in self.found.cells if cell.grade})
        words = [*([came] if (came := graded(self.found.records)) else []), *(f"{grade} watts" for grade in grades)]
        return ", ".join(words) or "no watts"


def entry(results: Results, target: Path) -> Entry:
    """Compute a row; `target` is the index."""
    report = os.path.relpath(results.folder / "report.html", target.parent)
    return Entry(results.folder.name, content(results), quote(report))


def index(title: str, entries: Sequence[Entry]) -> str:
    """Lay the page out as HTML, the latest campaign first."""
    ordered = sorted(entries, key=lambda one: -_ended_s(one.found))
    figures: dict[str, vega.Spec] = {}
    for name, (metric, unit) in zip(("throughput", "efficiency"), METRICS.items(), strict=True):
        if bars := [_bar(one, cell, metric) for one in ordered if (cell := one.best(metric))]:
            figures[name] = overview(
                bars, unit, f"Best {unit} of each campaign", ["mean and 95 % interval; each on its own hosts"]
            )
    return document(title, "\n".join(_body(title, ordered, figures)), figures)


def _body(title: str, entries: Sequence[Entry], figures: dict[str, vega.Spec]) -> Iterator[str]:
    yield f'<header><div><h1>{escape(title)}</h1></div><button id="theme">light / dark</button></header>'
    valid = sum(r.status == "valid" for one in entries for r in one.found.records)
    yield f"<p>{len(entries)} campaigns with {valid} valid trials. Click a header to sort.</p>"
    marks = ['<th class="word">' if header in WORDS else "<th>" for header in HEADERS]
    head = "".join(f"{mark}{escape(header)}</th>" for mark, header in zip(marks, HEADERS, strict=True))
    rows = "".join(f"<tr>{''.join(_row(one))}</tr>" for one in entries)
    yield f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    yield (
        "<p><small>MiB/s and MiB/J are the highest mean of each campaign ± half of its 95 % interval (? where one repetition "
        "gives none); campaigns differ in hosts, loads and grade of power, so they are not ranked here.</small></p>"
    )
    yield from map(drawn, figures)


def _row(one: Entry) -> Iterator[str]:
    found = one.found
    yield f'<td class="word"><a href="{escape(one.href)}">{escape(one.name)}</a></td>'
    yield _cell(time.strftime("%Y-%m-%d %H:%M", time.gmtime(_ended_s(found))), word=True)
    yield _cell(", ".join(dict.fromkeys(cell.filesystem for cell in found.cells)), word=True)
    valid_count = sum(r.status == "valid" for r in found.records)
    yield _cell(str(valid_count)) + _cell(str(len(found.records) - valid_count))
    for metric in METRICS:
        best = one.best(metric)
        yield _cell(with_meter(best, metric, MIB) if best else "–")
        yield _cell(_named(best) if best else "–", word=True)
    yield _cell(one.grade, word=True)


def _cell(text: str, *, word: bool = False) -> str:
    return ('<td class="word">' if word else "<td>") + f"{escape(text)}</td>"


def _named(cell: Cell) -> str:
    return f"{cell.filesystem}, {cell.direction}, {cell.clients_count} client{'s' if cell.clients_count > 1 else ''}"


def _bar(one: Entry, cell: Cell, metric: str) -> Best:
    interval = cell.metrics[metric]
    return Best(one.name, _named(cell), *(value / MIB for value in (interval.mean, interval.low, interval.high)))


def _ended_s(found: Content) -> float:
    return max((record.clock.utc_s for record in found.records), default=0.0)
