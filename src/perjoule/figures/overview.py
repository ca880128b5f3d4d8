"""The best of each campaign, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.figures.vega import FULL_WIDTH, Spec, titled
from perjoule.model import Interval
from perjoule.model.format import any_number
from perjoule.model.metrics import Metric

_ROW_HEIGHT = 30


@dataclass(frozen=True)
class Best:
    """The row of a results folder that prints the most."""

    results: str
    of: str
    shown: Interval  # as drawn, in SI units: mean and interval, or median and range


def overview(bars: Sequence[Best], metric: Metric, title: str, notes: Sequence[str]) -> Spec:
    """Draw a bar for each campaign, in the given order."""
    rows = [bar.results for bar in bars]
    x = {"type": "quantitative", "title": metric.unit.symbol}
    y = {"field": "row", "type": "nominal", "sort": rows, "title": None}
    tooltip = [{"field": name} for name in ("row", "of", "value")]
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": {"band": 0.6}},
            "encoding": {"x": {"field": "centre", **x}, "y": y, "tooltip": tooltip},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": y},
        },
    ]
    size = {"width": FULL_WIDTH - 180, "height": max(60, _ROW_HEIGHT * len(bars))}
    values = [_row(bar, metric) for bar in bars]
    return titled({**size, "data": {"values": values}, "layer": layers}, title, notes)


def _row(bar: Best, metric: Metric) -> Spec:
    unit = metric.unit
    centre, low, high = (end / unit.per for end in (bar.shown.mean, bar.shown.low, bar.shown.high))
    ends = {"low": low, "high": high} if isfinite(high - low) else {}
    value = f"{any_number(centre)} {unit.symbol}"
    return {"row": bar.results, "of": bar.of, "centre": centre, "value": value, **ends}
