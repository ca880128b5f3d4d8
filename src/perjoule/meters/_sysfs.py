"""Numbers from the kernel's sysfs, for meters that the kernel itself reads."""

import math
import time
from dataclasses import dataclass
from pathlib import Path

from perjoule.model import Channel
from perjoule.model.errors import MachineError


@dataclass(frozen=True)
class Sensor:
    """A file with a number, and what it means."""

    channel: Channel
    path: Path
    factor: float  # from the number to the channel's unit
    unknown: float = math.inf  # a number that high means that the sensor knows none
    duration_s: float = 0.0  # of the window that a number is the mean of

    def value(self, number: float) -> float:
        """Return a reading in the channel's unit, NaN if the sensor has none."""
        return math.nan if number >= self.unknown else number * self.factor


def word(path: Path) -> str:
    """Return the text of an attribute, "" if it is missing or can't be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def timed(path: Path) -> tuple[int, float, float]:
    """Read an integer, and CLOCK_MONOTONIC before and after. Raises OSError, ValueError."""
    began_s = time.monotonic()
    text = path.read_text()
    return int(text), began_s, time.monotonic()


def whole(path: Path, *, what: str) -> int:
    """Read a mandatory positive integer.

    Raises:
        MachineError: it can't be read, or is not positive.
    """
    try:
        value = int(path.read_text())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MachineError(f"{what} can't be read ({reason})", where=str(path)) from None
    if value <= 0:
        raise MachineError(f"{what} is {value}", where=str(path))
    return value
