"""Live meter readings: a line per channel with its recent past."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from perjoule.cli.terminal.tables import laid_out
from perjoule.energy.behaviour import powers
from perjoule.model import Channel, Series
from perjoule.model.format import number
from perjoule.results.table import Table

_BARS = " ▁▂▃▄▅▆▇█"
_WORDS = ("channel", "covers")
_HEADERS = (*_WORDS, "now, W", "mean, W", "least, W", "most, W")
_GAP = 2  # before the bars
LEAST_BARS_COUNT, MOST_BARS_COUNT = 11, 40  # as wide as "nothing yet"


def plot(series: Sequence[Series], now_s: float, *, width: int, span_s: float) -> Text:
    """Lay out the channels with their watts in the last `span_s` seconds, and those as bars where the width has room
    for some; a gap is empty.
    """
    rows: list[tuple[str, ...]] = []
    powers_of = [powers(channel_series) for channel_series in series]
    for channel_series, (t_s, watts) in zip(series, powers_of, strict=True):
        recent = watts[t_s > now_s - span_s]
        failed = bool(len(channel_series.value)) and not isfinite(channel_series.value[-1])
        named_values = (recent[-1:].mean, recent.mean, recent.min, recent.max) if len(recent) else ()
        values = [number(float(value())) for value in named_values] or ["–"] * 4
        now_text = "no answer" if failed else values[0]
        channel = channel_series.channel
        rows.append((named(channel), covered(channel), now_text, *values[1:]))
    table = Table(_HEADERS, tuple(rows), _WORDS)
    layout = laid_out(table, width - LEAST_BARS_COUNT - _GAP)
    if not layout.headers:  # records, beside which nothing has room
        return Text("\n".join(laid_out(table, width).rows))
    taken = max(map(cell_len, (*layout.headers, *layout.rows))) + _GAP
    bars_count = min(MOST_BARS_COUNT, width - taken)
    lines = [*layout.headers[:-1], f"{layout.headers[-1].ljust(taken)}last {span_s:.0f} s"]
    for (first, *rest), (t_s, watts) in zip(layout.by_row, powers_of, strict=True):
        lines += [f"{first.ljust(taken)}{bars(t_s, watts, now_s, bars_count, span_s)}", *rest]
    return Text("\n".join([*lines, *([f"in all rows: {layout.common}"] if layout.common else [])]))


def named(channel: Channel) -> str:
    """Return a channel's name on the terminal."""
    return f"{channel.meter} {channel.quantity}"


def covered(channel: Channel) -> str:
    """Return what a channel covers, in words."""
    if channel.covers:
        return "+".join(channel.covers)
    part = "" if channel.component == "all" else channel.component
    return " ".join(part for part in (channel.host, part) if part) or "all"


def bars(t_s: np.ndarray, watts: np.ndarray, now_s: float, width: int, span_s: float) -> str:
    """Draw power over time as bars of eighths, from its lowest to its highest in the span."""
    edges_s = np.linspace(now_s - span_s, now_s, width + 1)
    slots = np.digitize(t_s, edges_s) - 1
    inside = (slots >= 0) & (slots < width)
    if not inside.any():
        return "nothing yet"
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
    return line
