"""One trial over time: MiB/s by client, watts by component, CPU and network by host, stacked vertically."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from perjoule.figures.vega import DASHES, FULL_WIDTH, Spec, quantitative, titled, tooltip_of
from perjoule.model.metrics import POWER, THROUGHPUT, metric_of
from perjoule.views.content import Content
from perjoule.views.view import View

if TYPE_CHECKING:
    from perjoule.summary.timeline import Timeline


NAME = "timeline"

LETTER = 6  # px of a phase's name
ROOM = 1.06  # above the highest value
RATE, WATTS = metric_of(THROUGHPUT).unit.symbol, metric_of(POWER).unit.symbol
ROWS = {
    "rate": f"{RATE} by client",
    "watts": f"{WATTS} by component",
    "cpu": "cores used by host",
    "network": f"{RATE} sent by host",
}


def timeline(*, notes: Sequence[str] = ()) -> Spec:
    """Draw phases and four rows from the datasets that `completed` adds."""
    rows = [_row(name, title, last=name == "network") for name, title in ROWS.items()]
    resolve: Spec = {"scale": {"color": "independent", "strokeDash": "independent", "x": "shared"}}
    return titled(
        {"vconcat": [_phases(), *rows], "spacing": 14, "resolve": resolve}, "One trial over time", notes
    )


def completed(spec: Spec, line: "Timeline") -> Spec:
    """Add the data to `timeline` and keep the rows that have any: Vega finds no finite size for an empty one.

    The last row gets the time axis, every host one style in all rows, and lines stay inside of their frames.
    The report's page does the same in JavaScript.
    """
    rows_of, copy = datasets(line), deepcopy(spec)
    first, *others_specs = copy["vconcat"]
    rows = [row for row in others_specs if rows_of[row["layer"][1]["data"]["name"]]]
    hosts = list(dict.fromkeys(name for row in ROWS if row != "watts" for name in line.rows.get(row, {})))
    for row in rows:
        encoding, name = row["layer"][1]["encoding"], row["layer"][1]["data"]["name"]
        encoding["y"]["scale"] = {
            "domainMin": 0,
            "domainMax": ROOM * (top(rows_of[name], stacked=name == "watts") or 1),
            "nice": False,
        }
        if name != "watts":
            for channel in ("color", "strokeDash"):
                encoding[channel]["scale"]["domain"] = hosts
            encoding["color"]["legend"]["values"] = [host for host in hosts if host in line.rows[name]]
            encoding["strokeDash"]["legend"] = encoding["color"]["legend"]
    for row in rows[-1:]:
        row["layer"][1]["encoding"]["x"] = copy["vconcat"][-1]["layer"][1]["encoding"]["x"]
    return {**copy, "vconcat": [*([first] if rows_of["phases"] and rows else []), *rows], "datasets": rows_of}


def top(rows: Sequence[Mapping[str, Any]], *, stacked: bool) -> float:
    """Return the highest value of a row, or of a row's stack."""
    sums: dict[float, float] = {}
    for row in rows:
        sums[row["t"]] = (
            sums.get(row["t"], 0.0) + row["value"] if stacked else max(sums.get(row["t"], 0.0), row["value"])
        )
    return max(sums.values(), default=0.0)


def datasets(line: "Timeline") -> Spec:
    """Lay a timeline out as the data rows that `timeline` draws."""
    whole_s = max((end_s for _, end_s in line.phases.values()), default=0) - min(
        (t for t, _ in line.phases.values()), default=0
    )
    rows_of: Spec = {
        "window": [{"begin": 0, "end": line.duration_s}],
        "phases": [
            {
                "begin": begin_s,
                "end": end_s,
                "name": name,
                "label": name if _has_room(name, end_s - begin_s, whole_s) else "",
            }
            for name, (begin_s, end_s) in line.phases.items()
        ],
        "marks": [{"t": t, "name": name} for name, t in line.marks.items()],
    }
    for row in ROWS:
        rows_of[row] = [
            {"t": t, "name": name, "value": value}
            for name, values in line.rows.get(row, {}).items()
            for t, value in zip(line.t_s, values, strict=True)
            if value is not None
        ]
    return rows_of


def _has_room(name: str, length_s: float, whole_s: float) -> bool:
    return length_s * FULL_WIDTH > LETTER * (len(name) + 1) * whole_s


def _phases() -> Spec:
    """Draw the phases as a strip above the rows."""
    x: Spec = {"field": "begin", "type": "quantitative", "title": None, "axis": None}
    tooltip = [{"field": "name", "title": "phase"}, {"field": "begin", "title": "from s", "format": ".2f"}]
    tooltip.append({"field": "end", "title": "to s", "format": ".2f"})
    strip: Spec = {
        "mark": {"type": "rect", "style": "phase"},
        "encoding": {"x": x, "x2": {"field": "end"}, "tooltip": tooltip},
    }
    text: Spec = {"type": "text", "align": "left", "dx": 4, "fontSize": 10, "style": "panel"}
    names: Spec = {"mark": text, "encoding": {"x": x, "text": {"field": "label"}}}
    return {"width": FULL_WIDTH, "height": 16, "data": {"name": "phases"}, "layer": [strip, names]}


def _row(name: str, title: str, *, last: bool) -> Spec:
    stacked = name == "watts"
    x = quantitative("seconds since the first client's start" if last else None, field="t")
    x["axis"] = {"labels": last, "ticks": last, "grid": False}
    y: Spec = {"field": "value", "type": "quantitative", "title": title, "stack": "zero" if stacked else None}
    legend: Spec = {"orient": "top", "columns": 6, "symbolType": "square" if stacked else "stroke"}
    color: Spec = {
        "field": "name",
        "type": "nominal",
        "legend": legend,
        "scale": {"range": "component" if stacked else "category"},
    }
    tooltip = [{"field": "name", "title": " "}, {"field": "value", "title": title, "format": ".2f"}]
    tooltip.append({"field": "t", "title": "s", "format": ".2f"})
    mark: Spec = (
        {"type": "area", "opacity": 0.85}
        if stacked
        else {"type": "line", "strokeWidth": 1.8, "point": {"size": 6}}
    )
    window: Spec = {
        "data": {"name": "window"},
        "mark": {"type": "rect", "style": "window"},
        "encoding": {"x": {"field": "begin", "type": "quantitative"}, "x2": {"field": "end"}},
    }
    lines: Spec = {
        "data": {"name": name},
        "mark": mark,
        "encoding": {"x": x, "y": y, "color": color, "tooltip": tooltip},
    }
    if not stacked:
        lines["encoding"]["strokeDash"] = {
            "field": "name",
            "type": "nominal",
            "legend": legend,
            "scale": {"range": DASHES},
        }
    at: Spec = {
        "x": {"field": "t", "type": "quantitative"},
        "tooltip": tooltip_of(name=" ", t="s"),
    }
    marks: Spec = {"data": {"name": "marks"}, "mark": {"type": "rule", "style": "bound"}, "encoding": at}
    return {"width": FULL_WIDTH, "height": 120, "layer": [window, lines, marks]}


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if content.timelines:
        hit = (
            "; and each event, and when the file system was healthy again"
            if any(r.events for r in content.records)
            else ""
        )
        dashed = f"grey: the headline window; dashed: the end of a write's burst and of its write-back{hit}"
        yield NAME, timeline(notes=[dashed, *content.power_notes])


VIEW = View(rank=230, figures=_figures)
