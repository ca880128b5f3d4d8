"""The themes, titles and legends that all Vega-Lite specifications share.
https://vega.github.io/vega-lite/docs/
"""

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]  # a Vega-Lite specification

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
PANEL_WIDTH = 330  # of one of two panels, when a figure stands alone
FULL_WIDTH = 700
FONT = "Arial, Liberation Sans, Helvetica, sans-serif"

# Named colour ranges: "category" is for file systems and hosts throughout, "component" and "role" for what
# their names say, "piece" for the pieces of a joule, as `metrics.PIECES` orders them. All differ for normal
# vision and for protanopia, deuteranopia and tritanopia; the first four of "category", and neighbours in a
# stack, in grey too (tests/unit/figures). Shapes and dashes repeat what "category" says: their counts have no
# common divisor with its own, so of 35 names no two look alike.
_LIGHT = {
    "ink": "#1b1f24",
    "quiet": "#59636e",
    "line": "#d9dee4",
    "paper": "#ffffff",
    "category": ["#141a81", "#d97d00", "#00876c", "#862e7b", "#4999df", "#8a8040", "#a83212"],
    "component": ["#1e5db0", "#7cd7df", "#a8541a", "#f0c08a", "#17715c", "#93d3bf", "#6c4f92", "#c9b1f2"],
    "role": ["#2a66ab", "#e3a663", "#763f82", "#a9b6c2", "#1d5a50"],
    "piece": ["#214fa8", "#9cc3ea", "#7d5a9b", "#cfc971", "#a8541a", "#ecc092", "#2b6a64"],
}
_DARK = {
    "ink": "#e8ebef",
    "quiet": "#9da7b3",
    "line": "#343b44",
    "paper": "#15181d",
    "category": ["#5a68ea", "#f09f2d", "#6ef0c8", "#c07cb3", "#9fd0ff", "#ebe07a", "#e8594b"],
    "component": ["#4c97ee", "#236a77", "#f09a52", "#7d4c22", "#4cc4a6", "#1f4e4d", "#b49be0", "#5c4785"],
    "role": ["#6fa8e2", "#9a5a20", "#d3bbec", "#6a7684", "#5fd0b0"],
    "piece": ["#4c97ee", "#236a77", "#b49be0", "#5c4785", "#f09a52", "#7d4c22", "#4cc4a6"],
}
SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
]
DASHES = [[1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [4, 2, 1, 2, 1, 2]]


def _config(theme: Mapping[str, Any]) -> Spec:
    axis = {
        "labelColor": theme["quiet"],
        "titleColor": theme["quiet"],
        "domainColor": theme["line"],
        "tickColor": theme["line"],
    }
    axis |= {"labelLimit": 0, "titleLimit": 0}  # names in full
    letters = {"font": FONT, "fontSize": 12}
    return {
        "background": theme["paper"],
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "range": {name: theme[name] for name in ("category", "component", "role", "piece")}
        | {"symbol": SHAPES},
        "axis": axis
        | {"gridColor": theme["line"], "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
        # so that panels below each other align
        "axisY": {"domain": False, "ticks": False, "minExtent": 40, "tickCount": 5},
        "axisX": {"grid": False, "labelAngle": 0, "labelFlush": False, "labelSeparation": 6, "tickCount": 7},
        "legend": {
            "labelColor": theme["ink"],
            "labelFontSize": 12,
            "titleColor": theme["quiet"],
            "orient": "top",
            "symbolOpacity": 1,  # also of marks that are drawn paler
            "title": None,
        }
        | {"labelLimit": 0},
        "title": {
            "color": theme["ink"],
            "fontSize": 15,
            "subtitleColor": theme["quiet"],
            "subtitleFontSize": 11,
            "anchor": "start",
            "frame": "bounds",
            "offset": 12,
        },
        "header": {"labelColor": theme["ink"], "titleColor": theme["quiet"]},
        "text": {"color": theme["quiet"], **letters},
        "rule": {"color": theme["quiet"]},
        "style": {
            "paper": {"stroke": theme["paper"]},
            "ink": {"fill": theme["ink"], "stroke": theme["ink"]},
            "bound": {"stroke": theme["quiet"], "strokeDash": [5, 4]},
            "quiet": {"color": theme["quiet"]},
            "window": {"color": theme["line"], "fillOpacity": 0.45},
            "panel": {"color": theme["ink"]},
            "phase": {"color": theme["line"], "stroke": theme["paper"], "strokeWidth": 2},
        },
    }


THEMES: dict[str, Spec] = {"light": _config(_LIGHT), "dark": _config(_DARK)}


PERCENT = "format(100 * datum.value, '~g') + ' %'"  # the label of a share on an axis


def titled(spec: Spec, title: str, notes: Sequence[str]) -> Spec:
    """Add schema, title, and the notes as lines of the subtitle to a specification."""
    description = ". ".join([title, *notes])
    return {
        "$schema": SCHEMA,
        "description": description,
        "title": {"text": title, "subtitle": list(notes)},
        **spec,
    }


def ratio_intervals(x: Spec, both: Spec) -> list[Spec]:
    """Return the layers beneath points of ratios: a line at 1, and the interval from `low` to `high` of each
    row that has one.

    Args:
        x: the axis of ratios, without its field.
        both: the encodings that intervals share with points.
    """
    return [
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "style": "bound"},
            "encoding": {"x": {"datum": 1, **x}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.75, "clip": True},
            "transform": [{"filter": "isValid(datum.low)"}],
            "encoding": {**both, "x": {"field": "low", **x}, "x2": {"field": "high"}},
        },
    ]


def labels(names: Sequence[str], range_name: str, **legend: Any) -> Spec:
    """Describe a colour channel over these names, in this order, from a named range of the theme."""
    return {
        "field": "name",
        "type": "nominal",
        "scale": {"domain": list(names), "range": range_name},
        "legend": legend or {},
    }


def quantitative(title: str | None, **more: Any) -> Spec:
    """Describe an axis of numbers."""
    return {"type": "quantitative", "title": title, **more}


def tooltip_of(**titles: str) -> list[Spec]:
    """Describe a tooltip: its fields, each with its title, or "" where it is named as it is."""
    return [
        {"field": field, "title": title} if title else {"field": field} for field, title in titles.items()
    ]


def panel_title(text: str) -> Spec:
    """Describe what stands above one of several panels."""
    return {"text": text, "fontSize": 12, "anchor": "start", "frame": "group", "offset": 4}


def layered(
    values: Sequence[Spec], layers: Sequence[Spec], width: object, height: object, **more: Any
) -> Spec:
    """Describe layers over the same rows."""
    return {**more, "width": width, "height": height, "data": {"values": list(values)}, "layer": list(layers)}
