"""Raw capacity per watt of idle power, by cluster (Fig. 6 of "Green Storage")."""

from collections.abc import Iterator, Mapping, Sequence

from perjoule.figures.vega import FULL_WIDTH, Spec, layered, titled, tooltip_of
from perjoule.model.format import number
from perjoule.model.units import BYTES
from perjoule.views.content import Content
from perjoule.views.view import View


def capacity(tib_per_w: Mapping[str, float], *, highlighted: str = "", notes: Sequence[str] = ()) -> Spec:
    """Draw TiB/W as a bar per cluster; `highlighted` is the measured one."""
    rows = [
        {"cluster": n, "value": v, "text": number(v), "here": n == highlighted} for n, v in tib_per_w.items()
    ]
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
            "tooltip": tooltip_of(cluster="", text="TiB/W"),
        },
    }
    text: Spec = {
        "mark": {"type": "text", "align": "left", "dx": 4},
        "encoding": {"x": x, "y": y, "text": {"field": "text"}},
    }
    spec = layered(rows, [bars, text], FULL_WIDTH, {"step": 30})
    return titled(spec, "Capacity per watt", notes)


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    from perjoule import catalogue
    from perjoule.energy.efficiency import capacity_bytes_per_idle_w

    if not content.clusters:
        return
    every = {name: catalogue.cluster(name) for name in catalogue.names()}
    with_servers = {name: cluster for name, cluster in every.items() if catalogue.servers(cluster)}
    if not any(name in with_servers for name in content.clusters):
        return
    values = {c.title: capacity_bytes_per_idle_w(c) / BYTES["TiB"] for c in with_servers.values()}
    first = content.clusters[0]
    highlighted = with_servers[first].title if first in with_servers else ""
    notes = [
        "raw capacity of the data disks per watt that the servers draw idle, without switch; from the "
        "catalogue"
    ]
    yield "capacity", capacity(values, highlighted=highlighted, notes=notes)


VIEW = View(rank=240, figures=_figures)
