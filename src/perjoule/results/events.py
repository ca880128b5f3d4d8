"""The table of events: rate and power before, during and after them, the cost of healing, and what users lost."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.metrics import METRICS, metric_of
from perjoule.results.table import PLACE, Table, heading, place, value_text

_COLUMNS = (*(key for key, metric in METRICS.items() if metric.event), "latency_p99_s")


def events_table(cells: Sequence[Cell]) -> Table:
    """Lay out cells of trials in which something happened to servers, a row each; empty if nothing did."""
    hit = [cell for cell in cells if any(metric_of(key).event for key in cell.metrics)]
    columns = [key for key in _COLUMNS if any(key in cell.metrics for cell in hit)]
    rows = ((*place(cell), *(value_text(cell.metrics.get(key), key) for key in columns)) for cell in hit)
    return Table((*PLACE, *map(heading, columns)), tuple(rows))
