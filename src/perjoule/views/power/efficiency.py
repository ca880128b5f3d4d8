"""Energy efficiency against clients (Fig. 3 of "Green Storage", which writes MiB/J as MiB/s per W)."""

from collections.abc import Iterator, Sequence

from perjoule.figures.clients import INTERVALS, against_clients
from perjoule.figures.printed import PaperNumber
from perjoule.figures.vega import Spec
from perjoule.model import Cell
from perjoule.model.metrics import EFFICIENCY, PER_JOULE
from perjoule.statistics.modes import by_median
from perjoule.views.content import Content
from perjoule.views.view import View


def efficiency(
    cells: Sequence[Cell],
    *,
    axis: str = "servers without switch",
    notes: Sequence[str] = (),
    printed: Sequence[PaperNumber] = (),
) -> Spec:
    """Draw `efficiency_bytes_per_j` of the cells; `axis` says whose joules these are."""
    return against_clients(
        cells,
        EFFICIENCY,
        axis=axis,
        title="Energy efficiency",
        notes=notes,
        by_median=by_median(cells),
        printed=printed,
    )


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if content.has(PER_JOULE[0]):
        yield (
            "efficiency",
            efficiency(
                content.cells,
                axis=content.power_axis,
                notes=[
                    f"{INTERVALS}; without the error of the meter, which they share",
                    *content.power_notes,
                ],
            ),
        )


VIEW = View(rank=40, figures=_figures, lead=1)
