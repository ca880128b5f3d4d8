"""Raw capacity per watt of idle power, by cluster (Fig. 6 of "Green Storage")."""

from collections.abc import Mapping, Sequence

from perjoule.figures.vega import FULL_WIDTH, Spec, titled
from perjoule.model.format import number


def capacity(tib_per_w: Mapping[str, float], *, highlighted: str = "", notes: Sequence[str] = ()) -> Spec:
    """Draw TiB/W as a bar per cluster; `highlighted` is the measured one."""
    rows = [{"cluster": n, "value": v, "text": number(v), "here": n == highlighted} for n, v in tib_per_w.items()]
    best_first = sorted(tib_per_w, key=lambda name: -tib_per_w[name])
    y: Spec = {"field": "cluster", "type": "nominal", "scale": {"domain": best_first}, "title": None}
    x: Spec = {"field": "value", "type": "quantitative", "title": "TiB/W"}
    bars: Spec = {
        "mark": {"type": "bar", "height": 18, "cornerRadiusEnd": 2},
        "encoding": {
            "x": x,
            "y": y,
            "color": {
                "field": "here",
                "type": "nominal",
                "scale": {"domain": [True, False], "range": "component"},
                "legend": None,
            },
            "tooltip": [{"field": "cluster"}, {"field": "text", "title": "TiB/W"}],
        },
    }
    text: Spec = {
        "mark": {"type": "text", "align": "left", "dx": 4},
        "encoding": {"x": x, "y": y, "text": {"field": "text"}},
    }
    spec: Spec = {"width": FULL_WIDTH, "height": {"step": 30}, "data": {"values": rows}, "layer": [bars, text]}
    return titled(spec, "Capacity per watt", notes)
