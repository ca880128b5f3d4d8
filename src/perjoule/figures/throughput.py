"""Throughput against clients, with the theoretical peak performance as a rule (Fig. 2 of "Green Storage")."""

from collections.abc import Sequence

from perjoule.figures._clients import against_clients, number
from perjoule.figures.vega import Spec
from perjoule.model import Cell
from perjoule.units import MIB


def throughput(cells: Sequence[Cell], *, tpp_bytes_per_s: float | None = None, notes: Sequence[str] = ()) -> Spec:
    """Draw `throughput_bytes_per_s` of the cells, all clients together, in MiB/s."""
    bound = (tpp_bytes_per_s, f"TPP {number(tpp_bytes_per_s / MIB)} MiB/s") if tpp_bytes_per_s else None
    return against_clients(
        cells,
        "throughput_bytes_per_s",
        per=MIB,
        axis="MiB/s, all clients together",
        unit="MiB/s",
        title="Throughput",
        notes=notes,
        bound=bound,
    )
