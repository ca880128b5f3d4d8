"""Events: rate, power and latency before, during and after them, the cost of healing, and what users lost."""

from collections.abc import Iterator, Sequence
from math import isfinite

from perjoule.figures.vega import PANEL_WIDTH, Spec, labels, layered, panel_title, titled, tooltip_of
from perjoule.model import Cell
from perjoule.model.format import any_number
from perjoule.model.metrics import LATENCY, METRICS, STAGES, metric_of
from perjoule.model.units import clients_text
from perjoule.results.table import OF_REPETITIONS, PLACE, Table, heading, place, value_text
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

PANELS = {
    "throughput of all clients": "event_{}_bytes_per_s",
    "power of the servers": "event_{}_w",
    "99th percentile of latency": "event_{}_latency_p99_s",
}
HEIGHT = 190


def events(cells: Sequence[Cell], *, notes: Sequence[str] = ()) -> Spec:
    """Draw each cell with stages: a panel each for throughput, power and latency, the stages on x, means
    with 95 % intervals.
    """
    names = _names(cells)
    stages = [
        stage
        for stage in STAGES
        if any(key.format(stage) in cell.metrics for cell in cells for key in PANELS.values())
    ]
    panels = [_panel(title, key, cells, names, stages) for title, key in PANELS.items()]
    # without a load there are no throughput and no latency
    drawn = [panel for panel in panels if panel["data"]["values"]]
    return titled({"concat": drawn, "columns": 2, "spacing": 24}, "Before, during and after events", notes)


def drawable(cells: Sequence[Cell]) -> bool:
    """Whether any cell has a stage."""
    return any(
        key.format(stage) in cell.metrics for cell in cells for stage in STAGES for key in PANELS.values()
    )


def _names(cells: Sequence[Cell]) -> list[str]:
    """Name each cell by its file system, and by what else tells cells apart."""
    parts = [(cell.workload, cell.direction, clients_text(cell.clients_count)) for cell in cells]
    telling = [n for n in range(3) if len({part[n] for part in parts}) > 1]
    return [
        ", ".join([cell.legend, *(part[n] for n in telling)]) for cell, part in zip(cells, parts, strict=True)
    ]


def _panel(title: str, key: str, cells: Sequence[Cell], names: Sequence[str], stages: Sequence[str]) -> Spec:
    unit = metric_of(key.format(stages[0])).unit
    rows: list[Spec] = []
    for cell, name in zip(cells, names, strict=True):
        for stage in stages:
            if interval := cell.metrics.get(key.format(stage)):
                bounded = isfinite(interval.high)
                low, high = (interval.low / unit.per, interval.high / unit.per) if bounded else (None, None)
                value = interval.mean / unit.per
                text = f"{any_number(value)} {unit.symbol}"
                rows.append(
                    {"name": name, "stage": stage, "value": value, "low": low, "high": high, "text": text}
                )
    x: Spec = {"field": "stage", "type": "nominal", "title": None, "scale": {"domain": list(stages)}}
    y: Spec = {"field": "value", "type": "quantitative", "title": unit.symbol, "scale": {"zero": True}}
    both: Spec = {
        "x": x,
        "xOffset": {"field": "name", "scale": {"domain": list(names)}},
        "color": labels(names, "category", columns=1),
    }
    tooltip = tooltip_of(name="file system", stage="", text=title)
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.75},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {**both, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {**both, "y": y, "shape": labels(names, "symbol"), "tooltip": tooltip},
        },
    ]
    return layered(rows, layers, PANEL_WIDTH - 40, HEIGHT, title=panel_title(title))


_COLUMNS = (*(key for key, metric in METRICS.items() if metric.event), LATENCY)


def events_table(cells: Sequence[Cell]) -> Table:
    """Lay out cells of trials in which something happened to servers, a row each; empty if nothing did."""
    hit = [cell for cell in cells if any(metric_of(key).event for key in cell.metrics)]
    columns = [key for key in _COLUMNS if any(key in cell.metrics for cell in hit)]
    rows = ((*place(cell), *(value_text(cell.metrics.get(key), key) for key in columns)) for cell in hit)
    return Table((*PLACE, *map(heading, columns)), tuple(rows))


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if drawable(content.cells):
        stages = (
            "first and last event, and healthy, divide the load; stages of less than a second are left out; "
            "mean, 95 % interval"
        )
        yield "events", events(content.cells, notes=[stages, *content.power_notes])


FLAG = Flag(
    "events",
    help="Rate and power before, during and after events, and the cost of healing.",
    none="nothing happened to servers in the trials here",
    advice="see `perjoule docs events`",
)
VIEW = View(
    rank=130,
    flag=FLAG,
    title="Events",
    tables=(
        Shown(
            lambda content: events_table(content.cells),
            "Events",
            note="Events happened while clients loaded. Before the first event, during the time from the first to the last "
            "event, healing until the file system said that it was healthy, or had finished, and after "
            "that; W and J are of the servers, without switch and clients. Stalled: no call of a client "
            f"returned. The timeline of a trial marks its events. {OF_REPETITIONS}",
        ),
    ),
    figures=_figures,
)
