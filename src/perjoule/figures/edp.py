"""Energy-delay product against clients, relative to the best of its direction (Fig. 4 of "Green Storage")."""

from collections.abc import Sequence

from perjoule.figures._clients import against_clients
from perjoule.figures.printed import Printed
from perjoule.figures.vega import Spec
from perjoule.model import Cell
from perjoule.model.metrics import metric_of


def edp(cells: Sequence[Cell], *, notes: Sequence[str] = (), printed: Sequence[Printed] = ()) -> Spec:
    """Draw `edp_ratio` of the cells on a logarithmic axis: 1 is the best, higher is worse."""
    return against_clients(
        cells,
        "edp_ratio",
        axis=f"{metric_of('edp_ratio').better} is better",
        title="Energy-delay product",
        notes=notes,
        printed=printed,
        logarithmic=True,
    )
