"""Ratios with their intervals against 1, and measured next to published values."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.figures.vega import FULL_WIDTH, Spec, titled

_ROW_HEIGHT = 22


@dataclass(frozen=True)
class RatioMark:
    """A ratio of one row; ends are infinite without an interval."""

    row: str
    metric: str
    ratio: float
    low: float
    high: float
    verdict: str


@dataclass(frozen=True)
class Beside:
    """Two values of one row in one unit."""

    row: str
    panel: str  # metric and direction, with the unit
    measured: float
    published: float


def ratios(marks: Sequence[RatioMark], relevant_ratio: float, title: str, notes: Sequence[str]) -> Spec:
    """Draw a ratio with its interval in each row, over the band of irrelevant differences."""
    rows = list(dict.fromkeys(mark.row for mark in marks))
    metrics = list(dict.fromkeys(mark.metric for mark in marks))
    ends = [end for m in marks for end in (m.ratio, m.low, m.high) if isfinite(end) and 0.2 < end < 5]
    scale = {"type": "log", "domain": [min([*ends, 0.95]) * 0.98, max([*ends, 1.05]) * 1.02], "nice": False}
    x = {"type": "quantitative", "title": "ratio", "scale": scale, "axis": {"format": ".3~g"}}
    y = {"field": "row", "type": "nominal", "sort": rows, "title": None}
    offset = {"yOffset": {"field": "metric", "sort": metrics}}
    colour = {
        "color": {
            "field": "metric",
            "type": "nominal",
            "scale": {"domain": metrics, "range": "category"},
            "title": None,
        }
    }
    values = [
        {"row": m.row, "metric": m.metric, "ratio": m.ratio, "verdict": m.verdict}
        | ({"low": m.low, "high": m.high} if isfinite(m.high) else {})
        for m in marks
    ]
    tooltip = [{"field": name} for name in ("row", "metric", "verdict")]
    band = {"low": 1 / (1 + relevant_ratio), "high": 1 + relevant_ratio}
    layers: list[Spec] = [
        {
            "data": {"values": [band]},
            "mark": {"type": "rect", "style": "window"},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2, "clip": True},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": y, **offset, **colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1, "clip": True},
            "encoding": {"x": {"field": "ratio", **x}, "y": y, **offset, **colour, "tooltip": tooltip},
        },
    ]
    height = max(60, _ROW_HEIGHT * len(rows) * max(1, len(metrics)))
    return titled(
        {"width": FULL_WIDTH - 200, "height": height, "data": {"values": values}, "layer": layers},
        title,
        notes,
    )


def beside(pairs: Sequence[Beside], paper: str, title: str, notes: Sequence[str]) -> Spec:
    """Draw measured and published values next to each other, a panel for each metric and direction."""
    names = ["here", paper]
    panels: list[Spec] = []
    for panel in dict.fromkeys(pair.panel for pair in pairs):
        values = [
            {"row": pair.row, "series": name, "value": value}
            for pair in pairs
            if pair.panel == panel
            for name, value in zip(names, (pair.measured, pair.published), strict=True)
        ]
        panels.append(
            {
                "title": {"text": panel, "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8},
                "width": 300,
                "height": 220,
                "data": {"values": values},
                "mark": "bar",
                "encoding": {
                    "x": {"field": "row", "type": "nominal", "title": None},
                    "xOffset": {"field": "series", "scale": {"domain": names}},
                    "y": {"field": "value", "type": "quantitative", "title": panel.split(",")[0]},
                    "color": {
                        "field": "series",
                        "type": "nominal",
                        "scale": {"domain": names, "range": "category"},
                        "title": None,
                    },
                    "tooltip": [{"field": name} for name in ("row", "series", "value")],
                },
            }
        )
    return titled({"concat": panels, "columns": 2, "spacing": 24}, title, notes)
