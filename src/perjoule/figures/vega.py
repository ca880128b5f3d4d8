"""The themes, titles and legends that all Vega-Lite specifications share. https://vega.github.io/vega-lite/docs/"""

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]  # a Vega-Lite specification

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
PANEL_WIDTH = 330  # of one of two panels, when a figure stands alone
FULL_WIDTH = 700
FONT = "Arial, Liberation Sans, Helvetica, sans-serif"

# Named colour ranges: "category" is for file systems throughout, "component" and "role" for what their names say. Distinguishable
# with normal vision and with protanopia, deuteranopia and tritanopia (distance in CIELAB after Machado et al. 2009 at least 26
# among the first four of "category"), and at least 3:1 against the background. Shapes repeat what "category" says. "piece" is for
# the pieces of a joule: a hue for each side, strong for its CPU and pale for its rest, as `metrics.PIECES` orders them.
_LIGHT = {
    "ink": "#1b1f24",
    "quiet": "#59636e",
    "line": "#d9dee4",
    "paper": "#ffffff",
    "category": ["#2450b8", "#d97400", "#00a082", "#86307c", "#4c9ed0", "#8a8040", "#a83212"],
    "component": ["#5f7388", "#b0662b", "#a9b8c6", "#d9c5a3", "#7d6a9b", "#3d4b59"],
    "role": ["#3f7fbf", "#c06a2d", "#8c9aa8", "#6d5a94"],
    "piece": ["#1f5fa8", "#9cc3ea", "#7d6a9b", "#a8541a", "#e6bd94", "#2b8a74", "#aab3bc"],
}
_DARK = {
    "ink": "#e8ebef",
    "quiet": "#9da7b3",
    "line": "#343b44",
    "paper": "#15181d",
    "category": ["#5b86ee", "#f09a2c", "#44dcae", "#c07ab4", "#9fd0ff", "#ebe07a", "#e8594b"],
    "component": ["#8ea3b8", "#d08a4e", "#566473", "#a08c68", "#a390c4", "#c3cdd7"],
    "role": ["#6fa8e2", "#e08f50", "#7b8896", "#a691d4"],
    "piece": ["#6fa8e2", "#2f557f", "#a390c4", "#f09a52", "#84532a", "#4cc4a6", "#66717d"],
}
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke"]


def _config(theme: Mapping[str, Any]) -> Spec:
    axis = {"labelColor": theme["quiet"], "titleColor": theme["quiet"], "domainColor": theme["line"], "tickColor": theme["line"]}
    words = {"font": FONT, "fontSize": 12}
    return {
        "background": theme["paper"],
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "range": {name: theme[name] for name in ("category", "component", "role", "piece")} | {"symbol": SHAPES},
        "axis": axis | {"gridColor": theme["line"], "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
        # A fixed extent, so that the page can tell how wide the panels may be.
        "axisY": {"domain": False, "ticks": False, "minExtent": 40, "maxExtent": 40, "tickCount": 5},
        "axisX": {"grid": False, "labelAngle": 0, "labelFlush": False},
        "legend": {"labelColor": theme["ink"], "labelFontSize": 12, "titleColor": theme["quiet"], "orient": "top", "title": None},
        "title": {
            "color": theme["ink"],
            "fontSize": 15,
            "subtitleColor": theme["quiet"],
            "subtitleFontSize": 11,
            "anchor": "start",
            "frame": "group",
            "offset": 12,
        },
        "header": {"labelColor": theme["ink"], "titleColor": theme["quiet"]},
        "text": {"fill": theme["quiet"], **words},
        "rule": {"color": theme["quiet"]},
        "style": {
            "paper": {"stroke": theme["paper"]},
            "ink": {"fill": theme["ink"], "stroke": theme["ink"]},
            "bound": {"stroke": theme["quiet"], "strokeDash": [5, 4]},
            "quiet": {"fill": theme["quiet"]},
            "window": {"color": theme["line"], "fillOpacity": 0.45},
            "panel": {"fill": theme["ink"]},
        },
    }


THEMES: dict[str, Spec] = {"light": _config(_LIGHT), "dark": _config(_DARK)}


def titled(spec: Spec, title: str, notes: Sequence[str]) -> Spec:
    """Add schema, title, and the notes as lines of the subtitle to a specification."""
    return {"$schema": SCHEMA, "title": {"text": title, "subtitle": list(notes)}, **spec}


def labels(names: Sequence[str], range_name: str, **legend: Any) -> Spec:
    """Describe a colour channel over these names, in this order, from a named range of the theme."""
    return {
        "field": "name",
        "type": "nominal",
        "scale": {"domain": list(names), "range": range_name},
        "legend": legend or {},
    }
