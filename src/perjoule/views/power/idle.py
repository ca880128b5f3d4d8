"""Idle file systems: what each role draws, does by itself, and for how long its disks could sleep; and the
watts by piece.
"""

from collections.abc import Iterator, Mapping, Sequence

from perjoule.figures.stacked import stacked
from perjoule.figures.vega import Spec, titled
from perjoule.model import Cell
from perjoule.model.format import any_number, with_interval
from perjoule.model.metrics import DURATION, PIECES, POWER, ROLES, metric_of
from perjoule.results.table import NAMES, Table, heading, mean, value_text
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

_UNIT = metric_of(POWER).unit.symbol


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
    panel = stacked(
        rows, totals, f"power in {_UNIT} without a load", list(PIECES.values()), {"text": "power"}
    )
    return titled({"vconcat": [panel]}, "What an idle file system draws", notes)


def drawable(cells: Sequence[Cell]) -> bool:
    """Whether any idle cell has a piece."""
    return any(_pieces_w(cell) for cell in cells)


def _pieces_w(cell: Cell) -> Mapping[str, float]:
    """Return the mean watts of each piece; none of a cell that was loaded, or whose trials all failed."""
    if cell.direction != "idle" or DURATION not in cell.metrics:
        return {}
    duration_s = cell.metrics[DURATION].mean
    keys = {piece: f"part_{piece}_j" for piece in PIECES}
    return {piece: cell.metrics[key].mean / duration_s for piece, key in keys.items() if key in cell.metrics}


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
            intervals = {column: cell.metrics.get(column.format(role)) for column in _COLUMNS}
            if any(intervals.values()):
                texts = (
                    value_text(
                        interval, column.format(role), with_interval if column == _WITH_INTERVAL else mean
                    )
                    for column, interval in intervals.items()
                )
                rows.append((cell.filesystem, cell.workload, role, str(cell.clients_count), *texts))
    headers = (heading(column.format("servers"), "servers ") for column in _COLUMNS)
    return Table(("file system", "workload", "role", "clients", *headers), tuple(rows), (*NAMES, "role"))


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    cells = content.with_most
    if drawable(cells):
        of = "servers, clients and switch without a load; mean of the repetitions"
        yield "idle", idle(cells, notes=[of, *content.power_notes])


VIEW = View(
    rank=90,
    flag=Flag(
        "idle",
        help="What idle file systems draw and do by themselves, by role.",
        none="no trial here was idle",
        advice="see `perjoule docs idle`",
    ),
    title="Idle",
    tables=(
        Shown(
            lambda content: idle_table(content.cells),
            "Idle",
            note="Without a load: what each role draws, and what it does by itself, all of its hosts together, by second. "
            "CPU: 100 % is one core of the machine that ran it. Longest gap: the longest time without an "
            "access to the disks of one host; sleepable: the share of the time in gaps of at least the "
            "least gap of the campaign.",
        ),
    ),
    figures=_figures,
    lead=5,
)
