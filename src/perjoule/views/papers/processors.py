"""CPU use of each server over time, beside the limit that a paper prints of its average.

Like figure 5.5 of "Benchmarking Storage Access Patterns: BeeGFS and CephFS".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perjoule.figures.vega import DASHES, PANEL_WIDTH, PERCENT, Spec, panel_title, quantitative, titled
from perjoule.model import Record
from perjoule.views.content import Content
from perjoule.views.performance.overhead import since_start, window

if TYPE_CHECKING:
    from perjoule.papers.published import PrintedNumber
    from perjoule.summary.timeline import Timeline

NOTE = "here: share of the processors that each server may use, one trial with the most clients"


@dataclass(frozen=True)
class CpuUse:
    """The share of its processors that each server used in one trial; `t_s` are the middles of steps, None is
    a gap.
    """

    title: str
    t_s: Sequence[float]
    duration_s: float  # of the headline window
    ratio_of: Mapping[str, Sequence[float | None]]  # by host


def of_servers(content: Content, labels: Collection[str]) -> tuple[CpuUse, ...]:
    """Return the CPU use of the first trial with the most clients of each of these file systems and
    direction.
    """
    first: dict[str, CpuUse] = {}
    for record, numbers in content.trials:
        line, traffic, label = numbers.timeline, numbers.overhead, record.trial.filesystem.label
        if line and traffic and record.trial.clients_count == content.most_count and label in labels:
            title = f"{label}, {traffic.direction}"
            if ratio_of := _ratios(record, line):
                first.setdefault(title, CpuUse(title, line.t_s, line.duration_s, ratio_of))
    return tuple(first[title] for title in sorted(first))


def _ratios(record: Record, line: "Timeline") -> Mapping[str, Sequence[float | None]]:
    cores_of = {h.name: h.cpu_capacity_cores for h in record.hosts if h.role != "client"}
    return {
        host: [None if used is None else used / cores_count for used in line.rows["cpu"][host]]
        for host, cores_count in cores_of.items()
        if cores_count and host in line.rows.get("cpu", {})
    }


def processors(
    uses: Sequence[CpuUse], printed: Sequence["PrintedNumber"], title: str, notes: Sequence[str]
) -> Spec:
    """Draw a panel for each trial; dashed, what the paper prints of the average."""
    limits = [{"value": number.high, "name": f"{number.printed}, {number.place}"} for number in printed]
    said = [f"dashed: printed of the average, {limit['name']}" for limit in limits]
    panels = [_panel(use, limits) for use in uses]
    alone: Spec = {"scale": {"color": "independent", "strokeDash": "independent"}}
    spec: Spec = {"concat": panels, "columns": 2, "spacing": 24, "resolve": alone}
    return titled(spec, title, [*said, *notes])


def _panel(use: CpuUse, limits: Sequence[Spec]) -> Spec:
    rows: list[Spec] = [
        {"t": t, "name": host, "value": value}
        for host, values in use.ratio_of.items()
        for t, value in zip(use.t_s, values, strict=True)
        if value is not None
    ]
    # its square root shows the paper's small limit beside larger shares
    highest = 1.06 * max((row["value"] for row in (*rows, *limits)), default=1.0)
    scale: Spec = {"type": "sqrt", "domain": [0, highest], "nice": False}
    axis: Spec = {"labelExpr": PERCENT, "tickCount": 4}
    y = quantitative("CPU use", field="value", scale=scale, axis=axis)
    legend: Spec = {"orient": "top", "columns": 3, "symbolType": "stroke", "title": None}
    host: Spec = {"field": "name", "type": "nominal", "legend": legend}
    names = list(use.ratio_of)
    lines: Spec = {
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": since_start(labelled=True),
            "y": y,
            "color": {**host, "scale": {"domain": names, "range": "category"}},
            "strokeDash": {**host, "scale": {"domain": names, "range": DASHES}},
            "tooltip": [
                {"field": "name", "title": " "},
                {"field": "value", "title": "CPU use", "format": ".1%"},
                {"field": "t", "title": "s"},
            ],
        },
    }
    limit: Spec = {
        "data": {"values": list(limits)},
        "mark": {"type": "rule", "style": "bound"},
        "encoding": {"y": y, "tooltip": {"field": "name", "title": "printed"}},
    }
    return {
        "title": panel_title(use.title),
        "width": PANEL_WIDTH,
        "height": 110,
        "layer": [window(use.duration_s), lines, limit],
    }


def drawing(
    content: Content, labels: Collection[str], printed: Sequence["PrintedNumber"], title: str
) -> Iterator[Spec]:
    """Draw the CPU use of these file systems' servers, if hosts counted it."""
    if uses := of_servers(content, labels):
        yield processors(uses, printed, title, [NOTE, *content.notes])
