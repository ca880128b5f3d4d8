"""The page over many campaigns: what each compared, its best results, and a link to its report."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from perjoule.figures import vega
from perjoule.figures.clients import MEDIANS, drawn
from perjoule.figures.overview import Best, overview
from perjoule.model import Cell
from perjoule.model.metrics import RANKED, metric_of
from perjoule.model.units import clients_text
from perjoule.report.document import document
from perjoule.results.limitations import SIMULATED, graded, simulated_notes
from perjoule.results.table import Table, few, printed_number, with_meter
from perjoule.statistics.modes import by_median
from perjoule.store import Results
from perjoule.views.content import Content

BEST = {metric_of(key).label: f"best by {metric_of(key).label}" for key in RANKED}
WORDS = ("results", "measured (UTC)", "compared", *BEST.values(), "grade")
HEADERS = (*WORDS[:3], "valid", "failed", *(header for pair in BEST.items() for header in pair), WORDS[-1])


@dataclass(frozen=True)
class IndexEntry:
    """A results folder, and the path from the index to its report."""

    name: str  # of the folder: several may be of one campaign
    content: Content
    href: str

    def best(self, metric: str) -> Cell | None:
        """The cell whose row prints the most."""
        having = [cell for cell in self.content.cells if metric in cell.metrics]
        return max(having, key=lambda cell: printed_number(cell, metric), default=None)

    @property
    def grade(self) -> str:
        """How its numbers were obtained."""
        grades = sorted({cell.grade for cell in self.content.cells if cell.grade})
        labels = [
            *([came] if (came := graded(self.content.records)) else []),
            *(f"{grade} watts" for grade in grades),
        ]
        return ", ".join(labels) or "no watts"


def entry(results: Results, target: Path) -> IndexEntry:
    """Compute a row; `target` is the index."""
    report = os.path.relpath(results.folder / "report.html", target.parent)
    return IndexEntry(results.folder.name, Content(results), quote(report))


def index(title: str, entries: Sequence[IndexEntry]) -> str:
    """Lay the page out as HTML, the latest campaign first."""
    ordered = sorted(entries, key=lambda entry: -_ended_s(entry.content))
    figures: dict[str, vega.Spec] = {}
    for name, key in zip(("throughput", "efficiency"), RANKED, strict=True):
        if bests := [(entry, cell) for entry in ordered if (cell := entry.best(key))]:
            metric = metric_of(key)
            medians = by_median(cell for _, cell in bests)
            names = [entry.name for entry in ordered if simulated_notes(entry.content.cells)]
            notes = [
                "mean and 95 % interval; each on its own hosts",
                *([MEDIANS] if medians else []),
                *([f"{SIMULATED}: {few(names)}"] if names else []),
            ]
            bars = [Best(entry.name, _named(cell), drawn(cell, key, medians)) for entry, cell in bests]
            figures[name] = overview(bars, metric, f"Best {metric.unit.symbol} of each campaign", notes)
    return document(
        "index.html",
        title,
        figures,
        laid=Table(HEADERS, tuple(map(_row, ordered)), WORDS),
        links=[entry.href for entry in ordered],
        valid_count=sum(r.status == "valid" for entry in entries for r in entry.content.records),
    )


def _row(entry: IndexEntry) -> tuple[str, ...]:
    content = entry.content
    valid_count = sum(r.status == "valid" for r in content.records)
    bests = [(best, metric) for metric in RANKED for best in [entry.best(metric)]]
    return (
        entry.name,
        time.strftime("%Y-%m-%d %H:%M", time.gmtime(_ended_s(content))),
        ", ".join(dict.fromkeys(cell.filesystem for cell in content.cells)),
        str(valid_count),
        str(len(content.records) - valid_count),
        *(
            text
            for best, metric in bests
            for text in ((with_meter(best, metric), _named(best)) if best else ("–", "–"))
        ),
        entry.grade,
    )


def _named(cell: Cell) -> str:
    return f"{cell.filesystem}, {cell.direction}, {clients_text(cell.clients_count)}"


def _ended_s(content: Content) -> float:
    return max((record.clock.utc_s for record in content.records), default=0.0)
