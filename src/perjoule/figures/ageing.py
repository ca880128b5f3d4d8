"""What an aged file system does over the same one that is new: left of 1 it is lower, right of 1 higher."""

from collections.abc import Sequence
from math import isfinite

from perjoule.figures._loads import load_names
from perjoule.figures.vega import FULL_WIDTH, Spec, labels, ratio_intervals, titled
from perjoule.model import Worn
from perjoule.model.format import span_text
from perjoule.model.metrics import metric_of
from perjoule.model.units import clients_text


def ageing(found: Sequence[Worn], *, notes: Sequence[str] = ()) -> Spec:
    """Draw the ratio of each pair with its interval, a panel for each metric, a row for each aged file system and load."""
    metrics = list(dict.fromkeys(one.metric for one in found))
    names = list(dict.fromkeys(one.aged.filesystem for one in found))
    ends = [end for one in found for end in (one.ratio.mean, one.ratio.low, one.ratio.high) if isfinite(end) and end > 0]
    domain = [min([*ends, 0.9]) / 1.05, max([*ends, 1.1]) * 1.05]
    loads = load_names((one.aged.workload, one.aged.direction) for one in found)
    several = len({one.aged.clients_count for one in found}) > 1
    rows = [_row(one, loads[one.aged.workload, one.aged.direction], several=several) for one in found]
    panels = [_panel(metric, [row for row in rows if row["metric"] == metric], names, domain) for metric in metrics]
    return titled({"vconcat": panels, "spacing": 18}, "Aged and new file systems", notes)


def _panel(metric: str, rows: Sequence[Spec], names: Sequence[str], domain: Sequence[float]) -> Spec:
    label = metric_of(metric).label
    x: Spec = {
        "type": "quantitative",
        "title": f"{label}, aged / new",
        "scale": {"type": "log", "domain": list(domain), "nice": False},
    }
    both: Spec = {
        "y": {"field": "row", "type": "nominal", "title": None, "sort": None},
        "yOffset": {"field": "name", "scale": {"domain": list(names)}},
        "color": labels(names, "category", columns=1),
    }
    shape: Spec = {"field": "name", "type": "nominal", "scale": {"domain": list(names), "range": "symbol"}, "legend": {}}
    told = {"name": "aged", "new": "new", "row": "load", "text": "ratio"}
    tooltip = [{"field": field, "title": title} for field, title in told.items()]
    layers: list[Spec] = [
        *ratio_intervals(x, both),
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {**both, "x": {"field": "value", **x}, "shape": shape, "tooltip": tooltip},
        },
    ]
    height = {"step": max(20, 9 * len(names)), "for": "position"}
    return {"width": FULL_WIDTH - 200, "height": height, "data": {"values": list(rows)}, "layer": layers}


def _row(one: Worn, load: str, *, several: bool) -> Spec:
    ratio, told = one.ratio, isfinite(one.ratio.high)
    return {
        "metric": one.metric,
        "row": f"{load}, {clients_text(one.aged.clients_count)}" if several else load,
        "name": one.aged.filesystem,
        "new": one.new.filesystem,
        "value": ratio.mean,
        "low": ratio.low if told else None,
        "high": ratio.high if told else None,
        "text": span_text(ratio),
    }
