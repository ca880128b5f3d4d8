"""PDUs over SNMP: APC's PowerNet-MIB (rPDU2) and Raritan's PDU2-MIB, https://www.apc.com/us/en/faqs/FA156048/

APC: the power of a whole strip has steps of 10 W, that of an outlet 1 W, a counter 0.1 kWh (360 kJ); -1 means
that there is no such meter. Raritan: whole numbers, scaled by the sensor's own DecimalDigits. Neither
documents its averaging window.
"""

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._metered import Metered, MeterReading, Read
from perjoule.meters._secret import secret
from perjoule.meters.snmp_pdu import snmp
from perjoule.model import OPTIONS, Json, Specification, passed_on
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.model.units import JOULES, Seconds

EXAMPLE = """
[[meter]]
kind = "snmp_pdu"
covers = ["storage-1"]
address = "192.0.2.40"
model = "apc"
outlet = 3
"""

APC, RARITAN = "1.3.6.1.4.1.318.1.1.26", "1.3.6.1.4.1.13742.6"
APC_POWER_STEP_W, APC_ENERGY_STEP_J = 10.0, 0.1 * JOULES["kWh"]
PUBLIC = "public"
MOST_DIGITS = 9  # DecimalDigits: 10 to the power of what a strip says may be any number
TRUE = 1  # of SNMP's TruthValue
# Raritan's type of the sensor, its unit's number, and that unit in SI.
SENSORS = {"power": (5, 3, 1.0), "energy": (8, 5, JOULES["Wh"])}
Numbers = Callable[[Sequence[str]], Sequence[int | None]]


@plain_dataclass(frozen=True)
class OidSource:
    """The OIDs to read, and how to convert them."""

    oids: tuple[str, ...]  # the value and, if there is one, whether it is available
    factor: float
    specification: Specification

    def value(self, numbers: Sequence[int | None]) -> float:
        """Return watts or joules; NaN if the PDU has none."""
        number, available = numbers[0], numbers[1] if len(numbers) > 1 else TRUE
        return math.nan if number is None or number < 0 or available != TRUE else number * self.factor


def _public(community: str) -> None:
    if community != PUBLIC:
        raise ValueError(
            "a community is a password, and what a campaign holds is published (write it into a file, and "
            "community_file = its path)"
        )


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SnmpPdu(Metered):
    """A metered PDU by APC or Raritan: all of it, or one outlet."""

    address: str
    """Its address."""

    port: int = Field(default=161, ge=1, le=65535)
    """Its UDP port."""

    model: Literal["apc", "raritan"]
    """Its MIB: APC's rPDU2 (AP8xxx), or Raritan's PX2 and later."""

    outlet: int | None = Field(default=None, ge=1)
    """The outlet, on strips that meter each; without it, the whole strip."""

    unit: int = Field(default=1, ge=1)
    """Which of several strips in a chain: the one that is read, or has the outlet."""

    inlet: int = Field(default=1, ge=1)
    """Which inlet of a Raritan: the one that is read, or feeds the outlet."""

    quantity: Literal["power", "energy"] = "power"
    """The power, or the counter, which has coarse steps."""

    version: Literal["1", "2c", "3"] = "2c"
    """SNMP version."""

    community: Annotated[str, passed_on(_public)] = PUBLIC
    """Community, for versions 1 and 2c; any other than "public" belongs into `community_file`."""

    community_file: Path | None = None
    """A file that contains only the community."""

    user: str = ""
    """User, for version 3."""

    authentication: Literal["", "MD5", "SHA", "SHA-256", "SHA-512"] = ""
    """How the user authenticates, in version 3."""

    authentication_file: Path | None = None
    """A file that contains only its passphrase."""

    privacy: Literal["", "DES", "AES", "AES-256"] = ""
    """How version 3 encrypts messages."""

    privacy_file: Path | None = None
    """A file that contains only its passphrase."""

    timeout_s: Seconds = 2.0
    """Time limit of an answer."""

    @property
    def counts(self) -> str:
        """The quantity that the campaign asks for."""
        return self.quantity

    @property
    def source(self) -> tuple[str, ...]:
        """The strip's inlet, and the outlet behind it."""
        strip = ("snmp_pdu", f"{self.address}:{self.port}", f"unit {self.unit}", f"inlet {self.inlet}")
        return (*strip, f"outlet {self.outlet}") if self.outlet else strip

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Find how to read its numbers. Raises MachineError if it has no such meter, TransientError."""
        login = snmp.Credentials(
            self.version,
            secret(self.community_file) or self.community,
            self.user,
            self.authentication,
            secret(self.authentication_file),
            self.privacy,
            secret(self.privacy_file),
        )
        with snmp.agent(self.address, self.port, login, self.timeout_s) as agent:
            source = self._source(agent.numbers)
            semantics = "counter" if self.quantity == "energy" else "average"
            channel = extent.channel(self.quantity, semantics, "PDU", source.specification)

            def read() -> Iterable[MeterReading]:
                yield MeterReading(channel, source.value(agent.numbers(source.oids)))

            yield read

    def checks(self) -> tuple[Check, ...]:
        """Check for pysnmp."""
        installed = snmp.installed()
        return (
            Check(
                "pysnmp",
                ok=installed,
                detail="found" if installed else "missing",
                fix="" if installed else snmp.FIX,
            ),
        )

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find APC and Raritan PDUs at these addresses that answer to the community "public"."""
        return tuple(table for address in addresses if (table := _strip(address)))

    def _source(self, numbers: Numbers) -> OidSource:
        if self.model == "apc":
            source = apc(self.quantity, self.outlet, self.unit)
        else:
            source = raritan(numbers, self.quantity, self.outlet, self.unit, self.inlet)
        if source is None or math.isnan(source.value(numbers(source.oids))):
            place = f"outlet {self.outlet}" if self.outlet else f"unit {self.unit}"
            fault = f"it does not meter the {self.quantity} of {place}"
            raise MachineError(
                fault, where=f"{self.address}:{self.port}", next="set model, outlet, unit or quantity"
            )
        return source


def apc(quantity: Literal["power", "energy"], outlet: int | None, unit: int) -> OidSource:
    """Return APC's source: rPDU2DeviceStatusTable for the strip, rPDU2OutletMeteredStatusTable for an
    outlet.
    """
    if quantity == "energy":
        oid = f"{APC}.9.4.3.1.11.{outlet}" if outlet else f"{APC}.4.3.1.9.{unit}"
        return OidSource((oid,), APC_ENERGY_STEP_J, Specification(resolution=APC_ENERGY_STEP_J))
    if outlet:
        return OidSource((f"{APC}.9.4.3.1.7.{outlet}",), 1.0, Specification(resolution=1.0))
    return OidSource((f"{APC}.4.3.1.5.{unit}",), APC_POWER_STEP_W, Specification(resolution=APC_POWER_STEP_W))


def raritan(
    numbers: Numbers, quantity: Literal["power", "energy"], outlet: int | None, unit: int, inlet: int
) -> OidSource | None:
    """Return Raritan's source, with the scale that it states; None if it has no such sensor."""
    sensor, unit_number, si = SENSORS[quantity]
    configured, measured = ("3.5.4.1", "5.4.3.1") if outlet else ("3.3.4.1", "5.2.3.1")
    index = f"{unit}.{outlet or inlet}.{sensor}"
    oids = [f"{RARITAN}.{configured}.{column}.{index}" for column in (6, 7, 8, 9)]
    unit_code, digits, accuracy, step = numbers(oids)
    if unit_code != unit_number or digits is None or not 0 <= digits <= MOST_DIGITS:
        return None
    factor = si / 10**digits
    specification = Specification(
        gain_ratio=accuracy / 1e4 if accuracy else None,  # in hundredths of a percent
        resolution=step * factor if step else factor,
    )
    return OidSource(
        tuple(f"{RARITAN}.{measured}.{column}.{index}" for column in (4, 2)), factor, specification
    )


def _strip(address: str) -> Mapping[str, Json] | None:
    host, _, port = address.partition(":")
    at = {"address": host} | ({"port": int(port)} if port.isdigit() else {})
    oids_by_model = {"apc": f"{APC}.4.3.1.5.1", "raritan": f"{RARITAN}.3.3.4.1.7.1.1.5"}
    with (
        suppress(PerjouleError, OSError),
        snmp.agent(host, int(at.get("port", 161)), snmp.Credentials("2c"), 1.0) as agent,
    ):
        for model, answer in zip(oids_by_model, agent.numbers(list(oids_by_model.values())), strict=True):
            if answer is not None:
                return {"kind": "snmp_pdu", "model": model, **at}
    return None
