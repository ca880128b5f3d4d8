"""Energy-delay product against clients, relative to the best of its direction (Fig. 4 of "Green Storage")."""

from collections.abc import Iterator, Sequence

from perjoule.figures.clients import against_clients
from perjoule.figures.printed import PaperNumber
from perjoule.figures.vega import Spec
from perjoule.model import Cell
from perjoule.model.metrics import EDP_RATIO, metric_of
from perjoule.statistics.modes import by_median
from perjoule.views.content import Content
from perjoule.views.view import View

EDP = metric_of(EDP_RATIO)


def edp(cells: Sequence[Cell], *, notes: Sequence[str] = (), printed: Sequence[PaperNumber] = ()) -> Spec:
    """Draw `edp_ratio` of the cells on a logarithmic axis: 1 is the best, higher is worse."""
    return against_clients(
        cells,
        EDP.key,
        axis=f"{EDP.better} is better, logarithmic",
        title="Energy-delay product",
        notes=notes,
        by_median=by_median(cells),
        printed=printed,
        bounds=[(1.0, "")],
        logarithmic=True,
    )


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if content.has(EDP.key):
        weight = f"^{content.edp_weight}" if content.edp_weight != 1 else ""
        product = f"energy × time{weight} for the same work, divided by the lowest"
        yield "edp", edp(content.cells, notes=[product, *content.power_notes])


VIEW = View(rank=50, figures=_figures, lead=3)
