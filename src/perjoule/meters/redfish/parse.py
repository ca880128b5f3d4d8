"""What a Redfish service says of power, in the words of its schemas: https://redfish.dmtf.org/schemas/

None is "there is no such thing", NaN is "it is null".
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from perjoule.model.units import JOULES

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")  # ISO 8601, as Redfish writes it


def at(said: Any, *steps: str | int) -> Any:
    """What lies behind these names and numbers, None where a step leads nowhere."""
    for step in steps:
        if isinstance(step, int):
            said = said[step] if isinstance(said, list) and step < len(said) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        else:
            said = said.get(step) if isinstance(said, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return said  # pyright: ignore[reportUnknownVariableType]


def link(said: Any, *steps: str | int) -> str:
    """The path that stands there; "" where none does."""
    found = at(said, *steps, "@odata.id")
    return found if isinstance(found, str) else ""


def environment_w(said: Mapping[str, Any], _control: int = 0) -> float | None:
    """The power of EnvironmentMetrics."""
    return number(at(said, "PowerWatts"), "Reading")


def energy_j(said: Mapping[str, Any], _control: int = 0) -> float | None:
    """The energy counter of EnvironmentMetrics: joules since 1.2, kWh before."""
    joules, kwh = number(at(said, "EnergyJoules"), "Reading"), number(at(said, "EnergykWh"), "Reading")
    return joules if joules is not None else None if kwh is None else kwh * JOULES["kWh"]


def consumed_w(said: Mapping[str, Any], control: int) -> float | None:
    """The power of a PowerControl."""
    return number(at(said, "PowerControl", control), "PowerConsumedWatts")


def average_w(said: Mapping[str, Any], control: int) -> float | None:
    """The average over `interval_s` that stands in for it in some services."""
    return number(at(said, "PowerControl", control, "PowerMetrics"), "AverageConsumedWatts")


def interval_s(said: Mapping[str, Any], control: int) -> float | None:
    """Over how long that average goes."""
    minutes = number(at(said, "PowerControl", control, "PowerMetrics"), "IntervalInMin")
    return None if minutes is None or math.isnan(minutes) else 60.0 * minutes


def duration_s(text: str) -> float | None:
    """A duration as Redfish writes it: "PT1M30S" is 90 s; None where it is none."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds or None


def number(said: Any, name: str) -> float | None:
    """The number of this name; NaN where something else stands there."""
    if not isinstance(said, dict) or name not in said:
        return None
    value = at(said, name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
