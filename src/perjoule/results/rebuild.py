"""The tables of rebuilds: bytes and joules held against what redundancy explains, and the bytes of each role."""

from collections.abc import Iterable, Sequence

from perjoule.model import Cell
from perjoule.model.format import with_interval
from perjoule.model.metrics import METRICS, ROLES, metric_of
from perjoule.results.table import Table

WORDS = ("file system", "workload", "direction", "role")  # columns without numbers
_COLUMNS = tuple(key for key, metric in METRICS.items() if metric.rebuild)
_BYTES = tuple(f"rebuild_{way}_{{}}_bytes" for way in ("network_received", "network_sent", "disk_read", "disk_written"))


def rebuild_table(cells: Sequence[Cell]) -> Table:
    """Lay out cells of trials in which disks failed, a row each; empty if none did."""
    rebuilt = [cell for cell in cells if _COLUMNS[0] in cell.metrics]
    columns = [key for key in _COLUMNS if any(key in cell.metrics for cell in rebuilt)]
    rows = ((*_words(cell), *(_text(cell, key) for key in columns)) for cell in rebuilt)
    return Table((*WORDS[:3], "clients", *_headers(columns)), tuple(rows))


def rebuilt_bytes_table(cells: Sequence[Cell]) -> Table:
    """Lay out what hosts moved during rebuilds, a row for each role; empty if nothing was rebuilt."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        for role in ROLES:
            keys = [key.format(role) for key in _BYTES]
            if any(key in cell.metrics for key in keys):
                rows.append((*_words(cell)[:3], role, str(cell.clients_count), *(_text(cell, key) for key in keys)))
    servers = (header.removeprefix("servers ") for header in _headers([key.format("servers") for key in _BYTES]))
    return Table((*WORDS, "clients", *(header.removeprefix("rebuild ") for header in servers)), tuple(rows))


def _words(cell: Cell) -> tuple[str, ...]:
    return cell.filesystem, cell.workload, cell.direction, str(cell.clients_count)


def _headers(keys: Iterable[str]) -> Iterable[str]:
    for metric in map(metric_of, keys):
        label = metric.label.removeprefix("rebuild ")
        yield label if metric.unit.symbol in label else f"{label}, {metric.unit.symbol}"


def _text(cell: Cell, key: str) -> str:
    if key not in cell.metrics:
        return "–"
    return with_interval(cell.metrics[key], metric_of(key).unit.per)
