"""Live meter readings: a line per channel with its recent past."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from rich.table import Table
from rich.text import Text

from perjoule.energy.behaviour import powers
from perjoule.model import Channel, Series
from perjoule.model.format import number

_BARS = " ▁▂▃▄▅▆▇█"


def plot(series: Sequence[Series], now_s: float, *, width: int, span_s: float) -> Table:
    """Lay out the channels with the last `span_s` seconds as bars, `width` of them; a gap is empty."""
    plotted = Table(box=None, padding=(0, 1))
    for heading in ("channel", "covers", "now", "mean", f"the last {span_s:.0f} s"):
        plotted.add_column(heading, justify="right" if heading in ("now", "mean") else "left", no_wrap=True)
    for channel_series in series:
        t_s, watts = powers(channel_series)
        recent = watts[t_s > now_s - span_s]
        failed = bool(len(channel_series.value)) and not isfinite(channel_series.value[-1])
        watts_now = Text("no answer", style="red") if failed else _watts(recent[-1:])
        plotted.add_row(
            named(channel_series.channel),
            covered(channel_series.channel),
            watts_now,
            _watts(recent),
            bars(t_s, watts, now_s, width, span_s),
        )
    return plotted


def named(channel: Channel) -> str:
    """Return a channel's name on the terminal."""
    return f"{channel.meter} {channel.quantity}"


def covered(channel: Channel) -> str:
    """Return what a channel covers, in words."""
    if channel.covers:
        return "+".join(channel.covers)
    part = "" if channel.component == "all" else channel.component
    return " ".join(part for part in (channel.host, part) if part) or "all"


def bars(t_s: np.ndarray, watts: np.ndarray, now_s: float, width: int, span_s: float) -> Text:
    """Draw power over time as bars of eighths, from its lowest to its highest in the span, followed by
    both values.
    """
    edges_s = np.linspace(now_s - span_s, now_s, width + 1)
    slots = np.digitize(t_s, edges_s) - 1
    inside = (slots >= 0) & (slots < width)
    if not inside.any():
        return Text("nothing yet", style="dim")
    low, high = float(watts[inside].min()), float(watts[inside].max())
    line = ""
    for slot in range(width):
        here = watts[slots == slot]
        level = (
            1 + round((float(here.mean()) - low) / (high - low) * 7)
            if len(here) and high > low
            else 1
            if len(here)
            else 0
        )
        line += _BARS[level]
    return Text.assemble(line, (f" {number(low)} to {number(high)} W", "dim"))


def _watts(values: np.ndarray) -> str:
    return f"{number(float(values.mean()))} W" if len(values) else ""
