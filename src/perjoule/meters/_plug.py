"""What plugs that meter share: an address, a power read at a moment, a counter of energy, and their errors as far as stated."""

from pydantic.dataclasses import dataclass

from perjoule.meters._metered import Boundary, Metered
from perjoule.model import OPTIONS, Channel, Specification
from perjoule.units import Ratio, Seconds

JOULES_PER_WH = 3600.0
JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Plug(Metered):
    """A plug at the wall with a network connection: both its power and its energy counter are recorded."""

    address: str
    """Its host name or IP address, with ":port" where it is not the usual one."""

    timeout_s: Seconds = 1.0
    """How long an answer may take; later ones are gaps, for nobody knows of which moment they tell."""

    accuracy_ratio: Ratio | None = None
    """The most by which its readings may be wrong: of its maker for this model, or of your own calibration."""

    def power(self, where: Boundary, *, resolution_w: float | None = None, period_s: float | None = None) -> Channel:
        """Its power, as it says it at a moment."""
        stated = Specification(gain_ratio=self.accuracy_ratio, resolution=resolution_w, period_s=period_s)
        return where.channel("power", "instantaneous", "wall", stated)

    def energy(self, where: Boundary, *, resolution_j: float | None = None, period_s: float | None = None) -> Channel:
        """Its energy counter; what is `period_s` old at most may be missing in it."""
        stated = Specification(gain_ratio=self.accuracy_ratio, resolution=resolution_j, period_s=period_s, latency_s=period_s)
        return where.channel("energy", "counter", "wall", stated)
