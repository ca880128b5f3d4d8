"""Rebuilds: bytes and joules held against what redundancy explains, and the bytes of each role."""

from collections.abc import Iterator, Sequence
from math import isfinite

from perjoule.figures.vega import FULL_WIDTH, Spec, layered, panel_title, quantitative, titled, tooltip_of
from perjoule.measures.rebuild import ENERGY
from perjoule.model import Cell
from perjoule.model.format import any_number
from perjoule.model.metrics import METRICS, ROLES, metric_of
from perjoule.results.table import NAMES, OF_REPETITIONS, PLACE, Table, heading, place, row_text
from perjoule.views.content import Content
from perjoule.views.life.events import FLAG
from perjoule.views.view import Shown, View

WAYS = {
    key: metric.label for key, metric in METRICS.items() if metric.rebuild and f"derived_{key}" in METRICS
}
UNIT = metric_of(next(iter(WAYS))).unit.symbol


def rebuild(cells: Sequence[Cell], *, notes: Sequence[str] = ()) -> Spec:
    """Draw a bar for each cell and way of bytes that is known; those without are left out."""
    rows = [row for cell in cells for key, label in WAYS.items() for row in _rows(cell, key, label)]
    names = list(dict.fromkeys(row["name"] for row in rows))
    largest = max(max(row["value"], row["high"] or 0, row["derived"] or 0) for row in rows)
    x = quantitative(f"bytes by byte lost, {UNIT}", scale={"domainMax": 1.15 * largest})
    y: Spec = {"field": "way", "type": "nominal", "title": None, "sort": list(WAYS.values())}
    panels = [_panel(name, [row for row in rows if row["name"] == name], x, y) for name in names]
    return titled({"vconcat": panels, "spacing": 18}, "What the rebuild of a failed disk moved", notes)


def drawable(cells: Sequence[Cell]) -> bool:
    """Whether any cell has bytes of a rebuild by byte lost."""
    return any(key in cell.metrics for cell in cells for key in WAYS)


def _rows(cell: Cell, key: str, label: str) -> Sequence[Spec]:
    if not (interval := cell.metrics.get(key)):
        return ()
    derived, bounded = cell.metrics.get(f"derived_{key}"), isfinite(interval.high)
    due = derived.mean if derived else None
    text = any_number(interval.mean) + (f" ({any_number(due)})" if due is not None else "")
    low, high = (interval.low, interval.high) if bounded else (None, None)
    name = f"{cell.legend}, {cell.workload}"
    return [
        {
            "name": name,
            "way": label,
            "value": interval.mean,
            "low": low,
            "high": high,
            "derived": due,
            "text": text,
        }
    ]


def _panel(name: str, rows: Sequence[Spec], x: Spec, y: Spec) -> Spec:
    tooltip = tooltip_of(way="", text=f"{UNIT} (derived)")
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": 12},
            "encoding": {"x": {**x, "field": "value"}, "y": y, "tooltip": tooltip},
        },
        {
            "mark": {"type": "rule", "style": "ink", "strokeWidth": 1.5},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
        },
        {
            "mark": {"type": "tick", "style": "ink", "thickness": 3, "size": 18},
            "transform": [{"filter": "isValid(datum.derived)"}],
            "encoding": {"x": {**x, "field": "derived"}, "y": y},
        },
    ]
    return layered(rows, layers, FULL_WIDTH - 150, {"step": 24}, title=panel_title(name))


_COLUMNS = tuple(key for key, metric in METRICS.items() if metric.rebuild)
_BYTES = tuple(
    f"rebuild_{movement}_{{}}_bytes"
    for movement in ("network_received", "network_sent", "disk_read", "disk_written")
)


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


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if drawable(content.cells):
        explained = (
            "bar: mean and 95 % interval; tick, and number in brackets: what redundancy alone explains"
        )
        yield "rebuild", rebuild(content.cells, notes=[explained, *content.notes])


VIEW = View(
    rank=140,
    flag=FLAG,
    title="Rebuild",
    tables=(
        Shown(
            lambda content: rebuild_table(content.cells),
            "Rebuild",
            note="What failed disks held was rebuilt from redundancy. Network, disk read and disk written: bytes that data "
            "hosts received, read and wrote for that, by byte lost, beside what redundancy alone explains. "
            f"{metric_of(ENERGY.key).unit.symbol}: energy of the servers from the failure until healthy, by "
            f"TiB lost; added: beyond what they drew before. {OF_REPETITIONS}",
        ),
        Shown(
            lambda content: rebuilt_bytes_table(content.cells),
            "Bytes moved during the rebuild",
            note=(
                "From the failure until what was rebuilt was on disk, with the bytes of the load, if there "
                "was one."
            ),
        ),
    ),
    figures=_figures,
)
