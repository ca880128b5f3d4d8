"""Tables of both sides' joules: of servers, clients and all, and where they went."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.format import number, percent
from perjoule.model.metrics import BOUNDARIES, IDLE, PER_JOULE, PIECES, metric_of
from perjoule.results.table import Table, mean, with_meter

SIDES = {one.name: one.prefix for one in BOUNDARIES if one.name in ("net", "clients", "all")}
WORDS = ("file system", "workload", "direction", "of", "power")  # columns without numbers
_PLACE = ("file system", "workload", "direction", "clients")
_PLAIN = ("{}energy_j", "{}mean_w")
_COLUMNS = (*_PLAIN, *(f"{{}}{key}" for key in (*PER_JOULE, IDLE[0])), *(f"burst_{{}}{key}" for key in PER_JOULE))


def sides_table(cells: Sequence[Cell]) -> Table:
    """Lay out grade, energy, power and work per joule of servers, clients and all; a row for each that a cell has."""
    found = [(cell, name, prefix) for cell in cells for name, prefix in SIDES.items() if f"{prefix}energy_j" in cell.metrics]
    columns = [one for one in _COLUMNS if any(one.format(prefix) in cell.metrics for cell, _, prefix in found)]

    def text(cell: Cell, column: str, key: str) -> str:
        if key not in cell.metrics:
            return "–"
        return mean(cell.metrics[key], metric_of(key).unit.per) if column in _PLAIN else with_meter(cell, key)

    rows = (
        (
            *_place(cell),
            "servers" if name == "net" else name,
            cell.grade_of(name),
            *(text(cell, column, column.format(prefix)) for column in columns),
        )
        for cell, name, prefix in found
    )
    return Table((*_PLACE, "of", "power", *(metric_of(column.format("")).label for column in columns)), tuple(rows))


def split_table(cells: Sequence[Cell]) -> Table:
    """Lay out where the joules went, in % of what is known of both sides and the switch."""
    keys = {name: f"part_{piece}_j" for piece, name in PIECES.items()}
    there = [name for name, key in keys.items() if any(key in cell.metrics for cell in cells)]
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        parts_j = {name: cell.metrics[keys[name]].mean for name in there if keys[name] in cell.metrics}
        if whole_j := sum(parts_j.values()):
            shares = (percent(parts_j[name] / whole_j, 1) if name in parts_j else "–" for name in there)
            rows.append((*_place(cell), number(whole_j), *shares))
    return Table((*_PLACE, metric_of("energy_j").label, *(f"% {name}" for name in there)), tuple(rows))


def _place(cell: Cell) -> tuple[str, ...]:
    return cell.filesystem, cell.workload, cell.direction, str(cell.clients_count)
