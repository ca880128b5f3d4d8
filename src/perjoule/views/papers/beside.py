"""What was measured next to what a paper printed."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perjoule.figures import comparison as figure
from perjoule.figures.vega import Spec
from perjoule.results.limitations import simulated_notes
from perjoule.results.table import Table
from perjoule.views.content import Content
from perjoule.views.view import Shown, View

if TYPE_CHECKING:
    from perjoule.papers.comparison import NumberComparison
    from perjoule.papers.published import Paper


NOTE = (
    "Ratios are measured here over published. A mean's interval is the 95 % interval over repetitions; a "
    "number printed after ± is taken as a standard uncertainty. A maximum has no interval: its ratio "
    "covers only the rounding of the printed digits. In rankings, > means significantly higher and ~ not "
    "significantly different."
)


def drawing(paper: "Paper", comparisons: Sequence["NumberComparison"], title: str) -> Spec:
    """Draw both series."""
    from perjoule.results.paper_comparison import cells_of, unit_of

    pairs = [
        figure.Beside(
            cell.filesystem,
            f"{unit.symbol}, {comparison.pair.measured.window}, {cell.workload}, {comparison.kind.split()[0]}",
            comparison.pair.value / unit.per,
            comparison.pair.number.value / unit.per,
        )
        for comparison in comparisons
        for cell, unit in [(comparison.pair.measured.cell, unit_of(comparison))]
    ]
    return figure.beside(pairs, paper.name, title, [paper.reference, *simulated_notes(cells_of(comparisons))])


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if content.comparisons:
        title = f"Measured here and in {content.reproduces}"
        yield "beside", drawing(content.paper, content.comparisons, title)


def _table(content: Content) -> Table:
    from perjoule.results.paper_comparison import alongside_table

    return alongside_table(content.comparisons)


def _lines(content: Content) -> Sequence[str]:
    from perjoule.results.paper_comparison import bounds_lines, lines

    bounds = bounds_lines(content.paper, content.cells) if content.reproduces else ()
    return [*lines(content.comparisons), *bounds]


VIEW = View(
    rank=10,
    title="Measured here and published",
    tables=(Shown(_table, "Measured here and published", note=NOTE),),
    lines=_lines,
    figures=_figures,
    lead=6,
)
