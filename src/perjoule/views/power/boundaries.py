"""The devices that the meters cover: the cluster's from top to bottom, and for each channel a bar of watts
beside its own.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perjoule.figures.vega import FULL_WIDTH, Spec, labels, titled, tooltip_of
from perjoule.model.format import number
from perjoule.views.content import Content
from perjoule.views.view import View

if TYPE_CHECKING:
    from perjoule.summary.metered import Bar, MeteredDevice


ROW = 26  # the height of a device
PALE = 0.4  # so that words on it can be read in both themes
HEADING = 13  # the height of a line of a column's name
STRIP = 8  # the width of the strip that says a device's role


def boundaries(
    devices: Sequence["MeteredDevice"], bars: Sequence["Bar"], *, notes: Sequence[str] = ()
) -> Spec:
    """Draw devices from top to bottom in the given order, and each channel's bar beside the devices that
    it covers.
    """
    place = {device.name: index for index, device in enumerate(devices)}
    columns = list(dict.fromkeys(bar.row for bar in bars))
    roles = list(dict.fromkeys(device.role for device in devices))
    strips = [
        {
            "y": place[d.name] + 0.06,
            "middle": place[d.name] + 0.5,
            "y2": place[d.name] + 0.94,
            "device": d.name,
            "name": d.role,
        }
        for d in devices
    ]
    scale: Spec = {"domain": [0, len(devices)], "nice": False, "reverse": True}
    y: Spec = {"field": "y", "type": "quantitative", "axis": None, "scale": scale}
    x: Spec = {"field": "row", "type": "nominal", "title": None, "sort": columns}
    x["axis"] = {
        "orient": "top",
        "ticks": False,
        "domain": False,
        "labelExpr": "split(datum.label, ', ')",
        "labelLineHeight": HEADING,
    }
    x["axis"] |= {"labelPadding": 4 + HEADING * max((column.count(", ") for column in columns), default=0)}
    x["scale"] = {"paddingInner": 0.08, "paddingOuter": 0}
    tooltip = tooltip_of(row="channel", covers="", grade="", text="power")
    grade = labels(
        list(dict.fromkeys(bar.grade for bar in bars)),
        "category",
        title="power is",
        titleOrient="left",
        orient="bottom",
    )
    layers: list[Spec] = [
        {
            "data": {"values": strips},
            "mark": {"type": "rect", "cornerRadius": 2},
            "encoding": {
                "x": {"value": -STRIP - 2},
                "x2": {"value": -2},
                "y": y,
                "y2": {"field": "y2"},
                "color": labels(roles, "role"),
                "tooltip": tooltip_of(device="", name="role"),
            },
        },
        {
            "data": {"values": strips},
            "mark": {"type": "text", "fontSize": 11, "align": "right"},
            "encoding": {
                "x": {"value": -STRIP - 8},
                "y": {**y, "field": "middle"},
                "text": {"field": "device"},
            },
        },
        {
            "mark": {"type": "rect", "cornerRadius": 2, "opacity": PALE},
            "encoding": {
                "x": x,
                "y": y,
                "y2": {"field": "y2"},
                "color": {**grade, "field": "grade"},
                "tooltip": tooltip,
            },
        },
        {
            "transform": [{"filter": "datum.first"}],
            "mark": {"type": "text", "fontSize": 11, "style": "panel"},
            "encoding": {"x": x, "y": {**y, "field": "middle"}, "text": {"field": "text"}},
        },
    ]
    spec: Spec = {
        "width": FULL_WIDTH - 130,
        "height": ROW * max(1, len(devices)),
        "data": {"values": [piece for bar in bars for piece in _pieces(bar, place)]},
        "layer": layers,
        "resolve": {"scale": {"color": "independent"}},
    }
    return titled(spec, "What the meters cover", notes)


def _pieces(bar: "Bar", place: dict[str, int]) -> list[Spec]:
    """Return a piece for each run of adjacent devices; the first one has the watts."""
    covered = sorted(place[name] for name in bar.devices if name in place)
    runs: list[list[int]] = []
    for index in covered:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    text = "refused" if bar.watts is None else f"{number(bar.watts)} W"
    shared = {"row": bar.row, "grade": bar.grade, "text": text, "covers": ", ".join(bar.devices)}
    return [
        {
            "y": run[0] + 0.06,
            "y2": run[-1] + 0.94,
            "middle": (run[0] + run[-1] + 1) / 2,
            "first": run is runs[0],
            **shared,
        }
        for run in runs
    ]


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if covering := max(content.metered, key=lambda trial: trial.key[2], default=None):
        notes = ["power: mean over the measured window of one trial", *content.power_notes]
        yield "boundaries", boundaries(covering.devices, covering.bars, notes=notes)


VIEW = View(rank=200, figures=_figures)
