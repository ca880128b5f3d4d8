"""The devices that the meters cover: the cluster as boxes by role, with a bar of watts per channel below its devices."""

from collections.abc import Sequence
from dataclasses import dataclass

from perjoule.figures.vega import FULL_WIDTH, Spec, labels, titled

ROW, BOX = 24, 46  # heights
LEAST_WIDTH = 46  # of a box
PALE = 0.4  # so that words on it can be read in both themes


@dataclass(frozen=True)
class Device:
    """A box: a host, or the switch."""

    name: str
    role: str


@dataclass(frozen=True)
class Bar:
    """The devices of one channel; bars of one row share a line ("plug", "modelled, board")."""

    row: str
    devices: tuple[str, ...]  # names of boxes
    grade: str
    watts: float | None  # None: refused


def boundaries(devices: Sequence[Device], bars: Sequence[Bar], *, notes: Sequence[str] = ()) -> Spec:
    """Draw boxes from left to right in the given order, and each channel's bar below the boxes that it covers."""
    place = {device.name: index for index, device in enumerate(devices)}
    rows = list(dict.fromkeys(bar.row for bar in bars))
    roles = list(dict.fromkeys(device.role for device in devices))
    boxes = [
        {"x": place[d.name] + 0.06, "x2": place[d.name] + 0.94, "middle": place[d.name] + 0.5, "text": d.name, "name": d.role}
        for d in devices
    ]
    pieces = [piece for bar in bars for piece in _pieces(bar, place)]
    x: Spec = {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [0, len(devices)], "nice": False}}
    width = max(FULL_WIDTH - 130, LEAST_WIDTH * len(devices))
    fill: Spec = {"x": x, "x2": {"field": "x2"}}
    words: Spec = {"x": {**x, "field": "middle"}}
    cluster: Spec = {
        "width": width,
        "height": BOX,
        "data": {"values": boxes},
        "layer": [
            {"mark": {"type": "rect", "cornerRadius": 4, "opacity": PALE}, "encoding": {**fill, "color": labels(roles, "role")}},
            {"mark": {"type": "text", "fontSize": 11}, "encoding": {**words, "text": {"field": "text"}}},
        ],
    }
    y: Spec = {"field": "row", "type": "nominal", "title": None, "sort": rows, "axis": {"ticks": False, "labelLimit": 126}}
    tooltip = [{"field": "row", "title": "channel"}, {"field": "covers"}, {"field": "grade"}, {"field": "text", "title": "power"}]
    below: Spec = {
        "width": width,
        "height": {"step": ROW},
        "data": {"values": pieces},
        "layer": [
            {
                "mark": {"type": "rect", "height": ROW - 6, "cornerRadius": 2, "opacity": PALE},
                "encoding": {
                    **fill,
                    "y": y,
                    "color": {**labels(list(dict.fromkeys(b.grade for b in bars)), "category"), "field": "grade"},
                    "tooltip": tooltip,
                },
            },
            {
                "transform": [{"filter": "datum.first"}],
                "mark": {"type": "text", "fontSize": 11, "align": "left", "dx": 4},
                "encoding": {"x": x, "y": y, "text": {"field": "text"}},
            },
        ],
    }
    both: Spec = {"vconcat": [cluster, below], "spacing": 6, "resolve": {"scale": {"color": "independent"}}}
    return titled(both, "What the meters cover", notes)


def _pieces(bar: Bar, place: dict[str, int]) -> list[Spec]:
    """Return a piece for each run of adjacent boxes; the first one has the watts."""
    covered = sorted(place[name] for name in bar.devices if name in place)
    runs: list[list[int]] = []
    for index in covered:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    text = "refused" if bar.watts is None else f"{bar.watts:.4g} W"
    shared = {"row": bar.row, "grade": bar.grade, "text": text, "covers": ", ".join(bar.devices)}
    return [{"x": run[0] + 0.06, "x2": run[-1] + 0.94, "first": run is runs[0], **shared} for run in runs]
