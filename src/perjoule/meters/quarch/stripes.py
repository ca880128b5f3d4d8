"""The streams of Quarch modules: what a header says of their columns, watts of each line ("stripe"), and when
its window ended.

A stripe is a time in us since the stream began, and a number for each column, at the place that the header
gives it. Its window begins at that time, for the first one has 0. Source: help.txt of Quarch Instrument
Server, appendix A.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DRIFT_RATIO = 1e-4  # by which a module's clock may be off
_CHANNEL = re.compile(r"<channel>((?:(?!<channel>).)*?)</channel>", re.DOTALL)
_PERIOD = re.compile(r"<mainPeriod>\s*(\d+(?:\.\d+)?)\s*([num]?s)\s*</mainPeriod>", re.IGNORECASE)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_FACTORS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0}
_MOST_CHANNELS = 100


@dataclass(frozen=True)
class StripeLayout:
    """The columns that make up the power, as products of (place, factor), and the length of a window."""

    terms: tuple[tuple[tuple[int, float], ...], ...]  # to be added
    count: int  # of the words of a whole stripe
    period_s: float

    @property
    def multiplies(self) -> bool:
        """Whether voltage and current are multiplied here, after averaging."""
        return any(len(term) > 1 for term in self.terms)


def layout(header: str) -> StripeLayout:
    """Parse an answer to "stream text header".

    Raises ValueError: not of version 3, or without power, or voltage and current.
    """
    period = _PERIOD.search(header)
    if period is None or "<version>V3" not in header:
        raise ValueError(f"not a header of version 3: {header[:60]!r}")
    columns: dict[tuple[str, str], tuple[int, float]] = {}  # by group and name
    for text in _CHANNEL.findall(header)[:_MOST_CHANNELS]:
        name, group, units, place = (_field(text, key) for key in ("name", "group", "units", "dataPosition"))
        if place.isdecimal() and group in ("power", "voltage", "current"):
            symbol = units[-1:]
            if (
                symbol != {"power": "W", "voltage": "V", "current": "A"}[group]
                or units[:-1].lower() not in _FACTORS
            ):
                raise ValueError(f"{group} of {name} is in {units!r}, an unknown unit")
            columns[group, name] = int(place), _FACTORS[units[:-1].lower()]
    powers = {name: column for (group, name), column in columns.items() if group == "power"}
    totals = [column for name, column in powers.items() if name.lower().startswith("tot")]
    rails = [name for group, name in columns if group == "voltage" and ("current", name) in columns]
    terms: Iterable[tuple[tuple[int, float], ...]]
    if totals:
        terms = [(totals[0],)]
    elif powers:
        terms = [(column,) for column in powers.values()]
    else:
        terms = [(columns["voltage", name], columns["current", name]) for name in rails]
    if not terms:
        raise ValueError("the stream has no power, and no voltage with its current")
    last = max(place for place, _ in columns.values())
    return StripeLayout(tuple(terms), last + 1, float(period[1]) * _SECONDS[period[2].lower()])


def stripes(text: str, layout: StripeLayout) -> list[tuple[float, float]]:
    """Return begin (seconds of the stream) and watts of each window; a stripe that lacks a number has NaN.

    Raises ValueError.
    """
    windows: list[tuple[float, float]] = []
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields == ["eof"]:  # "eof": no more for the moment
            continue
        try:
            numbers = [float(field) for field in fields]
        except ValueError:
            raise ValueError(f"not a line of a stream: {line[:60]!r}") from None
        if not math.isfinite(numbers[0]) or (windows and numbers[0] * 1e-6 <= windows[-1][0]):
            raise ValueError(f"a window at {fields[0][:20]} us does not follow the one before")
        complete = len(numbers) >= layout.count
        watts = (
            sum(math.prod(numbers[place] * factor for place, factor in term) for term in layout.terms)
            if complete
            else math.nan
        )
        windows.append((numbers[0] * 1e-6, watts if math.isfinite(watts) else math.nan))
    return windows


class StripeTimes:
    """Ends of windows on CLOCK_MONOTONIC: at the latest when they came, and by the module's clock after
    those before.
    """

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._t_s = self._end_s = math.nan  # of the window before

    def ends_s(self, begins_s: Sequence[float], came_s: float) -> list[float]:
        """Return the end of each window of an answer, from their begins in seconds of the stream."""
        window_ends_s: list[float] = []
        for t_s in begins_s:
            latest_s = came_s - (begins_s[-1] - t_s)
            passed_s = t_s - self._t_s
            end_s = min(latest_s, self._end_s + passed_s * (1 + DRIFT_RATIO)) if passed_s > 0 else latest_s
            self._t_s, self._end_s = t_s, end_s
            window_ends_s.append(end_s)
        return window_ends_s


def _field(text: str, key: str) -> str:
    match = re.search(rf"<{key}>([^<]*)</{key}>", text)
    return match[1].strip() if match else ""
