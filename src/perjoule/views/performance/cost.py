"""The cost of a user's byte: CPU time and network bytes by role."""

from collections.abc import Iterator, Sequence

from perjoule.figures.loads import load_names
from perjoule.figures.vega import PANEL_WIDTH, Spec, labels, titled, tooltip_of
from perjoule.model import Cell
from perjoule.model.format import any_number
from perjoule.model.metrics import Metric, metric_of
from perjoule.model.units import clients_text
from perjoule.views.content import Content
from perjoule.views.now import Now
from perjoule.views.view import Live, View

CPU = "cpu_{role}_s_per_byte"
ROLES = ("client", "storage", "metadata", "management")


def cost(cells: Sequence[Cell], *, notes: Sequence[str] = ()) -> Spec:
    """Draw CPU ms per MiB and bytes sent per user byte, stacked by role; a bar for each file system and load.

    Args:
        cells: of one number of clients, so that a bar is one cell.
        notes: lines of the subtitle.
    """
    panels = [
        _panel(cells, CPU, "CPU ms per MiB"),
        _panel(cells, "network_sent_{role}_ratio", "network bytes sent per user byte"),
    ]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, "What a byte costs", notes)


def _panel(cells: Sequence[Cell], key: str, title: str) -> Spec:
    names = load_names((cell.workload, cell.direction) for cell in cells)
    rows = [
        {
            "bar": f"{cell.legend}, {names[cell.workload, cell.direction]}",
            "name": role,
            "order": ROLES.index(role),
            "value": (value := cell.metrics[metric.key].mean / metric.unit.per),
            "text": f"{any_number(value)}{_known_to(cell, metric)} {metric.unit.symbol}",
        }
        for cell in cells
        for role in ROLES
        if (metric := metric_of(key.format(role=role))).key in cell.metrics
    ]
    return {
        "width": PANEL_WIDTH,
        "height": {"step": 26},
        "data": {"values": rows},
        "mark": {"type": "bar", "height": 16},
        "encoding": {
            "x": {"field": "value", "type": "quantitative", "title": title},
            "y": {"field": "bar", "type": "nominal", "title": None, "sort": None},
            "order": {"field": "order"},
            "color": labels(ROLES, "role"),
            "tooltip": tooltip_of(bar="", name="role", text=title),
        },
    }


def _known_to(cell: Cell, metric: Metric) -> str:
    """Return how well CPU time is known, where readings of counters lie beside the window's ends; "" of
    bytes.
    """
    key, unit = metric.key.removesuffix("_s_per_byte"), metric.unit
    error = cell.metrics.get(f"{key}_uncertainty_s_per_byte")
    return f" ± {any_number(error.mean / unit.per)}" if error else ""


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if any(content.has(CPU.format(role=role)) for role in ROLES):
        cells = content.with_most
        of = f"{clients_text(cells[0].clients_count)}; CPU time of the machine that ran them"
        yield "cost", cost(cells, notes=[of, *content.notes])


def _now(moment: Now) -> dict[str, float]:
    """Give the mean share of the CPUs of each role's hosts, of those whose number of CPUs is known."""
    shares: dict[str, list[float]] = {}
    for host in moment.load.hosts:
        cpu = moment.totals.get((host.name, "cpu"))
        if cpu is not None and host.cores:
            shares.setdefault(host.role, []).append(100 * cpu / host.cores)
    return {role: sum(percents) / len(percents) for role, percents in shares.items()}


VIEW = View(rank=70, figures=_figures, live=Live("CPU, mean of each role", "%", _now), lead=4)
