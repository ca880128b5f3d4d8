"""The distribution of power during the measured windows, as box plots with the mean (Fig. 5 of "Green Storage")."""

from collections.abc import Mapping, Sequence

from perjoule.figures._clients import HEIGHT, colour, panel_title
from perjoule.figures._loads import load_names
from perjoule.figures.vega import PANEL_WIDTH, Spec, titled

Samples = Mapping[tuple[str, str, str], Sequence[float]]  # (file system, workload, direction) -> watts
ORDER = ("read", "write", "mixed", "idle")


def power(samples: Samples, *, notes: Sequence[str] = ()) -> Spec:
    """Draw the distribution of power samples in watts: a panel for each load, reads first, with a box for each file system."""
    names = list(dict.fromkeys(name for name, _, _ in samples))
    values = [w for watts in samples.values() for w in watts]
    # Never less than the watts are rounded to: a mark outside of the scale would stretch the figure over many screens.
    margin = max(0.08 * (max(values) - min(values)), 0.002 * max(values), 0.01) if values else 1.0
    domain = [min(values, default=0.0) - margin, max(values, default=1.0) + margin]
    y: Spec = {"field": "watts", "type": "quantitative", "title": "W, servers without switch"}
    y |= {"scale": {"domain": domain, "nice": False, "zero": False}}
    loads = sorted({key[1:]: None for key in samples}, key=lambda load: ORDER.index(load[1]))
    panels = [
        _panel({name: watts for (name, *own), watts in samples.items() if tuple(own) == load}, names, panel_title(title), y)
        for load, title in load_names(loads).items()
    ]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, "Power while measuring", notes)


def _panel(samples: Mapping[str, Sequence[float]], names: Sequence[str], title: str, y: Spec) -> Spec:
    rows = [{"filesystem": n, "watts": round(w, 3)} for n, watts in samples.items() for w in watts]
    x: Spec = {"field": "filesystem", "type": "nominal", "title": None, "scale": {"domain": list(names)}}
    box = {"type": "boxplot", "extent": 1.5, "size": 38, "median": {"style": ["paper"]}, "outliers": {"size": 14, "opacity": 0.5}}
    mean_y = {"aggregate": "mean", "field": "watts", "type": "quantitative", "title": y["title"]}
    mean: Spec = {
        "mark": {"type": "point", "shape": "diamond", "size": 60, "filled": True, "style": ["ink", "mean"]},
        "encoding": {"x": x, "y": mean_y, "tooltip": [{"field": "filesystem"}, {**mean_y, "title": "mean W", "format": ".2f"}]},
    }
    return {
        "title": {"text": title, "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8},
        "width": PANEL_WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        "layer": [{"mark": box, "encoding": {"x": x, "y": y, "color": {**colour(names), "legend": None}}}, mean],
    }
