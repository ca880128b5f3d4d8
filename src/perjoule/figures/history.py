"""A metric over campaigns, a panel for each combination: means with their intervals, levels, and steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.figures.vega import PANEL_WIDTH, Spec, layered, quantitative, titled
from perjoule.model.format import any_number

HEIGHT = 130
# times the range of the means: an interval that ends farther from its mean would press all others together
WIDE = 1.5


@dataclass(frozen=True)
class CampaignMean:
    """A campaign's mean; ends are infinite without an interval."""

    number: int  # of the campaign, from 1
    campaign: str  # its folder and day
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Flat:
    """A level from one campaign to another."""

    first: int
    last: int
    mean: float


@dataclass(frozen=True)
class Panel:
    """A combination; values are in the figure's unit."""

    heading: str
    means: Sequence[CampaignMean]
    levels: Sequence[Flat]


def history(
    panels: Sequence[Panel], unit: str, campaigns_count: int, title: str, notes: Sequence[str]
) -> Spec:
    """Draw the panels, two in a row."""
    drawn = [_panel(panel, unit, campaigns_count) for panel in panels]
    return titled({"concat": drawn, "columns": min(2, len(drawn))}, title, notes)


def _panel(panel: Panel, unit: str, campaigns_count: int) -> Spec:
    x = quantitative(
        "campaign",
        scale={"domain": [0.5, campaigns_count + 0.5], "nice": False},
        axis={"tickMinStep": 1, "format": "d"},
    )
    y = {"type": "quantitative", "title": unit, "scale": {"zero": False}}
    top, bottom = max(mean.mean for mean in panel.means), min(mean.mean for mean in panel.means)
    most = WIDE * max(top - bottom, 0.05 * top)
    means = [
        {
            "n": mean.number,
            "campaign": mean.campaign,
            "mean": mean.mean,
            "value": f"{any_number(mean.mean)} {unit}",
        }
        | _ends(mean, most)
        for mean in panel.means
    ]
    flats = [
        {"from": level.first - 0.4, "to": level.last + 0.4, "mean": level.mean} for level in panel.levels
    ]
    steps = [{"at": level.first - 0.5} for level in panel.levels[1:]]
    layers: list[Spec] = [
        {
            "data": {"values": steps},
            "mark": {"type": "rule", "style": "bound"},
            "encoding": {"x": {"field": "at", **x}},
        },
        {
            "data": {"values": flats},
            "mark": {"type": "rule", "style": "ink", "strokeWidth": 1.5, "opacity": 0.7},
            "encoding": {"x": {"field": "from", **x}, "x2": {"field": "to"}, "y": {"field": "mean", **y}},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": {"field": "n", **x}, "y": {"field": "low", **y}, "y2": {"field": "high"}},
        },
        *(
            {
                "transform": [{"filter": f"datum.cut && isValid(datum.{end})"}],
                "mark": {
                    "type": "point",
                    "shape": f"triangle-{direction}",
                    "filled": True,
                    "size": 40,
                    "opacity": 1,
                },
                "encoding": {"x": {"field": "n", **x}, "y": {"field": end, **y}},
            }
            for end, direction in (("low", "down"), ("high", "up"))
            if any(row.get("cut") for row in means)
        ),
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {
                "x": {"field": "n", **x},
                "y": {"field": "mean", **y},
                "tooltip": [{"field": name} for name in ("campaign", "value")],
            },
        },
    ]
    heading = {"text": panel.heading, "fontSize": 12, "anchor": "start"}
    return layered(means, layers, PANEL_WIDTH, HEIGHT, title=heading)


def _ends(mean: CampaignMean, most: float) -> Spec:
    """Return an interval's ends, cut off where it is too wide; nothing without an interval."""
    if not isfinite(mean.high):
        return {}
    low, high = max(mean.low, mean.mean - most), min(mean.high, mean.mean + most)
    return {"low": low, "high": high} | ({"cut": True} if (low, high) != (mean.low, mean.high) else {})
