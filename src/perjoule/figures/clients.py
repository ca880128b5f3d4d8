"""Parts that figures against clients share: read left, write right, means with intervals, and a point per
repetition.
"""

from collections.abc import Sequence
from math import isfinite, log10
from statistics import median

from perjoule.figures.loads import load_names
from perjoule.figures.printed import PaperNumber, columns
from perjoule.figures.vega import PANEL_WIDTH, Spec, layered, titled
from perjoule.model import Cell, Interval
from perjoule.model.format import number
from perjoule.model.metrics import Metric, metric_of
from perjoule.model.units import clients_text

DIRECTIONS = ("read", "write", "mixed")
INTERVALS = "mean, 95 % interval, and a small mark for each repetition"
MEDIANS = "median and range where the table has them"
HEIGHT = 240
# times the mean: an interval that ends beyond it would press all others together, and gets an arrow
WIDEST = 2.0
ARROW = "arrow"
TOOLTIP = (
    {"field": "filesystem", "title": "file system"},
    {"field": "workload", "title": "workload"},
    {"field": "clients", "title": "clients"},
)


def filesystems(cells: Sequence[Cell]) -> list[str]:
    """List the file systems in order of appearance, which determines their colours."""
    return list(dict.fromkeys(cell.legend for cell in cells))


def colour(names: Sequence[str]) -> Spec:
    """Describe the colour of a file system."""
    return {
        "field": "filesystem",
        "type": "nominal",
        "scale": {"domain": list(names), "range": "category"},
        "title": None,
    }


def shape(names: Sequence[str]) -> Spec:
    """Describe the shape of a file system, which repeats its colour."""
    return {
        "field": "filesystem",
        "type": "nominal",
        "scale": {"domain": list(names), "range": "symbol"},
        "title": None,
    }


def interval_text(interval: Interval, per: float) -> str:
    """Print an interval in units of `per`, or that it is missing."""
    if not isfinite(interval.high - interval.low):
        return "none (one repetition)"
    return f"{number(interval.low / per)} to {number(interval.high / per)}"


def in_units(interval: Interval, per: float) -> Interval:
    """Return an interval in units of `per`."""
    return Interval(
        interval.mean / per,
        interval.low / per,
        interval.high / per,
        tuple(value / per for value in interval.values),
    )


def against_clients(
    cells: Sequence[Cell],
    metric: str,
    *,
    axis: str,
    title: str,
    notes: Sequence[str],
    bounds: Sequence[tuple[float, str]] = (),
    logarithmic: bool = False,
    by_median: Sequence[Cell] = (),
    printed: Sequence[PaperNumber] = (),
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
        by_median: those whose repetitions have no useful mean, as `statistics.modes.summarised_by_median` says.
        printed: a paper's numbers.
    """
    by_median = () if printed else by_median  # papers are held against means
    of = metric_of(metric)
    per = of.unit.per
    with_metric = [cell for cell in cells if metric in cell.metrics]
    names = filesystems(cells)
    also = [*(value for value, _ in bounds), *(number.value for number in printed)]
    intervals = [drawn(cell, metric, by_median) for cell in with_metric]
    low, high = _domain(intervals, also, logarithmic=logarithmic)
    frame = (low / per, high / per)
    y = {
        "type": "quantitative",
        "title": f"{of.label}, {axis}",
        "scale": {"domain": list(frame), "nice": False} | ({"type": "log"} if logarithmic else {}),
        # The rule of a bound would take the grid away. Vega leaves out labels of a logarithmic axis where
        # they could touch.
        "axis": {"grid": True} | ({"values": _ticks(*frame), "labelOverlap": False} if logarithmic else {}),
    }
    panels = [
        _panel(loads_cells, of, y, names, title, bounds, frame, by_median, printed)
        for title, loads_cells in _panels(with_metric).items()
    ]
    if any(
        layer.get("style") == ARROW
        for panel in panels
        for layer in (layer["mark"] for layer in panel["layer"])
    ):
        notes = [*notes, "arrow: the interval continues beyond the frame"]
    if any(cell in by_median for cell in with_metric):
        notes = [*notes, MEDIANS]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, title, notes)


def _panels(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Return the cells of each panel, which is one load."""
    ordered = sorted(
        (cell for cell in cells if cell.direction in DIRECTIONS),
        key=lambda cell: DIRECTIONS.index(cell.direction),
    )
    by_load: dict[str, list[Cell]] = {}
    for load, name in load_names((cell.workload, cell.direction) for cell in ordered).items():
        by_load[panel_title(name)] = [cell for cell in ordered if (cell.workload, cell.direction) == load]
    return by_load


def panel_title(load: str) -> str:
    """Return a load's name as a title."""
    return load.capitalize() if load in (*DIRECTIONS, "idle") else load


def drawn(cell: Cell, key: str, by_median: Sequence[Cell]) -> Interval:
    """Return what is drawn of a metric: its mean and interval, or median and range."""
    interval = cell.metrics[key]
    if cell not in by_median:
        return interval
    values = interval.values
    return Interval(median(values), min(values), max(values), values)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis, the fewer in a decade the more decades there are."""
    digits = (1, 1.5, 2, 3, 5, 7) if high < 20 * low else (1, 2, 5) if high < 1000 * low else (1,)
    exponents = range(int(log10(low) // 1), int(log10(high) // 1) + 1)
    values = [float(f"{digit}e{exponent}") for exponent in exponents for digit in digits]
    return [value for value in values if low <= value <= high]


def _domain(
    intervals: Sequence[Interval], bounds: Sequence[float], *, logarithmic: bool
) -> tuple[float, float]:
    """Return the ends of the axis: all repetitions and bounds, and all intervals that are not wider than
    their mean.
    """
    values = [v for interval in intervals for v in interval.values]
    highs = [interval.high for interval in intervals if interval.high <= WIDEST * interval.mean]
    lows = [interval.low for interval in intervals if interval.low * WIDEST >= interval.mean]
    top = max([*values, *highs, *bounds], default=1.0)
    if not logarithmic:
        return 0.0, 1.06 * top
    return min([*values, *lows], default=1.0) / 1.12, 1.15 * top


def _panel(
    cells: Sequence[Cell],
    metric: Metric,
    y: Spec,
    names: Sequence[str],
    title: str,
    bounds: Sequence[tuple[float, str]],
    frame: tuple[float, float],
    by_median: Sequence[Cell],
    printed: Sequence[PaperNumber],
) -> Spec:
    centres, values = _rows(cells, metric, frame, by_median)
    layers = _measured(centres, values, y, names)
    ours = [number for number in printed if number.cell in cells]
    layers += _beside(ours, metric, y, names) if ours else []
    scale: Spec = {"padding": 0.35, "domain": columns(cells, ours)}
    x: Spec = {"field": "clients", "type": "ordinal", "title": "clients", "scale": scale}
    for layer in layers:  # not on the shared encoding: bounds have no clients
        layer["encoding"] |= {"x": x, "xOffset": {"field": "filesystem", "scale": {"domain": list(names)}}}
    for value, text in bounds:
        layers[:0] = _bound(value / metric.unit.per, text, y)
    heading = {"text": title, "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8}
    return layered(centres, layers, PANEL_WIDTH, HEIGHT, title=heading)


def _rows(
    cells: Sequence[Cell], metric: Metric, frame: tuple[float, float], by_median: Sequence[Cell]
) -> tuple[list[Spec], list[Spec]]:
    """Return the data: the mean or median of each cell, with as much of its interval or range as is in the
    frame; and all repetitions.
    """
    per, unit = metric.unit.per, metric.unit.symbol
    floor, top = frame
    centres: list[Spec] = []
    values: list[Spec] = []
    for cell in cells:
        interval = drawn(cell, metric.key, by_median)
        key = {"filesystem": cell.legend, "workload": cell.workload, "clients": cell.clients_count}
        finite = isfinite(interval.high - interval.low)
        centres.append(
            key
            | {
                "shown": "median and range" if cell in by_median else "mean and 95 % interval",
                "centre": interval.mean / per,
                "low": max(interval.low / per, floor) if finite else None,
                "high": min(interval.high / per, top) if finite else None,
                "more": top if finite and interval.high / per > top else None,
                "less": floor if finite and floor > 0 and interval.low / per < floor else None,
                "value": f"{number(interval.mean / per)} {unit}".strip(),
                "interval": interval_text(interval, per),
                "n": len(interval.values),
            }
        )
        values += [
            key | {"one": v / per, "value": f"{number(v / per)} {unit}".strip()} for v in interval.values
        ]
    return centres, values


def _measured(centres: Sequence[Spec], values: Sequence[Spec], y: Spec, names: Sequence[str]) -> list[Spec]:
    """Return the layers of what was measured: intervals, arrows where they leave the frame, repetitions,
    and means or medians on top.
    """
    intervals: Spec = {
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.75},
        "transform": [{"filter": "isValid(datum.low)"}],
        "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}, "color": colour(names)},
    }
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {"y": {"field": "centre", **y}, "color": colour(names)},
    }
    arrows: list[Spec] = [
        {
            "mark": {
                "type": "point",
                "shape": f"triangle-{point}",
                "filled": True,
                "size": 40,
                "yOffset": shift,
                "style": ARROW,
            },
            "transform": [{"filter": f"isValid(datum.{end})"}],
            "encoding": {"y": {"field": end, **y}, "color": colour(names)},
        }
        for end, point, shift in (("more", "up", 4), ("less", "down", -4))
        if any(row[end] is not None for row in centres)
    ]
    repetitions: Spec = {
        "data": {"values": values},
        "mark": {"type": "point", "size": 22, "opacity": 0.55, "strokeWidth": 1.2},
        "encoding": {
            "y": {"field": "one", **y},
            "color": colour(names),
            "shape": shape(names),
            "tooltip": [*TOOLTIP, {"field": "value", "title": "this repetition"}],
        },
    }
    on_top: Spec = {
        "mark": {"type": "point", "filled": True, "size": 85, "opacity": 1, "style": ["point", "mean"]},
        "encoding": {
            "y": {"field": "centre", **y},
            "color": colour(names),
            "shape": shape(names),
            "tooltip": [
                *TOOLTIP,
                {"field": "shown", "title": "shown"},
                {"field": "value", "title": "value"},
                {"field": "interval", "title": "interval"},
                {"field": "n", "title": "repetitions"},
            ],
        },
    }
    # Several file systems stand beside each other at a number of clients, so a line between two of them would
    # mislead.
    lines = [line] if len(names) == 1 else []
    return [intervals, *lines, *arrows, repetitions, on_top]


def _bound(value: float, text: str, y: Spec) -> list[Spec]:
    """Return the layers of a horizontal rule, and of its label where few clients have the least to draw."""
    datum = {"datum": value, **y}
    return [
        {"data": {"values": [{}]}, "mark": {"type": "rule", "style": "bound"}, "encoding": {"y": datum}},
        {
            "data": {"values": [{}]},
            "mark": {
                "type": "text",
                "align": "left",
                "baseline": "bottom",
                "dx": 2,
                "dy": -2,
                "fontSize": 11,
                "text": text,
            },
            "encoding": {"y": datum, "x": {"value": 0}},
        },
    ]


def _beside(printed: Sequence[PaperNumber], metric: Metric, y: Spec, names: Sequence[str]) -> list[Spec]:
    """Return the layers of a paper's numbers, and of the largest measured values next to its largest ones."""
    per, unit = metric.unit.per, metric.unit.symbol
    printed_rows: list[Spec] = []
    here: list[Spec] = []
    for from_paper in printed:
        key = {
            "filesystem": from_paper.cell.legend,
            "workload": from_paper.cell.workload,
            "clients": from_paper.column,
        }
        printed_rows.append(key | {"printed": from_paper.value / per, "value": from_paper.text})
        if from_paper.largest is not None:
            text = f"{number(from_paper.largest / per)} {unit}, {clients_text(from_paper.cell.clients_count)}"
            here.append(key | {"own": from_paper.largest / per, "value": text})
    largest: Spec = {
        "data": {"values": here},
        "mark": {"type": "point", "filled": True, "size": 85, "opacity": 1, "style": ["point", "mean"]},
        "encoding": {
            "y": {"field": "own", **y},
            "color": colour(names),
            "shape": shape(names),
            "tooltip": [*TOOLTIP, {"field": "value", "title": "largest repetition"}],
        },
    }
    bars: Spec = {
        "data": {"values": printed_rows},
        "mark": {
            "type": "tick",
            "orient": "horizontal",
            "size": 20,
            "thickness": 3,
            "opacity": 1,
            "style": ["tick", "panel"],
        },
        "encoding": {
            "y": {"field": "printed", **y},
            "tooltip": [*TOOLTIP, {"field": "value", "title": "the paper"}],
        },
    }
    return [*([largest] if here else []), bars]
