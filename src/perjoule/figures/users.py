"""The throughput of each of several users together with the others, and alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.figures._clients import interval_text
from perjoule.figures.vega import PANEL_WIDTH, Spec, labels, titled
from perjoule.model import Interval
from perjoule.model.format import number

WAYS = ("alone", "together")


@dataclass(frozen=True)
class Users:
    """One mix on one file system: each user's results, in units of the axis; None was not measured."""

    title: str
    users: Sequence[tuple[str, Interval | None, Interval]]  # name, alone, together


def users(mixes: Sequence[Users], *, axis: str, notes: Sequence[str] = ()) -> Spec:
    """Draw a panel for each mix, and in it two bars for each user, with the 95 % interval and a mark for each repetition."""
    panels = [_panel(mix, axis) for mix in mixes]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, "Users together and alone", notes)


def _panel(mix: Users, axis: str) -> Spec:
    means: list[Spec] = []
    values: list[Spec] = []
    for user, alone, together in mix.users:
        for way, found in zip(WAYS, (alone, together), strict=True):
            if found is None:
                continue
            finite = isfinite(found.high - found.low)
            means.append(
                {
                    "user": user,
                    "name": way,
                    "mean": found.mean,
                    "low": max(0.0, found.low) if finite else None,
                    "high": found.high if finite else None,
                    "value": f"{number(found.mean)} {axis}",
                    "interval": interval_text(found, 1.0),
                }
            )
            values += [{"user": user, "name": way, "one": value} for value in found.values]
    tooltip = [
        {"field": "user"},
        {"field": "name", "title": "loads"},
        {"field": "value", "title": "mean"},
        {"field": "interval", "title": "95 % interval"},
    ]
    y: Spec = {"type": "quantitative", "title": axis}
    bars: Spec = {"mark": {"type": "bar", "width": {"band": 0.9}}, "encoding": {"y": {"field": "mean", **y}, "tooltip": tooltip}}
    spread: Spec = {
        "mark": {"type": "rule", "strokeWidth": 2, "style": "ink"},
        "transform": [{"filter": "isValid(datum.low)"}],
        "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
    }
    each: Spec = {
        "data": {"values": values},
        "mark": {"type": "point", "size": 22, "strokeWidth": 1.2, "style": "ink"},
        "encoding": {"y": {"field": "one", **y}},
    }
    bars["encoding"]["color"] = labels(WAYS, "role")
    for layer in (bars, spread, each):
        layer["encoding"] |= {
            "x": {"field": "user", "type": "nominal", "title": None, "sort": None},
            "xOffset": {"field": "name", "sort": list(WAYS), "scale": {"domain": list(WAYS)}},
        }
    heading = {"text": mix.title, "fontSize": 12, "anchor": "start", "frame": "group", "offset": 8}
    return {
        "title": heading,
        "width": PANEL_WIDTH,
        "height": 200,
        "data": {"values": means},
        "layer": [bars, spread, each],
    }
