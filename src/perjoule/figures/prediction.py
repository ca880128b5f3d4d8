"""Predictions against the number of clients: the value, its 90 % band, and the bound."""

from collections.abc import Sequence
from dataclasses import dataclass

from perjoule.figures.vega import PANEL_WIDTH, Spec, labels, quantitative, titled


@dataclass(frozen=True)
class Predicted:
    """One direction by one number of clients in one panel, in units of its axis."""

    panel: str  # "MiB/s"
    name: str  # "write"
    clients_count: int
    value: float
    low: float
    high: float
    bound: float | None = None


def prediction(points: Sequence[Predicted], *, title: str, notes: Sequence[str]) -> Spec:
    """Draw a panel for each axis: a line with its band for each direction, and dashed the bound where one
    is known.
    """
    panels = dict.fromkeys(point.panel for point in points)
    drawn = [_panel(panel, [point for point in points if point.panel == panel]) for panel in panels]
    return titled({"concat": drawn, "columns": 2, "spacing": 24}, title, notes)


def _panel(panel: str, points: Sequence[Predicted]) -> Spec:
    names = list(dict.fromkeys(point.name for point in points))
    counts = sorted({point.clients_count for point in points})
    x = quantitative(
        "clients",
        field="clients",
        scale={"domain": [0, 1.04 * counts[-1]], "nice": False},
        axis={"format": "d", "tickMinStep": 1},
    )
    y: Spec = {"type": "quantitative", "title": panel, "scale": {"zero": True}}
    rows = [
        {
            "name": p.name,
            "clients": p.clients_count,
            "value": p.value,
            "low": p.low,
            "high": p.high,
            "bound": p.bound,
        }
        for p in points
    ]
    tooltip = [{"field": key, "title": title} for key, title in _TOLD.items()]
    layers: list[Spec] = [
        {
            "mark": {"type": "area", "opacity": 0.18},
            "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "line", "strokeDash": [5, 4], "strokeWidth": 1.2},
            "transform": [{"filter": "isValid(datum.bound)"}],
            "encoding": {"y": {"field": "bound", **y}},
        },
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"y": {"field": "value", **y}}},
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {"y": {"field": "value", **y}, "tooltip": tooltip},
        },
    ]
    for layer in layers:
        layer["encoding"] |= {"x": x, "color": labels(names, "category", symbolOpacity=1)}
    return {"width": PANEL_WIDTH, "height": 220, "data": {"values": rows}, "layer": layers}


_TOLD = {
    "name": "direction",
    "clients": "clients",
    "value": "predicted",
    "low": "90 % from",
    "high": "to",
    "bound": "bound",
}
