"""Where a joule goes: the energy of both sides and the switch for a unit of work, by piece."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from perjoule.figures._loads import load_names
from perjoule.figures._stacked import stacked
from perjoule.figures.vega import Spec, titled
from perjoule.model import Cell
from perjoule.model.format import any_number, percent
from perjoule.model.metrics import PIECES, RATES, metric_of

WORK = dict(zip(RATES, ("MiB", "operation"), strict=True))


def joules(cells: Sequence[Cell], *, notes: Sequence[str] = ()) -> Spec:
    """Draw the joules for a unit of work as a stacked bar for each file system and load, with the total next to it.

    Args:
        cells: of one number of clients; those without a known piece, or without work, are left out.
        notes: lines of the subtitle.
    """
    panels = [panel for rate, unit in WORK.items() if (panel := _panel(cells, rate, unit))]
    return titled({"vconcat": panels, "spacing": 24}, "Where a joule goes", notes)


def drawable(cells: Sequence[Cell]) -> bool:
    """Whether any cell has a piece and work."""
    return any(_pieces_j(cell, rate) for cell in cells for rate in WORK)


def _pieces_j(cell: Cell, rate: str) -> Mapping[str, float]:
    """Return the mean joules of each piece for a unit of work; empty if either is unknown."""
    if rate not in cell.metrics:
        return {}
    per = metric_of(rate).unit.per
    done = fmean(a * b for a, b in zip(cell.metrics[rate].values, cell.metrics["duration_s"].values, strict=False)) / per
    keys = {piece: f"part_{piece}_j" for piece in PIECES}
    return {piece: cell.metrics[key].mean / done for piece, key in keys.items() if key in cell.metrics}


def _panel(cells: Sequence[Cell], rate: str, unit: str) -> Spec | None:
    names = load_names((cell.workload, cell.direction) for cell in cells)
    rows: list[Spec] = []
    totals: list[Spec] = []
    for cell in cells:
        bar = f"{cell.legend}, {names[cell.workload, cell.direction]}"
        pieces_j = _pieces_j(cell, rate)
        whole_j = sum(pieces_j.values())
        for order, (piece, name) in enumerate(PIECES.items()):
            if value_j := pieces_j.get(piece):
                told = {"text": f"{any_number(value_j)} J per {unit}", "share": f"{percent(value_j / whole_j, 1)} %"}
                rows.append({"bar": bar, "name": name, "order": order, "value": value_j, **told})
        if pieces_j:
            totals.append({"bar": bar, "value": whole_j, "text": f"{any_number(whole_j)} J"})
    return stacked(rows, totals, f"energy in J per {unit}", list(PIECES.values()), {"text": "energy", "share": "share"})
