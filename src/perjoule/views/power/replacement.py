"""How many low-power machines replace a server, and their power over its own at the same throughput."""

from collections.abc import Iterator, Sequence
from math import isfinite

from perjoule.figures.vega import (
    FULL_WIDTH,
    Spec,
    layered,
    panel_title,
    quantitative,
    ratio_intervals,
    titled,
)
from perjoule.model import Interval, Replacement
from perjoule.model.format import number, span_text
from perjoule.results.table import NAMES, Table
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View


def replacement(replacements: Sequence[Replacement], *, notes: Sequence[str] = ()) -> Spec:
    """Draw the power ratio of each replacement with its interval, a panel for each server, a row for each
    workload.

    Args:
        found: in the order of the panels; those whose power is not compared are left out.
        notes: lines of the subtitle.
    """
    comparable = [
        (replaced, replaced.power_ratio, replaced.whole_power_ratio)
        for replaced in replacements
        if replaced.power_ratio and replaced.whole_power_ratio
    ]
    servers = list(dict.fromkeys(replaced.server for replaced, *_ in comparable))
    names = list(dict.fromkeys(replaced.low_power for replaced, *_ in comparable))
    ends = [power.mean for _, power, _ in comparable]
    ends += [
        end for _, power, _ in comparable for end in (power.low, power.high) if isfinite(end) and end > 0
    ]
    domain = [min([*ends, 0.9]) / 1.1, max([*ends, 1.1]) * 1.1]
    panels = [
        _panel(server, [row for row in comparable if row[0].server == server], names, domain)
        for server in servers
    ]
    return titled({"vconcat": panels, "spacing": 24}, "Low-power machines instead of a server", notes)


def _panel(
    server: str,
    rows_of: Sequence[tuple[Replacement, Interval, Interval]],
    names: Sequence[str],
    domain: Sequence[float],
) -> Spec:
    rows = [_row(*row) for row in rows_of]
    x = quantitative(
        "power at the same throughput, 1 = the server's",
        scale={"type": "log", "domain": list(domain), "nice": False},
    )
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
    fields = ["in its place", "machines", "whole machines", "power", "verdict"]
    layers: list[Spec] = [
        *ratio_intervals(x, both),
        {
            "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
            "encoding": {
                **both,
                "x": {"field": "ratio", **x},
                "tooltip": [{"field": name} for name in fields],
            },
        },
    ]
    height = {"step": max(16, 7 * len(names)), "for": "position"}
    return layered(rows, layers, FULL_WIDTH - 200, height, title=panel_title(f"instead of {server}"))


def _row(replaced: Replacement, power: Interval, whole_ratio: Interval) -> Spec:
    machines = replaced.machines_ratio
    bounded = isfinite(power.high)
    return {
        "row": f"{replaced.workload}",
        "in its place": replaced.low_power,
        "ratio": power.mean,
        "low": power.low if bounded else None,
        "high": power.high if bounded else None,
        "machines": span_text(machines),
        "whole machines": f"{replaced.machines_count}, {number(whole_ratio.mean)} of the server's power",
        "power": span_text(power),
        "verdict": replaced.verdict,
    }


def replacement_table(replacements: Sequence[Replacement]) -> Table:
    """Lay out how many low-power machines replace a server, in fractions and whole, and their power."""
    rows = tuple(
        (
            replaced.server,
            replaced.low_power,
            replaced.workload,
            replaced.direction,
            span_text(replaced.machines_ratio),
            span_text(replaced.power_ratio),
            str(replaced.machines_count),
            span_text(replaced.whole_power_ratio),
            replaced.verdict,
        )
        for replaced in replacements
    )
    headers = ("replaced server", "machine", "workload", "direction", "machines", "power / server's")
    return Table(
        (*headers, "whole machines", "power / server's", "verdict"), rows, (*NAMES, *headers[:2], "verdict")
    )


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if any(replaced.power_ratio for replaced in content.replacements):
        as_many = (
            "as many machines as reach the server's throughput, fractions included; mean and 95 % interval"
        )
        yield "replacement", replacement(content.replacements, notes=[as_many, *content.power_notes])


VIEW = View(
    rank=170,
    flag=Flag(
        "replacement",
        help="How many low-power machines replace a server, and their power.",
        none="no two stand-alone machines here ran the same workload with metered power",
        advice="add the results of another machine: --with DIR",
        beside=True,
    ),
    tables=(Shown(lambda content: replacement_table(content.replacements)),),
    figures=_figures,
)
