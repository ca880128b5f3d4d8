"""A part's power as a number that was measured once: https://www.iariajournals.org/software/ (Green Storage,
section V-C a)

The paper meters the supply of everything and subtracts the switch's idle power, 15.46 W, measured over one
hour with a standard deviation of 1.13 W. So a meter of the whole cluster and this number give the energy of
the servers alone. The number is not a reading: its error is the same in every window, and each trial says
that it was not measured there.
"""

import math
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import SWITCH, boundary
from perjoule.drivers.protocols import Check, Hosts, Meter, Outlet, Sink
from perjoule.meters._sampler import sampling
from perjoule.model import OPTIONS, Json, Specification
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.format import like, number
from perjoule.model.units import Watts

EXAMPLE = """
[[meter]]
kind = "constant"
power = "15.46 W"
uncertainty = "1.13 W"
"""

RATE_HZ = 1.0
GRADE = "wall"  # whatever it was measured with: it takes the grade of the meter from which it is subtracted
TWO = "two numbers stand for the switch, and only one of them would be subtracted"
ADVICE = "add them up in one table: the watts, and the uncertainties in quadrature"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Constant(Meter):
    """The power of the switch as a number, so that a meter of everything gives the energy of the servers."""

    power_w: Watts = Field(gt=0)
    """Its power."""

    uncertainty_w: Watts = Field(ge=0)
    """The number's standard uncertainty: at least that of its mean; the standard deviation of its samples
    covers more.
    """

    name: str = "constant"
    """The name of its channel."""

    @classmethod
    def located(cls, place: str) -> Mapping[str, Json]:
        """Its power and the uncertainty: "12 W +- 1 W". Raises ValueError."""
        power, sign, uncertainty = place.replace("±", "+-").partition("+-")
        if not sign:
            raise ValueError(f'"{place}" has no uncertainty (write constant:"12 W +- 1 W")')
        return {"power": power.strip(), "uncertainty": uncertainty.strip()}

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return the switch, for which there is one number, whatever its name."""
        return (Outlet("power", f"a number of the {SWITCH}", SWITCH, clash=TWO, advice=ADVICE),)

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream the number; the hosts don't matter."""
        specification = Specification(sigma=self.uncertainty_w)
        channel = boundary(self.name, (SWITCH,), hosts).channel("power", "window mean", GRADE, specification)
        before_s = math.nan

        def sample() -> None:
            nonlocal before_s
            now_s = time.monotonic()
            if now_s > before_s:
                sink.append(channel, now_s, self.power_w, now_s - before_s, now_s, now_s)
            before_s = now_s

        with sampling(self.name, RATE_HZ, sample) as doubts:
            yield doubts
        error = number(self.uncertainty_w)
        power = f"{like(self.power_w, error)} ± {error} W"
        doubts.append(METERS.stated_number(meter=self.name, power=power))

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements."""
        return ()
