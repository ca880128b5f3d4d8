"""Tables of both sides' joules: of servers, clients and all, and where they went."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.format import number, percent, with_interval
from perjoule.model.metrics import BOUNDARIES, IDLE, PER_JOULE, PIECES, metric_of
from perjoule.results.table import NAMES, PLACE, Table, cell_text, mean, place

SIDES = {one.name: one.prefix for one in BOUNDARIES if one.name in ("net", "clients", "all")}
_PLAIN = ("{}energy_j", "{}mean_w")
_COLUMNS = (*_PLAIN, *(f"{{}}{key}" for key in (*PER_JOULE, IDLE[0])), *(f"burst_{{}}{key}" for key in PER_JOULE))


def sides_table(cells: Sequence[Cell]) -> Table:
    """Lay out grade, energy, power and work per joule of servers, clients and all; a row for each that a cell has."""
    found = [(cell, name, prefix) for cell in cells for name, prefix in SIDES.items() if f"{prefix}energy_j" in cell.metrics]
    columns = [one for one in _COLUMNS if any(one.format(prefix) in cell.metrics for cell, _, prefix in found)]
    texts = {column: mean if column in _PLAIN else with_interval for column in columns}
    rows = (
        (
            *place(cell),
            "servers" if name == "net" else name,
            cell.grade_of(name),
            *(cell_text(cell, column.format(prefix), text) for column, text in texts.items()),
        )
        for cell, name, prefix in found
    )
    headers = (*PLACE, "of", "power", *(metric_of(column.format("")).label for column in columns))
    return Table(headers, tuple(rows), (*NAMES, "of", "power"))


def split_table(cells: Sequence[Cell]) -> Table:
    """Lay out where the joules went, in % of what is known of both sides and the switch."""
    keys = {name: f"part_{piece}_j" for piece, name in PIECES.items()}
    there = [name for name, key in keys.items() if any(key in cell.metrics for cell in cells)]
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        parts_j = {name: cell.metrics[keys[name]].mean for name in there if keys[name] in cell.metrics}
        if whole_j := sum(parts_j.values()):
            shares = (percent(parts_j[name] / whole_j, 1) if name in parts_j else "–" for name in there)
            rows.append((*place(cell), number(whole_j), *shares))
    return Table((*PLACE, metric_of("energy_j").label, *(f"% {name}" for name in there)), tuple(rows))
