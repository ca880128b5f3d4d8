"""The table of events: rate and power before, during and after them, the cost of healing, and what users lost."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.format import with_interval
from perjoule.model.metrics import METRICS, metric_of
from perjoule.results.table import Table

WORDS = ("file system", "workload", "direction")  # columns without numbers
_COLUMNS = (*(key for key, metric in METRICS.items() if metric.event), "latency_p99_s")


def events_table(cells: Sequence[Cell]) -> Table:
    """Lay out cells of trials in which something happened to servers, a row each; empty if nothing did."""
    hit = [cell for cell in cells if any(metric_of(key).event for key in cell.metrics)]
    columns = [key for key in _COLUMNS if any(key in cell.metrics for cell in hit)]
    headers = (
        label if (unit := metric_of(key).unit.symbol) in (label := metric_of(key).label) else f"{label}, {unit}"
        for key in columns
    )
    rows = (
        (cell.filesystem, cell.workload, cell.direction, str(cell.clients_count), *(_text(cell, key) for key in columns))
        for cell in hit
    )
    return Table((*WORDS, "clients", *headers), tuple(rows))


def _text(cell: Cell, key: str) -> str:
    if key not in cell.metrics:
        return "–"
    return with_interval(cell.metrics[key], metric_of(key).unit.per)
