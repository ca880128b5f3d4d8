"""Numbers from the kernel's sysfs, for meters that the kernel itself reads."""

import math
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from perjoule.model import Channel
from perjoule.model.errors import MachineError

MOST_BYTES = 4096  # of an attribute: the kernel gives it a page
MOST_BITS = 64  # of a number


@dataclass(frozen=True)
class Sensor:
    """A file with a number, and what it means."""

    channel: Channel
    path: Path
    factor: float  # from the number to the channel's unit
    unknown: float = math.inf  # a number that high means that the sensor knows none
    duration_s: float = 0.0  # of the window that a number is the mean of
    zero_unknown: bool = False  # so does 0
    unit: str = ""  # that stands behind the number in its file

    def timed(self) -> tuple[float, float, float]:
        """Read its file: the value, and CLOCK_MONOTONIC before and after. Raises OSError, ValueError."""
        text, began_s, ended_s = timed(self.path)
        return self.value(_integer(self.number(text))), began_s, ended_s

    def number(self, text: str) -> str:
        """Return the text of the number that its file shows, without its unit and what may be behind that.

        Raises ValueError: the unit is another.
        """
        if not self.unit:
            return text
        fields = text.replace("\0", " ").split()  # some kernels fill an attribute's page
        if fields[1:2] != [self.unit]:
            raise ValueError(f"{text.strip()[:40]!r} is not a number in {self.unit}")
        return fields[0]

    def value(self, number: float) -> float:
        """Return a reading in the channel's unit, NaN if the sensor has none."""
        return (
            math.nan if number >= self.unknown or (self.zero_unknown and not number) else number * self.factor
        )


def attribute(path: Path) -> str:
    """Return the text of an attribute, "" if it is missing or can't be read."""
    try:
        return _text(path).strip()
    except (OSError, ValueError):
        return ""


def number(path: Path) -> float | None:
    """Return the number of an attribute, whatever its sign or unit "%"; None if it has none."""
    try:
        value = float(attribute(path).removesuffix("%"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def timed(path: Path) -> tuple[str, float, float]:
    """Read an attribute, and CLOCK_MONOTONIC before and after. Raises OSError, ValueError."""
    began_s = time.monotonic()
    text = _text(path)
    return text, began_s, time.monotonic()


def positive(path: Path, *, name: str) -> int:
    """Read a mandatory positive integer.

    Raises:
        MachineError: it can't be read, or is not positive.
    """
    try:
        value = _integer(_text(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MachineError(f"{name} can't be read ({reason})", where=str(path)) from None
    if value <= 0:
        raise MachineError(f"{name} is {value}", where=str(path))
    return value


def _text(path: Path) -> str:
    """Read an attribute without waiting.

    Raises OSError, ValueError: it is a pipe or a device, or longer than an attribute.
    """
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise ValueError(f"{path} is not a file of the kernel's attributes")
        content = os.read(opened, MOST_BYTES + 1)
    finally:
        os.close(opened)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path} has more than {MOST_BYTES} bytes")
    return content.decode("ascii", "replace")


def _integer(text: str) -> int:
    value = int(text)
    if value.bit_length() > MOST_BITS:
        raise ValueError(f"{text.strip()[:20]} ... is larger than any number of the kernel")
    return value
