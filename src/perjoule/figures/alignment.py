"""How a meter's clock was aligned: its samples with the fitted load pattern, and the offset at each pattern."""

from collections.abc import Sequence
from dataclasses import dataclass

from perjoule.figures.vega import FULL_WIDTH, Spec, titled


@dataclass(frozen=True)
class Found:
    """One pattern in one meter: times (of the hosts' clock, from the pattern's start), samples and fit, all of shape (N,)."""

    name: str  # "lmg, pattern 1"
    channel: str  # the offsets of one are joined by a line
    t_s: Sequence[float]
    watts: Sequence[float]
    fit_w: Sequence[float]
    at_s: float  # the hosts' time of the pattern, from the first one's
    offset_s: float
    standard_s: float


def alignment(found: Sequence[Found], *, notes: Sequence[str] = ()) -> Spec:
    """Draw each pattern with its fit, and below them the offsets in ms with 95 % intervals and the line between them."""
    return titled({"vconcat": [*(_pattern(one) for one in found), _offsets(found)], "spacing": 24}, "Clock alignment", notes)


def _pattern(one: Found) -> Spec:
    rows = [
        {"t": round(t, 4), "watts": round(w, 4), "fit": round(f, 4)}
        for t, w, f in zip(one.t_s, one.watts, one.fit_w, strict=True)
    ]
    x: Spec = {"field": "t", "type": "quantitative", "title": "s, the hosts' clock", "scale": {"nice": False}}

    def y(name: str) -> Spec:
        return {"field": name, "type": "quantitative", "title": "W", "scale": {"zero": False}}

    return {
        "title": {"text": one.name, "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8},
        "width": FULL_WIDTH,
        "height": 120,
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "line", "interpolate": "step-before", "style": ["bound"]}, "encoding": {"x": x, "y": y("fit")}},
            {
                "mark": {"type": "point", "filled": True, "size": 22},
                "encoding": {"x": x, "y": y("watts"), "tooltip": [{"field": "t"}, {"field": "watts"}, {"field": "fit"}]},
            },
        ],
    }


def _offsets(found: Sequence[Found]) -> Spec:
    rows = [
        {
            "name": one.name,
            "channel": one.channel,
            "at": one.at_s,
            "offset": 1e3 * one.offset_s,
            "low": 1e3 * (one.offset_s - 1.96 * one.standard_s),
            "high": 1e3 * (one.offset_s + 1.96 * one.standard_s),
        }
        for one in found
    ]
    x: Spec = {"field": "at", "type": "quantitative", "title": "s since the first pattern", "scale": {"padding": 20}}
    axis: Spec = {"type": "quantitative", "title": "ms ahead", "scale": {"zero": False}}
    return {
        "width": FULL_WIDTH,
        "height": 120,
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "line", "style": ["bound"]},
                "encoding": {"x": x, "y": {"field": "offset", **axis}, "detail": {"field": "channel"}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": x, "y": {"field": "low", **axis}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80},
                "encoding": {
                    "x": x,
                    "y": {"field": "offset", **axis},
                    "tooltip": [{"field": "name"}, {"field": "offset", "title": "ms ahead", "format": ".1f"}],
                },
            },
        ],
    }
