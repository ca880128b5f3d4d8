"""Measurements next to a paper's numbers as a page that works offline, and as a figure."""

from collections.abc import Sequence

from perjoule.figures import comparison as figure
from perjoule.figures import vega
from perjoule.papers.comparison import Held
from perjoule.papers.published import Paper
from perjoule.report.document import document
from perjoule.results.limitations import simulated_notes
from perjoule.results.paper_comparison import alongside_table, cells_of, lines, unit_of


def page(name: str, paper: Paper, found: Sequence[Held]) -> str:
    """Lay it out as HTML."""
    title = f"{name} compared with {paper.name}"
    figures = {"beside": drawing(paper, found, title)}
    laid, said = alongside_table(found), list(lines(found))
    return document("paper_comparison.html", title, figures, paper=paper, laid=laid, lines=said)


def drawing(paper: Paper, found: Sequence[Held], title: str) -> vega.Spec:
    """Draw both series."""
    pairs = [
        figure.Beside(
            cell.filesystem,
            f"{unit.symbol}, {cell.direction}, {cell.workload}, {one.kind.split()[0]}",
            one.pair.value / unit.per,
            one.pair.number.value / unit.per,
        )
        for one in found
        for cell, unit in [(one.pair.measured.cell, unit_of(one))]
    ]
    return figure.beside(pairs, paper.name, title, [paper.reference, *simulated_notes(cells_of(found))])
