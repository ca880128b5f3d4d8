"""The power of low-power machines over that of one server with the same throughput; left of 1 they draw less."""

from collections.abc import Sequence
from math import isfinite

from perjoule.figures.vega import FULL_WIDTH, Spec, ratio_intervals, titled
from perjoule.model import Interval, Replacement
from perjoule.model.format import number, span_text


def replacement(found: Sequence[Replacement], *, notes: Sequence[str] = ()) -> Spec:
    """Draw the power ratio of each replacement with its interval, a panel for each server, a row for each workload.

    Args:
        found: in the order of the panels; those whose power is not compared are left out.
        notes: lines of the subtitle.
    """
    known = [(one, one.power_ratio, one.whole_power_ratio) for one in found if one.power_ratio and one.whole_power_ratio]
    servers = list(dict.fromkeys(one.server for one, *_ in known))
    names = list(dict.fromkeys(one.low_power for one, *_ in known))
    ends = [power.mean for _, power, _ in known]
    ends += [end for _, power, _ in known for end in (power.low, power.high) if isfinite(end) and end > 0]
    domain = [min([*ends, 0.9]) / 1.1, max([*ends, 1.1]) * 1.1]
    panels = [_panel(server, [row for row in known if row[0].server == server], names, domain) for server in servers]
    return titled({"vconcat": panels, "spacing": 24}, "Low-power machines instead of a server", notes)


def _panel(
    server: str, found: Sequence[tuple[Replacement, Interval, Interval]], names: Sequence[str], domain: Sequence[float]
) -> Spec:
    rows = [_row(*one) for one in found]
    x: Spec = {
        "type": "quantitative",
        "title": "power at the same throughput, 1 = the server's",
        "scale": {"type": "log", "domain": list(domain), "nice": False},
    }
    y: Spec = {
        "field": "row",
        "type": "nominal",
        "title": None,
        "sort": None,
    }
    machine: Spec = {"field": "in its place", "type": "nominal", "title": None}
    both: Spec = {
        "y": y,
        "yOffset": {"field": "in its place", "scale": {"domain": list(names)}},
        "color": {**machine, "scale": {"domain": list(names), "range": "category"}},
    }
    shown = ["in its place", "machines", "whole machines", "power", "verdict"]
    layers: list[Spec] = [
        *ratio_intervals(x, both),
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
            "encoding": {**both, "x": {"field": "ratio", **x}, "tooltip": [{"field": name} for name in shown]},
        },
    ]
    heading = {"text": f"instead of {server}", "fontSize": 12, "anchor": "start", "frame": "group", "offset": 4}
    height = {"step": max(16, 7 * len(names)), "for": "position"}
    return {"title": heading, "width": FULL_WIDTH - 200, "height": height, "data": {"values": rows}, "layer": layers}


def _row(one: Replacement, power: Interval, whole: Interval) -> Spec:
    machines = one.machines_ratio
    told = isfinite(power.high)
    return {
        "row": f"{one.workload}",
        "in its place": one.low_power,
        "ratio": power.mean,
        "low": power.low if told else None,
        "high": power.high if told else None,
        "machines": span_text(machines),
        "whole machines": f"{one.machines_count}, {number(whole.mean)} of the server's power",
        "power": span_text(power),
        "verdict": one.verdict,
    }
