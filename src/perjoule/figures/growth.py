"""A metric against the number of storage hosts, or against load, with an ideal line and the fitted law or
curve.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.figures.clients import colour, interval_text, shape
from perjoule.figures.vega import PANEL_WIDTH, Spec, quantitative, titled
from perjoule.model import Interval
from perjoule.model.format import number

MARGIN = 10  # px between the outermost marks and the ends of the axis, whose labels they would cover


@dataclass(frozen=True)
class Growth:
    """One file system in one panel, in units of the axis."""

    panel: str  # "write, 2 clients: MiB/s"
    axis: str
    filesystem: str
    values: Mapping[float, Interval]  # by number of storage hosts, or by load in %
    ideal: Sequence[tuple[float, float]]  # points of the ideal line
    law: Sequence[tuple[float, float]]  # points of the fitted law, or of the curve; empty without one
    law_text: str = ""


def growth(
    growths: Sequence[Growth],
    *,
    title: str,
    axis: str,
    ticks: Sequence[float] = (),
    notes: Sequence[str] = (),
) -> Spec:
    """Draw a panel for each workload, direction, number of clients and metric; `axis` is the horizontal one.

    `ticks` are its own; without any, the values are.

    Dashed is the ideal line, solid the fitted law; marks are means with their 95 % interval and a small mark
    for each repetition.
    """
    names = list(dict.fromkeys(growth.filesystem for growth in growths))
    panels = [
        _panel(panel, [growth for growth in growths if growth.panel == panel], names, axis, ticks)
        for panel in dict.fromkeys(growth.panel for growth in growths)
    ]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, title, notes)


def _panel(
    title: str, growths: Sequence[Growth], names: Sequence[str], axis: str, ticks: Sequence[float]
) -> Spec:
    means, each = _rows(growths)
    lines = {name: [_points(g, getattr(g, name)) for g in growths] for name in ("ideal", "law")}
    top = 1.06 * max([row["one"] for row in each] + [row["y"] for rows in lines["ideal"] for row in rows])
    counts = sorted({n for growth in growths for n in growth.values})
    x = quantitative(
        axis,
        field="servers",
        axis={"values": list(ticks or counts), "grid": False},
        scale={"domain": [0, counts[-1]], "padding": MARGIN, "nice": False},
    )
    y: Spec = {"type": "quantitative", "title": growths[0].axis, "scale": {"domain": [0, top], "nice": False}}
    tooltip = [
        {"field": "filesystem", "title": "file system"},
        {"field": "servers", "title": axis, "format": ".4g"},
        {"field": "value", "title": "mean"},
        {"field": "interval", "title": "95 % interval"},
        {"field": "law"},
    ]
    layers: list[Spec] = [
        {
            "data": {"values": [row for rows in lines[name] for row in rows]},
            "mark": {"type": "line", "clip": True, **style},
            "encoding": {"y": {"field": "y", **y}},
        }
        for name, style in (
            ("ideal", {"strokeWidth": 1.2, "strokeDash": [5, 4]}),
            ("law", {"strokeWidth": 2}),
        )
        if any(lines[name])
    ]
    layers += [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "clip": True, "opacity": 0.75},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
        },
        {
            "data": {"values": each},
            "mark": {"type": "point", "size": 22, "opacity": 0.55, "strokeWidth": 1.2},
            "encoding": {"y": {"field": "one", **y}, "shape": shape(names)},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 85, "opacity": 1},
            "encoding": {"y": {"field": "mean", **y}, "shape": shape(names), "tooltip": tooltip},
        },
    ]
    for layer in layers:
        layer["encoding"] |= {"x": x, "color": colour(names)}
    heading = {"text": title, "fontSize": 12, "anchor": "start", "frame": "group", "offset": 8}
    return {"title": heading, "width": PANEL_WIDTH, "height": 220, "data": {"values": means}, "layer": layers}


def _rows(growths: Sequence[Growth]) -> tuple[list[Spec], list[Spec]]:
    """Return the data: the mean for each number of hosts, with its interval; and all values."""
    means: list[Spec] = []
    each: list[Spec] = []
    for growth in growths:
        for n, interval in growth.values.items():
            finite = isfinite(interval.high - interval.low)
            key = {"filesystem": growth.filesystem, "servers": n}
            means.append(
                key
                | {
                    "mean": interval.mean,
                    "low": max(0.0, interval.low) if finite else None,
                    "high": interval.high if finite else None,
                    "value": f"{number(interval.mean)} {growth.axis}",
                    "interval": interval_text(interval, 1.0),
                    "law": growth.law_text,
                }
            )
            each += [key | {"one": value} for value in interval.values]
    return means, each


def _points(growth: Growth, line: Sequence[tuple[float, float]]) -> list[Spec]:
    return [{"filesystem": growth.filesystem, "servers": n, "y": value} for n, value in line]
