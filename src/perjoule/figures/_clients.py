"""Parts that figures against clients share: read left, write right, means with intervals, and a point per repetition."""

from collections.abc import Sequence
from math import isfinite

from perjoule.figures.vega import PANEL_WIDTH, Spec, titled
from perjoule.model import Cell, Interval
from perjoule.model.metrics import Metric, metric_of

DIRECTIONS = ("read", "write", "mixed")
HEIGHT = 240


def filesystems(cells: Sequence[Cell]) -> list[str]:
    """List the file systems in order of appearance, which determines their colours."""
    return list(dict.fromkeys(cell.legend for cell in cells))


def colour(names: Sequence[str]) -> Spec:
    """Describe the colour of a file system."""
    return {"field": "filesystem", "type": "nominal", "scale": {"domain": list(names), "range": "category"}, "title": None}


def shape(names: Sequence[str]) -> Spec:
    """Describe the shape of a file system, which repeats its colour."""
    return {"field": "filesystem", "type": "nominal", "scale": {"domain": list(names), "range": "symbol"}, "title": None}


def number(value: float) -> str:
    """Print a number with four significant digits, and never in powers of ten."""
    return f"{value:.4g}" if 1e-3 < abs(value) < 9999.5 else f"{value:.0f}" if abs(value) >= 1 else f"{value:.2g}"


def interval_text(interval: Interval, per: float) -> str:
    """Print an interval in units of `per`, or that it is missing."""
    if not isfinite(interval.high - interval.low):
        return "none (one repetition)"
    return f"{number(interval.low / per)} to {number(interval.high / per)}"


def against_clients(
    cells: Sequence[Cell],
    metric: str,
    *,
    axis: str,
    title: str,
    notes: Sequence[str],
    bounds: Sequence[tuple[float, str]] = (),
    logarithmic: bool = False,
) -> Spec:
    """Draw a metric against the number of clients.

    Args:
        cells: those without the metric are left out.
        metric: a key of `Cell.metrics`.
        axis: title of the vertical axis, behind the metric's label.
        title: of the figure.
        notes: lines of the subtitle.
        bounds: horizontal rules in SI units, each with its label.
        logarithmic: whether the vertical axis is.
    """
    of = metric_of(metric)
    per = of.unit.per
    shown = [cell for cell in cells if metric in cell.metrics]
    names = filesystems(cells)
    tops = [v / per for cell in shown for v in cell.metrics[metric].values] + [value / per for value, _ in bounds]
    floor = 0.9 if logarithmic else 0.0
    top = max(tops, default=1.0) * (1.15 if logarithmic else 1.06)
    y = {
        "type": "quantitative",
        "title": f"{of.label}, {axis}",
        "scale": {"domain": [floor, top], "nice": False} | ({"type": "log"} if logarithmic else {}),
    }
    panels = [
        _panel([c for c in shown if c.direction == d], of, y, names, d, bounds, floor)
        for d in DIRECTIONS
        if any(c.direction == d for c in shown)
    ]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, title, notes)


def _panel(
    cells: Sequence[Cell],
    metric: Metric,
    y: Spec,
    names: Sequence[str],
    direction: str,
    bounds: Sequence[tuple[float, str]],
    floor: float,
) -> Spec:
    several = len({(c.filesystem, c.workload) for c in cells}) > len({c.filesystem for c in cells})
    per, unit = metric.unit.per, metric.unit.symbol
    means: list[Spec] = []
    values: list[Spec] = []
    for cell in cells:
        interval = cell.metrics[metric.key]
        key = {"filesystem": cell.legend, "workload": cell.workload, "clients": cell.clients_count}
        finite = isfinite(interval.high - interval.low)
        means.append(
            key
            | {
                "mean": interval.mean / per,
                "low": max(interval.low / per, floor) if finite else None,
                "high": interval.high / per if finite else None,
                "value": f"{number(interval.mean / per)} {unit}".strip(),
                "interval": interval_text(interval, per),
                "n": len(interval.values),
            }
        )
        values += [key | {"one": v / per, "value": f"{number(v / per)} {unit}".strip()} for v in interval.values]
    ends = {"field": "low", **y}
    tooltip = [
        {"field": "filesystem", "title": "file system"},
        {"field": "workload", "title": "workload"},
        {"field": "clients", "title": "clients"},
    ]
    dash: Spec = {"strokeDash": {"field": "workload", "type": "nominal", "title": None}} if several else {}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "clip": True, "opacity": 0.75},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {"y": ends, "y2": {"field": "high"}, "color": colour(names)},
        },
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"y": {"field": "mean", **y}, "color": colour(names), "detail": {"field": "workload"}, **dash},
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "size": 22, "opacity": 0.55, "strokeWidth": 1.2},
            "encoding": {
                "y": {"field": "one", **y},
                "color": colour(names),
                "shape": shape(names),
                "tooltip": [*tooltip, {"field": "value", "title": "this repetition"}],
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 85, "opacity": 1, "style": ["point", "mean"]},
            "encoding": {
                "y": {"field": "mean", **y},
                "color": colour(names),
                "shape": shape(names),
                "tooltip": [
                    *tooltip,
                    {"field": "value", "title": "mean"},
                    {"field": "interval", "title": "95 % interval"},
                    {"field": "n", "title": "repetitions"},
                ],
            },
        },
    ]
    x: Spec = {"field": "clients", "type": "ordinal", "title": "clients", "scale": {"padding": 0.55}}
    for layer in layers:  # not on the shared encoding: the bounds below have no clients
        layer["encoding"] |= {"x": x, "xOffset": {"field": "filesystem", "scale": {"domain": list(names)}}}
    for value, text in bounds:
        datum = {"datum": value / per, **y}
        layers[:0] = [
            {"data": {"values": [{}]}, "mark": {"type": "rule", "style": "bound"}, "encoding": {"y": datum}},
            {
                "data": {"values": [{}]},
                "mark": {"type": "text", "align": "right", "baseline": "bottom", "dy": -4, "fontSize": 11, "text": text},
                "encoding": {"y": datum, "x": {"value": "width"}},
            },
        ]
    heading = {"text": direction.capitalize(), "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8}
    return {"title": heading, "width": PANEL_WIDTH, "height": HEIGHT, "data": {"values": means}, "layer": layers}
