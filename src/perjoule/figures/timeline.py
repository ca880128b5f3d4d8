"""One trial over time: MiB/s by client, watts by component, CPU and network by host, stacked vertically."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from perjoule.figures.vega import FULL_WIDTH, Spec, titled
from perjoule.model.metrics import metric_of

LABELLED_RATIO = 0.08  # of the whole time, from which a phase has room for its name
RATE, POWER = metric_of("throughput_bytes_per_s").unit.symbol, metric_of("mean_w").unit.symbol
ROWS = {
    "rate": f"{RATE} by client",
    "watts": f"{POWER} by component",
    "cpu": "cores used by host",
    "network": f"{RATE} sent by host",
}


@dataclass(frozen=True)
class Timeline:
    """Rates on one time grid: `t_s` are the middles of its steps, 0 is the first client's start; None is a gap."""

    t_s: Sequence[float]
    duration_s: float  # of the headline window
    rows: Mapping[str, Mapping[str, Sequence[float | None]]]  # "rate", "watts", "cpu", "network" -> name -> value per step
    phases: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])  # name -> begin, end
    marks: Mapping[str, float] = field(default_factory=dict[str, float])  # what happened -> when: "burst ends"


def timeline(*, notes: Sequence[str] = ()) -> Spec:
    """Draw four rows from the datasets named after them and "window", "phases" and "marks", which `completed` returns."""
    rows = [_row(name, title, last=name == "network") for name, title in ROWS.items()]
    resolve: Spec = {"scale": {"color": "independent", "x": "shared"}}
    return titled({"vconcat": rows, "spacing": 14, "resolve": resolve}, "One trial over time", notes)


def completed(spec: Spec, line: Timeline) -> Spec:
    """Add the data to `timeline` and keep the rows that have any: Vega finds no finite size for an empty one.

    The last row gets the time axis. The report's page does the same in JavaScript.
    """
    data, whole = datasets(line), deepcopy(spec)
    rows = [row for row in whole["vconcat"] if data[row["layer"][1]["data"]["name"]]]
    for row in rows[-1:]:
        row["layer"][1]["encoding"]["x"] = whole["vconcat"][-1]["layer"][1]["encoding"]["x"]
    return {**whole, "vconcat": rows, "datasets": data}


def datasets(line: Timeline) -> Spec:
    """Lay a timeline out as the data rows that `timeline` draws."""
    whole_s = max((end_s for _, end_s in line.phases.values()), default=0) - min((t for t, _ in line.phases.values()), default=0)
    found: Spec = {
        "window": [{"begin": 0, "end": line.duration_s}],
        "phases": [
            {"begin": begin_s, "name": name, "label": name if end_s - begin_s > LABELLED_RATIO * whole_s else ""}
            for name, (begin_s, end_s) in line.phases.items()
        ],
        "marks": [{"t": t, "name": name} for name, t in line.marks.items()],
    }
    for row in ROWS:
        found[row] = [
            {"t": t, "name": name, "value": value}
            for name, values in line.rows.get(row, {}).items()
            for t, value in zip(line.t_s, values, strict=True)
            if value is not None
        ]
    return found


def _row(name: str, title: str, *, last: bool) -> Spec:
    stacked = name == "watts"
    x: Spec = {"field": "t", "type": "quantitative", "title": "seconds since the first client's start" if last else None}
    x["axis"] = {"labels": last, "ticks": last, "grid": False}
    y: Spec = {"field": "value", "type": "quantitative", "title": title, "stack": "zero" if stacked else None}
    legend: Spec = {"orient": "top", "columns": 6, "symbolType": "square", "labelLimit": 90}
    color: Spec = {
        "field": "name",
        "type": "nominal",
        "legend": legend,
        "scale": {"range": "component" if stacked else "category"},
    }
    tooltip = [{"field": "name", "title": " "}, {"field": "value", "title": title, "format": ".2f"}]
    tooltip.append({"field": "t", "title": "s", "format": ".2f"})
    mark: Spec = {"type": "area", "opacity": 0.85} if stacked else {"type": "line", "strokeWidth": 1.5, "point": {"size": 12}}
    window: Spec = {
        "data": {"name": "window"},
        "mark": {"type": "rect", "style": "window"},
        "encoding": {"x": {"field": "begin", "type": "quantitative"}, "x2": {"field": "end"}},
    }
    lines: Spec = {"data": {"name": name}, "mark": mark, "encoding": {"x": x, "y": y, "color": color, "tooltip": tooltip}}
    begun: Spec = {"x": {"field": "begin", "type": "quantitative"}, "tooltip": [{"field": "name", "title": "begins"}]}
    phases: Spec = {"data": {"name": "phases"}, "mark": {"type": "tick", "orient": "vertical", "height": 10}, "encoding": begun}
    phases["encoding"] = {**begun, "y": {"value": -6}}
    text: Spec = {"type": "text", "align": "left", "dx": 3, "fontSize": 9}
    names: Spec = {"data": {"name": "phases"}, "mark": text}
    names["encoding"] = {**begun, "y": {"value": -6}, "text": {"field": "label"}}
    at: Spec = {
        "x": {"field": "t", "type": "quantitative"},
        "tooltip": [{"field": "name", "title": " "}, {"field": "t", "title": "s"}],
    }
    marks: Spec = {"data": {"name": "marks"}, "mark": {"type": "rule", "style": "bound"}, "encoding": at}
    return {"width": FULL_WIDTH, "height": 120, "layer": [window, lines, phases, names, marks]}
