"""Parsers of Redfish's power schemas: https://redfish.dmtf.org/schemas/

None means missing, NaN means null.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from perjoule.model.units import JOULES

# ISO 8601, as Redfish writes it
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")


def at(document: Any, *steps: str | int) -> Any:
    """Return the value behind these names and numbers, None if a step leads nowhere."""
    for step in steps:
        if isinstance(step, int):
            document = document[step] if isinstance(document, list) and step < len(document) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        else:
            document = document.get(step) if isinstance(document, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return document  # pyright: ignore[reportUnknownVariableType]


def link(document: Any, *steps: str | int) -> str:
    """Return the path of a link; "" if there is no link."""
    path = at(document, *steps, "@odata.id")
    return path if isinstance(path, str) else ""


def environment_w(document: Mapping[str, Any], _control: int = 0) -> float | None:
    """Return the power of EnvironmentMetrics."""
    return number(at(document, "PowerWatts"), "Reading")


def energy_j(document: Mapping[str, Any], _control: int = 0) -> float | None:
    """Return the energy counter of EnvironmentMetrics: joules since 1.2, kWh before."""
    joules, kwh = (
        number(at(document, "EnergyJoules"), "Reading"),
        number(at(document, "EnergykWh"), "Reading"),
    )
    return joules if joules is not None else None if kwh is None else kwh * JOULES["kWh"]


def consumed_w(document: Mapping[str, Any], control: int) -> float | None:
    """Return the power of a PowerControl."""
    return number(at(document, "PowerControl", control), "PowerConsumedWatts")


def average_w(document: Mapping[str, Any], control: int) -> float | None:
    """Return the average over `interval_s`, which replaces it in some services."""
    return number(at(document, "PowerControl", control, "PowerMetrics"), "AverageConsumedWatts")


def interval_s(document: Mapping[str, Any], control: int) -> float | None:
    """Return the averaging interval."""
    minutes = number(at(document, "PowerControl", control, "PowerMetrics"), "IntervalInMin")
    return None if minutes is None or math.isnan(minutes) else 60.0 * minutes


def duration_s(text: str) -> float | None:
    """Parse a Redfish duration: "PT1M30S" is 90 s; None if it is invalid."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds or None


def number(document: Any, name: str) -> float | None:
    """Return the number of this name, or the text of one; NaN for null and the like.

    Raises:
        ValueError: it is another text, which would be a gap without a reason.
    """
    if not isinstance(document, dict) or name not in document:
        return None
    value = at(document, name)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"its {name} is {str(value)[:40]!r}, which is no number") from None
