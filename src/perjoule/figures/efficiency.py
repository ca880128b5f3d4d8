"""Energy efficiency against clients (Fig. 3 of "Green Storage", which writes MiB/J as MiB/s per W)."""

from collections.abc import Sequence

from perjoule.figures._clients import against_clients
from perjoule.figures.printed import Printed
from perjoule.figures.vega import Spec
from perjoule.model import Cell


def efficiency(cells: Sequence[Cell], *, notes: Sequence[str] = (), printed: Sequence[Printed] = ()) -> Spec:
    """Draw `efficiency_bytes_per_j` of the cells."""
    return against_clients(
        cells,
        "efficiency_bytes_per_j",
        axis="servers without switch",
        title="Energy efficiency",
        notes=notes,
        printed=printed,
    )
