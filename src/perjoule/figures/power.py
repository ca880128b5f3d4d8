"""The distribution of power during the measured windows, as box plots with the mean (Fig. 5 of "Green Storage")."""

from collections.abc import Mapping, Sequence

from perjoule.figures._clients import DIRECTIONS, HEIGHT, colour
from perjoule.figures.vega import PANEL_WIDTH, Spec, titled

Samples = Mapping[tuple[str, str], Sequence[float]]  # (file system, direction) -> watts


def power(samples: Samples, *, notes: Sequence[str] = ()) -> Spec:
    """Draw the distribution of power samples in watts, read left, write right, a box per file system."""
    names = list(dict.fromkeys(name for name, _ in samples))
    values = [w for watts in samples.values() for w in watts]
    # Never less than the watts are rounded to: a mark outside of the scale would stretch the figure over many screens.
    margin = max(0.08 * (max(values) - min(values)), 0.002 * max(values), 0.01) if values else 1.0
    domain = [min(values, default=0.0) - margin, max(values, default=1.0) + margin]
    y: Spec = {"field": "watts", "type": "quantitative", "title": "W, servers without switch"}
    y |= {"scale": {"domain": domain, "nice": False, "zero": False}}
    panels = [
        _panel(samples, names, direction, y) for direction in (*DIRECTIONS, "idle") if any(d == direction for _, d in samples)
    ]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, "Power while measuring", notes)


def _panel(samples: Samples, names: Sequence[str], direction: str, y: Spec) -> Spec:
    rows = [{"filesystem": n, "watts": round(w, 3)} for (n, d), watts in samples.items() if d == direction for w in watts]
    x: Spec = {"field": "filesystem", "type": "nominal", "title": None, "scale": {"domain": list(names)}}
    box = {"type": "boxplot", "extent": 1.5, "size": 38, "median": {"style": ["paper"]}, "outliers": {"size": 14, "opacity": 0.5}}
    mean_y = {"aggregate": "mean", "field": "watts", "type": "quantitative", "title": y["title"]}
    mean: Spec = {
        "mark": {"type": "point", "shape": "diamond", "size": 60, "filled": True, "style": ["ink", "mean"]},
        "encoding": {"x": x, "y": mean_y, "tooltip": [{"field": "filesystem"}, {**mean_y, "title": "mean W", "format": ".2f"}]},
    }
    return {
        "title": {"text": direction.capitalize(), "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8},
        "width": PANEL_WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "layer": [{"mark": box, "encoding": {"x": x, "y": y, "color": {**colour(names), "legend": None}}}, mean],
    }
