"""The best of each campaign, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.figures.vega import FULL_WIDTH, Spec, titled
from perjoule.model.format import any_number

_ROW_HEIGHT = 30


@dataclass(frozen=True)
class Best:
    """The highest mean of a results folder; ends are infinite without an interval."""

    results: str
    of: str
    mean: float
    low: float
    high: float


def overview(bars: Sequence[Best], unit: str, title: str, notes: Sequence[str]) -> Spec:
    """Draw a bar for each campaign, in the given order; values are in `unit`."""
    rows = [bar.results for bar in bars]
    values = [
        {"row": row, "of": bar.of, "mean": bar.mean, "value": f"{any_number(bar.mean)} {unit}"}
        | ({"low": bar.low, "high": bar.high} if isfinite(bar.high - bar.low) else {})
        for row, bar in zip(rows, bars, strict=True)
    ]
    x = {"type": "quantitative", "title": unit}
    y = {"field": "row", "type": "nominal", "sort": rows, "title": None}
    tooltip = [{"field": name} for name in ("row", "of", "value")]
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "height": {"band": 0.6}},
            "encoding": {"x": {"field": "mean", **x}, "y": y, "tooltip": tooltip},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": y},
        },
    ]
    size = {"width": FULL_WIDTH - 180, "height": max(60, _ROW_HEIGHT * len(bars))}
    return titled({**size, "data": {"values": values}, "layer": layers}, title, notes)
