"""Both sides' joules: of servers, clients and all, and where a joule goes, by piece."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from perjoule.figures.loads import load_names
from perjoule.figures.stacked import stacked
from perjoule.figures.vega import Spec, titled
from perjoule.model import Cell
from perjoule.model.format import any_number, number, percent, with_interval
from perjoule.model.metrics import BOUNDARIES, DURATION, ENERGY, IDLE, PER_JOULE, PIECES, RATES, metric_of
from perjoule.model.units import clients_text
from perjoule.results.limitations import omissions
from perjoule.results.table import NAMES, PLACE, Table, cell_text, mean, place
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

WORK = dict(zip(RATES, ("MiB", "operation"), strict=True))


def joules(cells: Sequence[Cell], *, notes: Sequence[str] = ()) -> Spec:
    """Draw the joules for a unit of work as a stacked bar for each file system and load, with the total next
    to it.

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
    work = (
        fmean(a * b for a, b in zip(cell.metrics[rate].values, cell.metrics[DURATION].values, strict=False))
        / per
    )
    keys = {piece: f"part_{piece}_j" for piece in PIECES}
    return {piece: cell.metrics[key].mean / work for piece, key in keys.items() if key in cell.metrics}


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
                texts = {
                    "text": f"{any_number(value_j)} J per {unit}",
                    "share": f"{percent(value_j / whole_j, 1)} %",
                }
                rows.append({"bar": bar, "name": name, "order": order, "value": value_j, **texts})
        if pieces_j:
            totals.append({"bar": bar, "value": whole_j, "text": f"{any_number(whole_j)} J"})
    return stacked(
        rows, totals, f"energy in J per {unit}", list(PIECES.values()), {"text": "energy", "share": "share"}
    )


SIDES = {
    boundary.name: boundary.prefix for boundary in BOUNDARIES if boundary.name in ("net", "clients", "all")
}
_BURSTS = tuple(f"burst_{{}}{key}" for key in PER_JOULE)
_PLAIN = ("{}energy_j", "{}mean_w", *_BURSTS)  # the meter's part of a burst is not known apart
_COLUMNS = (*_PLAIN[:2], *(f"{{}}{key}" for key in (*PER_JOULE, IDLE[0])), *_BURSTS)


def sides_table(cells: Sequence[Cell]) -> Table:
    """Lay out grade, energy, power and work per joule of servers, clients and all; a row for each that a
    cell has.
    """
    rows_of_sides = [
        (cell, name, prefix)
        for cell in cells
        for name, prefix in SIDES.items()
        if f"{prefix}energy_j" in cell.metrics
    ]
    columns = [
        column
        for column in _COLUMNS
        if any(column.format(prefix) in cell.metrics for cell, _, prefix in rows_of_sides)
    ]
    texts = {column: mean if column in _PLAIN else with_interval for column in columns}
    rows = (
        (
            *place(cell),
            "servers" if name == "net" else name,
            cell.grade_of(name),
            *(cell_text(cell, column.format(prefix), text) for column, text in texts.items()),
        )
        for cell, name, prefix in rows_of_sides
    )
    headers = (*PLACE, "of", "power", *(metric_of(column.format("")).label for column in columns))
    return Table(headers, tuple(rows), (*NAMES, "of", "power"))


def split_table(cells: Sequence[Cell]) -> Table:
    """Lay out where the joules went, in % of what is known of both sides and the switch."""
    keys = {name: f"part_{piece}_j" for piece, name in PIECES.items()}
    names = [name for name, key in keys.items() if any(key in cell.metrics for cell in cells)]
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        parts_j = {name: cell.metrics[keys[name]].mean for name in names if keys[name] in cell.metrics}
        if whole_j := sum(parts_j.values()):
            shares = (percent(parts_j[name] / whole_j, 1) if name in parts_j else "–" for name in names)
            rows.append((*place(cell), number(whole_j), *shares))
    return Table((*PLACE, metric_of(ENERGY).label, *(f"% {name}" for name in names)), tuple(rows))


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    cells = content.with_most
    if drawable(cells):
        yield "joules", joules(cells, notes=[*_notes(cells), *content.notes])


def _notes(cells: Sequence[Cell]) -> Iterator[str]:
    """Say how the energy of each side was obtained, and which one is missing."""
    from perjoule.energy.baseline import OMITTED, UNSETTLED

    grades = {
        name: sorted(
            {
                grade
                for cell in cells
                if f"{prefix}energy_j" in cell.metrics and (grade := cell.grade_of(name))
            }
        )
        for name, prefix in SIDES.items()
    }
    sides = (("servers", grades["net"]), ("clients", grades["clients"]))
    powers = ", ".join(f"{side} {'+'.join(of_side)}" for side, of_side in sides if of_side)
    clients = clients_text(cells[0].clients_count)
    yield f"{clients}; headline window, mean of the repetitions" + (f"; power: {powers}" if powers else "")
    yield from dict.fromkeys(
        text for cell in cells for text in cell.omitted if text not in (OMITTED, UNSETTLED)
    )


FLAG = Flag(
    "joules",
    help="Energy of servers, of clients and of all, by device, and where the joules went.",
    none="no energy is known here",
    advice="see `perjoule docs meters`",
    notes=lambda content: omissions(content.cells),
)
VIEW = View(
    rank=80,
    flag=FLAG,
    title="Both sides' joules",
    folded=True,
    tables=(
        Shown(lambda content: sides_table(content.cells), "Both sides' joules"),
        Shown(
            lambda content: split_table(content.cells),
            "Where the joules went",
            note="Clients are those that ran the load. All: servers and clients, each host once, without the switch. A host "
            "that ran the load and served it counts in all alone, and with the servers. Below: where the "
            "joules of both sides and the switch went, in %. The rest of a side is what its processors and "
            "the servers' disks leave: boards, fans, losses of supplies. Not split: the meters can't tell.",
        ),
    ),
    figures=_figures,
)
