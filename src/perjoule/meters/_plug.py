"""Parts that metered plugs share: an address, instantaneous power, an energy counter, and their errors as far as stated."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.meters._metered import MOMENTS_HZ, RATE, Metered
from perjoule.meters._secret import secret
from perjoule.model import OPTIONS, Channel, Specification
from perjoule.model.units import JOULES, Hertz, Ratio, Seconds

JOULES_PER_WH, JOULES_PER_KWH = JOULES["Wh"], JOULES["kWh"]
MOST = 1e15  # of what any plug counts

ADDRESS = 'Its host name or IP address, with ":port" if not the default.'
TIMEOUT = "How long an answer may take; later ones are gaps, because the moment they describe is unknown."
_USER = "The user name, if it needs a login."
_PASSWORD = "A file that contains only the password."
_ACCURACY = "The largest error of its readings, from its maker for this model or from your own calibration."


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Plug(Metered):
    """A plug at the wall with a network connection: both its power and its energy counter are recorded."""

    # Their words are not docstrings: pydantic finds those in a class's own text only, and drivers inherit these fields.
    address: Annotated[str, Field(description=ADDRESS)]
    timeout_s: Annotated[Seconds, Field(description=TIMEOUT)] = 1.0
    accuracy_ratio: Annotated[Ratio | None, Field(description=_ACCURACY)] = None
    user: Annotated[str, Field(description=_USER)] = "admin"
    password_file: Annotated[Path | None, Field(description=_PASSWORD)] = None
    rate_hz: Annotated[Hertz, Field(description=RATE)] = MOMENTS_HZ

    @property
    def password(self) -> str:
        """The password, "" if none is needed. Raises MachineError: its file can't be read."""
        return secret(self.password_file)

    def power(self, where: Boundary, *, resolution_w: float | None = None, period_s: float | None = None) -> Channel:
        """Its instantaneous power."""
        stated = Specification(gain_ratio=self.accuracy_ratio, resolution=resolution_w, period_s=period_s)
        return where.channel("power", "instantaneous", "wall", stated)

    def energy(self, where: Boundary, *, resolution_j: float | None = None, period_s: float | None = None) -> Channel:
        """Its energy counter, which lags by `period_s` at most."""
        # Both: steps that are alike at the two ends of a load hide from the term "update" how late they are, "latency" has it.
        stated = Specification(gain_ratio=self.accuracy_ratio, resolution=resolution_j, period_s=period_s, latency_s=period_s)
        return where.channel("energy", "counter", "wall", stated)


def table(said: Any) -> Mapping[str, Any]:
    """Return the answer if it is a JSON object, else an empty one."""
    return said if isinstance(said, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]


def number(said: Any) -> float:
    """Return the answer if it is a number, else NaN."""
    plain = isinstance(said, int | float) and not isinstance(said, bool) and abs(said) < MOST
    return float(said) if plain else math.nan
