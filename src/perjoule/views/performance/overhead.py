"""Network traffic of servers against traffic of their disks (received and written, sent and read) over time,
and disk use.

Like figures 5.6 to 5.8 of "Benchmarking Storage Access Patterns: BeeGFS and CephFS".
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perjoule.figures.vega import DASHES, PANEL_WIDTH, PERCENT, Spec, panel_title, quantitative, titled
from perjoule.model.metrics import THROUGHPUT, metric_of
from perjoule.model.units import clients_text
from perjoule.views.content import Content
from perjoule.views.view import View

if TYPE_CHECKING:
    from perjoule.summary.traffic import Overhead


RATE = metric_of(THROUGHPUT).unit.symbol
ALONE = {"color": "independent", "strokeDash": "independent"}
PAIRS = {"write": ("network received", "disk written"), "read": ("network sent", "disk read")}


def overhead(trials: Sequence["Overhead"], *, notes: Sequence[str] = ()) -> Spec:
    """Draw a panel for each trial: network and disk over time, and below them the share of disk use.

    Args:
        trials: one for each file system and direction, reads left and writes right if there are both.
        notes: lines of the subtitle.
    """
    ordered = sorted(trials, key=lambda trial: (trial.title, trial.direction))
    panels = [_panel(trial) for trial in ordered]
    resolve: Spec = {"scale": ALONE}
    return titled(
        {"concat": panels, "columns": 2, "spacing": 24, "resolve": resolve}, "Network and disk traffic", notes
    )


def _panel(trial: "Overhead") -> Spec:
    names = PAIRS[trial.direction]
    rows = [
        {"t": t, "name": name, "value": value}
        for name, values in zip(names, (trial.network, trial.disk), strict=True)
        for t, value in zip(trial.t_s, values, strict=True)
        if value is not None
    ]
    use = [{"t": t, "value": v} for t, v in zip(trial.t_s, trial.use_ratio, strict=True) if v is not None]
    legend: Spec = {"orient": "top", "symbolType": "stroke", "title": None}
    series: Spec = {"field": "name", "type": "nominal", "legend": legend}
    color: Spec = {**series, "scale": {"domain": list(names), "range": "category"}}
    dash: Spec = {**series, "scale": {"domain": list(names), "range": DASHES}}
    highest = 1.06 * max(
        (v for values in (trial.network, trial.disk) for v in values if v is not None), default=1.0
    )
    tooltip = [
        {"field": "name", "title": " "},
        {"field": "value", "title": RATE, "format": ".1f"},
        {"field": "t", "title": "s"},
    ]
    rate: Spec = _y(RATE) | {"scale": {"domain": [0, highest or 1.0], "nice": False}}
    lines: Spec = {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": since_start(labelled=not use),
            "y": rate,
            "color": color,
            "strokeDash": dash,
            "tooltip": tooltip,
        },
    }
    stack: list[Spec] = [{"width": PANEL_WIDTH, "height": 110, "layer": [window(trial.duration_s), lines]}]
    if use:
        use_tooltip = [
            {"field": "value", "title": f"of {trial.use}", "format": ".0%"},
            {"field": "t", "title": "s"},
        ]
        y = _y("disk use") | {
            "scale": {"domain": [0, 1], "clamp": True},
            "axis": {"labelExpr": PERCENT, "tickCount": 2},
        }
        area: Spec = {
            "data": {"values": use},
            "mark": {"type": "area", "opacity": 0.5, "line": True},
            "encoding": {"x": since_start(labelled=True), "y": y, "tooltip": use_tooltip},
        }
        stack.append({"width": PANEL_WIDTH, "height": 44, "layer": [window(trial.duration_s), area]})
    return {
        "title": panel_title(f"{trial.title}, {trial.direction}"),
        "vconcat": stack,
        "spacing": 6,
        "resolve": {"scale": {"x": "shared"} | ALONE},
    }


def since_start(*, labelled: bool) -> Spec:
    """Encode the time axis of a panel."""
    title = "seconds since the first client's start" if labelled else None
    return quantitative(
        title, field="t", axis={"labels": labelled, "ticks": labelled, "grid": False, "tickCount": 5}
    )


def _y(title: str) -> Spec:
    return {"field": "value", "type": "quantitative", "title": title}


def window(duration_s: float) -> Spec:
    """Draw the headline window of a trial."""
    return {
        "data": {"values": [{"begin": 0, "end": duration_s}]},
        "mark": {"type": "rect", "style": "window"},
        "encoding": {"x": {"field": "begin", "type": "quantitative"}, "x2": {"field": "end"}},
    }


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if content.overheads:
        trials = f"storage hosts together, one trial with {clients_text(content.most_count)} each"
        notes = [f"{trials}; grey: the headline window, then the tail", *content.notes]
        yield "overhead", overhead(content.overheads, notes=notes)


VIEW = View(rank=160, figures=_figures)
