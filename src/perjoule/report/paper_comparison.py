"""Measurements next to a paper's numbers as a page that works offline."""

from collections.abc import Sequence

from perjoule.papers.comparison import NumberComparison
from perjoule.papers.published import Paper
from perjoule.report.document import document
from perjoule.results.paper_comparison import alongside_table, lines
from perjoule.views.papers.beside import NOTE, drawing


def page(name: str, paper: Paper, comparisons: Sequence[NumberComparison], bounds: Sequence[str] = ()) -> str:
    """Lay it out as HTML."""
    title = f"{name} compared with {paper.name}"
    figures = {"beside": drawing(paper, comparisons, title)}
    laid, notes = alongside_table(comparisons), [*lines(comparisons), *bounds]
    return document("paper_comparison.html", title, figures, paper=paper, laid=laid, lines=notes, note=NOTE)
