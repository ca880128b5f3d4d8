"""The cost of a user's byte: CPU time and network bytes by role."""

from collections.abc import Sequence
from typing import Any

from perjoule.figures.vega import PANEL_WIDTH, Spec, labels, titled
from perjoule.model import Cell
from perjoule.model.units import MIB

ROLES = ("client", "storage", "metadata", "management")


def cost(cells: Sequence[Cell], *, notes: Sequence[str] = ()) -> Spec:
    """Draw CPU ms per MiB and bytes sent per user byte, stacked by role; a bar per file system and direction.

    Args:
        cells: of one client count and workload kind, so a bar is one cell.
        notes: lines of the subtitle.
    """
    cpu = [(cell, role, cell.metrics.get(f"cpu_{role}_s_per_byte"), 1e3 * MIB) for cell in cells for role in ROLES]
    sent = [(cell, role, cell.metrics.get(f"network_sent_{role}_ratio"), 1.0) for cell in cells for role in ROLES]
    panels = [_panel(cpu, "CPU ms per MiB", "ms/MiB"), _panel(sent, "network bytes sent per user byte", "B/B")]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, "What a byte costs", notes)


def _panel(values: Sequence[tuple[Cell, str, Any, float]], title: str, unit: str) -> Spec:
    rows = [
        {
            "bar": f"{cell.legend}, {cell.direction}",
            "name": role,
            "order": ROLES.index(role),
            "value": interval.mean * factor,
            "text": f"{interval.mean * factor:.3g} {unit}",
        }
        for cell, role, interval, factor in values
        if interval is not None
    ]
    return {
        "width": PANEL_WIDTH,
        "height": {"step": 26},
        "data": {"values": rows},
        "mark": {"type": "bar", "height": 16},
        "encoding": {
            "x": {"field": "value", "type": "quantitative", "title": title},
            "y": {"field": "bar", "type": "nominal", "title": None, "sort": None, "axis": {"minExtent": 96, "maxExtent": 96}},
            "order": {"field": "order"},
            "color": labels(ROLES, "role"),
            "tooltip": [{"field": "bar"}, {"field": "name", "title": "role"}, {"field": "text", "title": title}],
        },
    }
