"""Watts of idle file systems by component and role, stacked: clients, network, servers' processors, the rest of them, disks."""

from collections.abc import Mapping, Sequence

from perjoule.figures._stacked import stacked
from perjoule.figures.vega import Spec, titled
from perjoule.model import Cell
from perjoule.model.format import any_number
from perjoule.model.metrics import PIECES, metric_of

_UNIT = metric_of("mean_w").unit.symbol


def idle(cells: Sequence[Cell], *, notes: Sequence[str]) -> Spec:
    """Draw a bar for each idle cell with a known piece; `notes` are lines of the subtitle."""
    rows: list[Spec] = []
    totals: list[Spec] = []
    for cell in cells:
        pieces_w = _pieces_w(cell)
        bar = f"{cell.legend}, {cell.workload}"
        for order, (piece, name) in enumerate(PIECES.items()):
            if value_w := pieces_w.get(piece):
                text = f"{any_number(value_w)} {_UNIT}"
                rows.append({"bar": bar, "name": name, "order": order, "value": value_w, "text": text})
        if whole_w := sum(pieces_w.values()):
            totals.append({"bar": bar, "value": whole_w, "text": f"{any_number(whole_w)} {_UNIT}"})
    panel = stacked(rows, totals, f"power in {_UNIT} without a load", list(PIECES.values()), {"text": "power"})
    return titled({"vconcat": [panel]}, "What an idle file system draws", notes)


def drawable(cells: Sequence[Cell]) -> bool:
    """Whether any idle cell has a piece."""
    return any(_pieces_w(cell) for cell in cells)


def _pieces_w(cell: Cell) -> Mapping[str, float]:
    """Return the mean watts of each piece; none of a cell that was loaded, or whose trials all failed."""
    if cell.direction != "idle" or "duration_s" not in cell.metrics:
        return {}
    duration_s = cell.metrics["duration_s"].mean
    keys = {piece: f"part_{piece}_j" for piece in PIECES}
    return {piece: cell.metrics[key].mean / duration_s for piece, key in keys.items() if key in cell.metrics}
