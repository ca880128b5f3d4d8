"""The tables of rebuilds: bytes and joules held against what redundancy explains, and the bytes of each role."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.metrics import METRICS, ROLES
from perjoule.results.table import NAMES, PLACE, Table, heading, place, row_text

_COLUMNS = tuple(key for key, metric in METRICS.items() if metric.rebuild)
_BYTES = tuple(f"rebuild_{way}_{{}}_bytes" for way in ("network_received", "network_sent", "disk_read", "disk_written"))


def rebuild_table(cells: Sequence[Cell]) -> Table:
    """Lay out cells of trials in which disks failed, a row each; empty if none did."""
    rebuilt = [cell for cell in cells if _COLUMNS[0] in cell.metrics]
    columns = [key for key in _COLUMNS if any(key in cell.metrics for cell in rebuilt)]
    rows = ((*place(cell), *(row_text(cell, key) for key in columns)) for cell in rebuilt)
    return Table((*PLACE, *(heading(key, "rebuild ") for key in columns)), tuple(rows))


def rebuilt_bytes_table(cells: Sequence[Cell]) -> Table:
    """Lay out what hosts moved during rebuilds, a row for each role; empty if nothing was rebuilt."""
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        for role in ROLES:
            keys = [key.format(role) for key in _BYTES]
            if any(key in cell.metrics for key in keys):
                texts = (row_text(cell, key) for key in keys)
                rows.append((*place(cell)[:3], role, str(cell.clients_count), *texts))
    headers = (heading(key.format("servers"), "servers rebuild ") for key in _BYTES)
    return Table((*PLACE[:3], "role", "clients", *headers), tuple(rows), (*NAMES, "role"))
