"""Power sockets and PDUs by NETIO over HTTP: https://wiki.netio-products.com/index.php?title=JSON_API

/netio.json has whole watts and watt-hours of each output, and their totals; newer firmware also a counter that
nobody can reset (EnergyNR). NETIO documents neither how long its watts average, nor how often they change; users
found that it answers every two seconds (https://github.com/t348575/energy-benchmark, sensors/netio-http).
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._http import Http, recognised
from perjoule.meters._metered import RATE, MeterReading, Read
from perjoule.meters._plug import JOULES_PER_WH, USER, Plug, number, table
from perjoule.meters._url import LoginWanted
from perjoule.model import OPTIONS, Grade, Json, Semantics
from perjoule.model.errors import LoginRefused
from perjoule.model.units import Hertz

EXAMPLE = """
[[meter]]
kind = "netio"
address = "192.0.2.25"
output = 1
covers = ["storage-1"]
"""

PATH = "/netio.json"
POWER_STEP_W, ENERGY_STEP_J = 1.0, JOULES_PER_WH
TOTAL = ("TotalLoad", "TotalEnergyNR", "TotalEnergy")
OF_OUTPUT = ("Load", "EnergyNR", "Energy")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Netio(Plug):
    """A metered power socket or PDU by NETIO: all of it, or one output."""

    grade: ClassVar[Grade] = "PDU"
    semantics: ClassVar[Semantics] = "average"

    output: int | None = Field(default=None, ge=1)
    """Which of its outputs, from 1; without it all of them."""

    user: Annotated[str, Field(description=USER)] = "netio"
    rate_hz: Annotated[Hertz, Field(description=RATE)] = 0.5

    @property
    def source(self) -> tuple[str, ...]:
        """All of it, and the output."""
        return ("netio", self.address, *([f"output {self.output}"] if self.output else []))

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Poll its JSON.

        Raises OSError, ValueError (no such output), LoginRefused.
        """
        http = Http(self.address, timeout_s=self.timeout_s, user=self.user, password=self.password)
        power = self.power(extent, resolution_w=POWER_STEP_W)
        energy = self.energy(extent, resolution_j=ENERGY_STEP_J)

        def read() -> list[MeterReading]:
            try:
                answer = http.json(PATH)
            except LoginWanted as wanted:
                advice = "set user and password_file, and enable reading by JSON in its M2M API protocols"
                raise LoginRefused(wanted.what, where=wanted.where, next=advice) from None
            power_w, energy_j = readings(answer, self.output)
            return [MeterReading(power, power_w), MeterReading(energy, energy_j)]

        yield read

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find those that need no login."""
        return tuple(
            {"kind": "netio", "address": address} for address in addresses if recognised(address, _is_netio)
        )

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()


def _is_netio(sockets: Http) -> bool:
    return bool(readings(sockets.json(PATH), None))


def readings(answer: Mapping[str, Any], output: int | None) -> tuple[float, float]:
    """Parse watts and joules of an output, or of all, in netio.json; NaN for null.

    Raises:
        ValueError: there is no such output, or it has no meter.
    """
    outputs = answer.get("Outputs")
    tables = [table(each) for each in outputs] if isinstance(outputs, list) else []  # pyright: ignore[reportUnknownVariableType]
    total = output is None
    load, *counters = TOTAL if total else OF_OUTPUT
    sensors = (
        [table(answer.get("GlobalMeasure"))]
        if total
        else [each for each in tables if each.get("ID") == output]
    )
    for measured in sensors:
        counter = next((name for name in counters if name in measured), None)
        if load in measured and counter is not None:
            return number(measured[load]), number(measured[counter]) * JOULES_PER_WH
    metered = ", ".join(str(each.get("ID")) for each in tables if OF_OUTPUT[0] in each)
    place = "total" if total else f"output {output}"
    raise ValueError(f"this NETIO has no meter of its {place} (metered outputs: {metered or 'none'})")
