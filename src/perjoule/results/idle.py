"""The table of idle file systems: what each role draws, does by itself, and for how long its disks could sleep."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.format import with_interval
from perjoule.model.metrics import ROLES, metric_of
from perjoule.results.table import Table, mean

WORDS = ("file system", "workload", "role")  # columns without numbers
_WITH_INTERVAL = "idle_{}_w"
_COLUMNS = (
    _WITH_INTERVAL,
    "idle_cpu_{}_ratio",
    "idle_switches_{}_hz",
    "idle_network_received_{}_bytes_per_s",
    "idle_network_sent_{}_bytes_per_s",
    "idle_disk_read_{}_bytes_per_s",
    "idle_disk_written_{}_bytes_per_s",
    "longest_gap_{}_s",
    "sleepable_{}_ratio",
)


def idle_table(cells: Sequence[Cell]) -> Table:
    """Lay out idle cells, a row for each role; empty if nothing was idle."""
    rows: list[tuple[str, ...]] = []
    for cell in (cell for cell in cells if cell.direction == "idle"):
        for role in ROLES:
            keys = [column.format(role) for column in _COLUMNS]
            if any(key in cell.metrics for key in keys):
                texts = (_text(cell, column, key) for column, key in zip(_COLUMNS, keys, strict=True))
                rows.append((cell.filesystem, cell.workload, role, str(cell.clients_count), *texts))
    labels = (metric_of(column.format("servers")).label.removeprefix("servers ") for column in _COLUMNS)
    units = (metric_of(column.format("servers")).unit.symbol for column in _COLUMNS)
    headers = (label if unit in label or not unit else f"{label}, {unit}" for label, unit in zip(labels, units, strict=True))
    return Table(("file system", "workload", "role", "clients", *headers), tuple(rows))


def _text(cell: Cell, column: str, key: str) -> str:
    if key not in cell.metrics:
        return "–"
    text = with_interval if column == _WITH_INTERVAL else mean
    return text(cell.metrics[key], metric_of(key).unit.per)
