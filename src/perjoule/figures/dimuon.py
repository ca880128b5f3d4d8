"""The spectrum of muon pairs: all of it, and its peaks with their fits."""

from collections.abc import Sequence

from perjoule.figures.vega import FULL_WIDTH, PANEL_WIDTH, Spec, titled
from perjoule.model.spectrum import MassSpectrum, Peak

HEIGHT = 200


def dimuon(found: MassSpectrum, *, notes: Sequence[str] = ()) -> Spec:
    """Draw the whole spectrum on logarithmic axes, and below it each peak with its fit."""
    whole: Spec = {
        "width": FULL_WIDTH,
        "height": HEIGHT,
        "data": {"values": [{"mass": mass, "pairs": pairs} for mass, pairs in found.pairs]},
        "mark": {"type": "line", "interpolate": "step", "strokeWidth": 1.2},
        "encoding": {
            "x": {"field": "mass", **_axis("mass of the pair in GeV", "log")},
            "y": {"field": "pairs", **_axis("pairs per GeV", "log")},
        },
    }
    panels = [_panel(peak) for peak in found.peaks.values()]
    return titled({"vconcat": [whole, {"hconcat": panels, "spacing": 24}], "spacing": 24}, "Mass of muon pairs", notes)


def _panel(peak: Peak) -> Spec:
    seen = [{"mass": m, "pairs": n, "low": n - error, "high": n + error} for m, n, error in peak.seen]
    x, y = _axis("mass of the pair in GeV", "linear"), _axis("pairs per GeV", "linear")
    layers: list[Spec] = [
        {"mark": {"type": "rule"}, "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "size": 14, "opacity": 1}, "encoding": {"y": {"field": "pairs", **y}}},
        {
            "data": {"values": [{"mass": m, "pairs": n} for m, n in peak.fitted]},
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {"y": {"field": "pairs", **y}, "color": {"value": "#d97400"}},
        },
    ]
    heading = {"text": peak.words, "fontSize": 13, "frame": "group", "offset": 8}
    shared: Spec = {"x": {"field": "mass", **x}}
    return {
        "title": heading,
        "width": PANEL_WIDTH,
        "height": HEIGHT,
        "data": {"values": seen},
        "encoding": shared,
        "layer": layers,
    }


def _axis(title: str, kind: str) -> Spec:
    return {"type": "quantitative", "title": title, "scale": {"type": kind, "zero": False, "nice": False}}
