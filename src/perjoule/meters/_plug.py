"""Parts that metered plugs share: an address, power, an energy counter, and their errors as
far as stated.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.meters._metered import MOMENTS_HZ, RATE, Metered
from perjoule.meters._secret import secret
from perjoule.model import OPTIONS, Channel, Grade, Json, Semantics, Specification
from perjoule.model.units import JOULES, Hertz, RelativeError, Seconds

JOULES_PER_WH, JOULES_PER_KWH = JOULES["Wh"], JOULES["kWh"]
# by which a phase without a load may be below zero, and of the largest phase
PHASE_ZERO_W, PHASE_ZERO_RATIO = 1.0, 0.01
MOST = 1e15  # of what any plug counts

ADDRESS = 'Its host name or IP address, with ":port" if not the default.'
TIMEOUT = "How long an answer may take; later ones are gaps, because the moment they describe is unknown."
USER = "The user name, if it needs a login."
_PASSWORD = "A file that contains only the password."
_ACCURACY = "The largest error of its readings, from its maker for this model or from your own calibration."


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Plug(Metered):
    """A plug at the wall with a network connection: both its power and its energy counter are recorded."""

    grade: ClassVar[Grade] = "wall"
    semantics: ClassVar[Semantics] = "instantaneous"  # of its power

    # Their words are not docstrings: pydantic finds those in a class's own text only, and drivers inherit
    # these fields.
    address: Annotated[str, Field(description=ADDRESS)]
    timeout_s: Annotated[Seconds, Field(description=TIMEOUT)] = 1.0
    accuracy_ratio: Annotated[RelativeError | None, Field(description=_ACCURACY)] = None
    user: Annotated[str, Field(description=USER)] = "admin"
    password_file: Annotated[Path | None, Field(description=_PASSWORD)] = None
    rate_hz: Annotated[Hertz, Field(description=RATE)] = MOMENTS_HZ

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Its address, also from that of its page: "http://192.168.1.50/"."""
        return super().located(place.removeprefix("http://").rstrip("/"))

    @property
    def password(self) -> str:
        """The password, "" if none is needed. Raises MachineError: its file can't be read."""
        return secret(self.password_file)

    def power(
        self, extent: Boundary, *, resolution_w: float | None = None, period_s: float | None = None
    ) -> Channel:
        """Its power."""
        specification = Specification(
            gain_ratio=self.accuracy_ratio, resolution=resolution_w, period_s=period_s
        )
        return extent.channel("power", self.semantics, self.grade, specification)

    def energy(
        self, extent: Boundary, *, resolution_j: float | None = None, period_s: float | None = None
    ) -> Channel:
        """Its energy counter, which lags by `period_s` at most."""
        specification = Specification(
            gain_ratio=self.accuracy_ratio, resolution=resolution_j, period_s=period_s
        )
        return extent.channel("energy", "counter", self.grade, specification)


def table(answer: Any) -> Mapping[str, Any]:
    """Return the answer if it is a JSON object, else an empty one."""
    return answer if isinstance(answer, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]


def number(answer: Any) -> float:
    """Return the answer if it is a number, or the text of one; NaN for null and for more than a plug counts.

    Raises:
        ValueError: it is something else, which would be a gap without a reason.
    """
    if answer is None:
        return math.nan
    if isinstance(answer, bool) or not isinstance(answer, int | float | str):
        raise ValueError(f"{str(answer)[:40]!r} is no number")
    try:
        value = float(answer)
    except (ValueError, OverflowError):
        raise ValueError(f"{str(answer)[:40]!r} is no number") from None
    return value if abs(value) < MOST else math.nan


def phases_sum(powers_w: Sequence[float]) -> float:
    """Add up the watts of the phases of one meter.

    Raises:
        ValueError: one is negative, so the sum lacks twice what it draws.
    """
    most_w = max((abs(power_w) for power_w in powers_w), default=0.0)
    for place, power_w in enumerate(powers_w):
        if power_w < -(PHASE_ZERO_W + PHASE_ZERO_RATIO * most_w):
            phase = "ABC"[place : place + 1] or str(place + 1)
            raise ValueError(f"phase {phase} shows {power_w:g} W: its clamp is the wrong way round (turn it)")
    return math.fsum(powers_w)
