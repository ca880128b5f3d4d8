"""The table of idle file systems: what each role draws, does by itself, and for how long its disks could sleep."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.format import with_interval
from perjoule.model.metrics import ROLES
from perjoule.results.table import NAMES, Table, heading, mean, value_text

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
            found = {column: cell.metrics.get(column.format(role)) for column in _COLUMNS}
            if any(found.values()):
                texts = (
                    value_text(one, column.format(role), with_interval if column == _WITH_INTERVAL else mean)
                    for column, one in found.items()
                )
                rows.append((cell.filesystem, cell.workload, role, str(cell.clients_count), *texts))
    headers = (heading(column.format("servers"), "servers ") for column in _COLUMNS)
    return Table(("file system", "workload", "role", "clients", *headers), tuple(rows), (*NAMES, "role"))
