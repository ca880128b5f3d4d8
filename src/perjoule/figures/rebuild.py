"""What the rebuild of a failed disk moved by byte lost: a bar each, with a tick at what redundancy alone explains."""

from collections.abc import Sequence
from math import isfinite

from perjoule.figures.vega import FULL_WIDTH, Spec, titled
from perjoule.model import Cell
from perjoule.model.format import any_number
from perjoule.model.metrics import METRICS, metric_of

WAYS = {key: metric.label for key, metric in METRICS.items() if metric.rebuild and f"derived_{key}" in METRICS}
UNIT = metric_of(next(iter(WAYS))).unit.symbol


def rebuild(cells: Sequence[Cell], *, notes: Sequence[str] = ()) -> Spec:
    """Draw a bar for each cell and way of bytes that is known; those without are left out."""
    rows = [row for cell in cells for key, way in WAYS.items() for row in _rows(cell, key, way)]
    known = list(dict.fromkeys(row["name"] for row in rows))
    largest = max(max(row["value"], row["high"] or 0, row["derived"] or 0) for row in rows)
    x: Spec = {
        "type": "quantitative",
        "title": f"bytes by byte lost, {UNIT}",
        "scale": {"domainMax": 1.15 * largest},
    }
    y: Spec = {"field": "way", "type": "nominal", "title": None, "sort": list(WAYS.values())}
    panels = [_panel(name, [row for row in rows if row["name"] == name], x, y) for name in known]
    return titled({"vconcat": panels, "spacing": 18}, "What the rebuild of a failed disk moved", notes)


def drawable(cells: Sequence[Cell]) -> bool:
    """Whether any cell has bytes of a rebuild by byte lost."""
    return any(key in cell.metrics for cell in cells for key in WAYS)


def _rows(cell: Cell, key: str, way: str) -> Sequence[Spec]:
    if not (found := cell.metrics.get(key)):
        return ()
    derived, told = cell.metrics.get(f"derived_{key}"), isfinite(found.high)
    due = derived.mean if derived else None
    text = any_number(found.mean) + (f" ({any_number(due)})" if due is not None else "")
    low, high = (found.low, found.high) if told else (None, None)
    name = f"{cell.legend}, {cell.workload}"
    return [{"name": name, "way": way, "value": found.mean, "low": low, "high": high, "derived": due, "text": text}]


def _panel(name: str, rows: Sequence[Spec], x: Spec, y: Spec) -> Spec:
    tooltip = [{"field": "way"}, {"field": "text", "title": f"{UNIT} (derived)"}]
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
    heading = {"text": name, "fontSize": 12, "anchor": "start", "frame": "group", "offset": 4}
    return {"title": heading, "width": FULL_WIDTH - 150, "height": {"step": 24}, "data": {"values": rows}, "layer": layers}
