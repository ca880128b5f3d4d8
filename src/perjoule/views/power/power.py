"""The distribution of power during the measured windows, as box plots with the mean (Fig. 5 of "Green
Storage").
"""

from collections.abc import Iterator, Mapping, Sequence

from perjoule.figures.clients import HEIGHT, colour, panel_title
from perjoule.figures.loads import load_names
from perjoule.figures.vega import FULL_WIDTH, PANEL_WIDTH, Spec, quantitative, titled
from perjoule.model.units import clients_text
from perjoule.views.content import Content
from perjoule.views.now import Now
from perjoule.views.view import Live, View

Samples = Mapping[tuple[str, str, str], Sequence[float]]  # (file system, workload, direction) -> watts
ORDER = ("read", "write", "mixed", "idle")
LETTER_WIDTH, ROW = 7, 36  # px: of names, and the distance of boxes that lie


def power(samples: Samples, *, axis: str = "servers without switch", notes: Sequence[str] = ()) -> Spec:
    """Draw the distribution of power samples in watts: a panel for each load, reads first, with a box for
    each file system.

    Boxes lie, one above the other, if the names of file systems are too long to stand side by side. `axis`
    says whose watts these are.
    """
    names = list(dict.fromkeys(name for name, _, _ in samples))
    values = [w for watts in samples.values() for w in watts]
    # Never less than the watts are rounded to: a mark outside of the scale would stretch the figure over many
    # screens.
    margin = max(0.08 * (max(values) - min(values)), 0.002 * max(values), 0.01) if values else 1.0
    domain = [min(values, default=0.0) - margin, max(values, default=1.0) + margin]
    of_watts: Spec = {"field": "watts", "type": "quantitative", "title": f"W, {axis}"}
    of_watts |= {"scale": {"domain": domain, "nice": False, "zero": False}}
    longest_count = max(map(len, names), default=0)
    lying = LETTER_WIDTH * longest_count * len(names) > PANEL_WIDTH
    size: Spec = {"width": PANEL_WIDTH, "height": HEIGHT}
    if lying:
        size = {"width": FULL_WIDTH - LETTER_WIDTH * longest_count, "height": {"step": ROW}}
    loads = sorted({key[1:]: None for key in samples}, key=lambda load: ORDER.index(load[1]))
    panels = [
        size
        | _panel(
            {name: watts for (name, *load_of), watts in samples.items() if tuple(load_of) == load},
            names,
            panel_title(title),
            of_watts,
            lying=lying,
        )
        for load, title in load_names(loads).items()
    ]
    return titled(
        {"concat": panels, "columns": 1 if lying else 2, "spacing": 24}, "Power while measuring", notes
    )


def _panel(
    samples: Mapping[str, Sequence[float]], names: Sequence[str], title: str, of_watts: Spec, *, lying: bool
) -> Spec:
    rows = [{"filesystem": n, "watts": round(w, 3)} for n, watts in samples.items() for w in watts]
    of_name: Spec = {
        "field": "filesystem",
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(names)},
    }
    size = ROW / 2 if lying else 38
    box = {
        "type": "boxplot",
        "extent": 1.5,
        "size": size,
        "median": {"style": ["paper"]},
        "outliers": {"size": 14, "opacity": 0.5},
    }
    of_mean = quantitative(of_watts["title"], aggregate="mean", field="watts")
    name, watts = ("y", "x") if lying else ("x", "y")
    mean: Spec = {
        "mark": {"type": "point", "shape": "diamond", "size": 60, "filled": True, "style": ["ink", "mean"]},
        "encoding": {
            name: of_name,
            watts: of_mean,
            "tooltip": [{"field": "filesystem"}, {**of_mean, "title": "mean W", "format": ".2f"}],
        },
    }
    return {
        "title": {"text": title, "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8},
        "data": {"values": rows},
        "layer": [
            {
                "mark": box,
                "encoding": {name: of_name, watts: of_watts, "color": {**colour(names), "legend": None}},
            },
            mean,
        ],
    }


def spread(content: Content) -> str:
    """Say what a box is of."""
    return (
        f"samples of all repetitions with {clients_text(content.most_count)}; box: quartiles, diamond: mean"
    )


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if content.power:
        yield (
            "power",
            power(content.power, axis=content.power_axis, notes=[spread(content), *content.power_notes]),
        )


def _now(moment: Now) -> dict[str, float]:
    """Give the watts of the servers, and of each component where there are several."""
    boundary = moment.boundaries.get("net")
    if boundary is None or (watts := boundary.watts(moment.values)) is None:
        return {}
    components: dict[str, float] = {}
    for sign, channel in boundary.parts:
        components[channel.component] = components.get(channel.component, 0.0) + sign * moment.values[channel]
    return {"servers": watts, **(components if len(components) > 1 else {})}


VIEW = View(rank=60, figures=_figures, live=Live("Power of the servers", "W", _now))
