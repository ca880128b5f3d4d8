"""Power sockets and PDUs by GUDE over HTTP: https://github.com/gudesystems/check_gude.py

/status.json describes its sensors (fields with their units and decimals) and has their values: of inlets (type 1,
one of several rows may be their sum) and of outputs (type 8). GUDE documents neither how long its watts average,
nor how often they change.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass as plain_dataclass
from typing import Any, ClassVar, Self, cast

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._http import Http, recognised
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._plug import Plug, number, table
from perjoule.model import OPTIONS, Grade, Json, Semantics
from perjoule.model.units import JOULES, WATTS

EXAMPLE = """
[[meter]]
kind = "gude"
address = "192.0.2.26"
output = 1
covers = ["storage-1"]
"""

PATH = f"/status.json?components={0x10000 + 0x4000}"  # descriptions and values
INLETS, OUTPUTS = 1, 8  # types of sensors
POWER = "ActivePower"
COUNTERS = ("AbsActEnergyNonRes", "AbsActEnergyRes")  # the first one nobody can reset
UNITS: Mapping[str, float] = {**WATTS, **JOULES}
MOST_DECIMALS = 9


@plain_dataclass(frozen=True)
class GudeReadings:
    """Watts and joules, NaN for null, and the steps that their descriptions state."""

    power_w: float
    energy_j: float
    power_step_w: float
    energy_step_j: float


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Gude(Plug):
    """A metered power socket or PDU by GUDE: all of it, an inlet, or an output."""

    grade: ClassVar[Grade] = "PDU"
    semantics: ClassVar[Semantics] = "average"

    output: int | None = Field(default=None, ge=1)
    """Which of its outputs, from 1, on those that meter each."""

    inlet: int | None = Field(default=None, ge=1)
    """Which of its inlets, from 1; without it and `output` all of them."""

    @model_validator(mode="after")
    def _single(self) -> Self:
        if self.output and self.inlet:
            raise ValueError("output and inlet are two sensors (remove one)")
        return self

    @property
    def source(self) -> tuple[str, ...]:
        """All of it, and the inlet or output."""
        part = (f"output {self.output}",) if self.output else (f"inlet {self.inlet}",) if self.inlet else ()
        return ("gude", self.address, *part)

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Read its steps, then poll its status.

        Raises OSError, MachineError (refused), ValueError (no such sensor).
        """
        http = Http(self.address, timeout_s=self.timeout_s, user=self.user, password=self.password)
        first = readings(http.json(PATH), self.output, self.inlet)
        power = self.power(extent, resolution_w=first.power_step_w)
        energy = self.energy(extent, resolution_j=first.energy_step_j)

        def read() -> list[MeterReading]:
            readings_now = readings(http.json(PATH), self.output, self.inlet)
            return [MeterReading(power, readings_now.power_w), MeterReading(energy, readings_now.energy_j)]

        yield read

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find those that need no login and meter all they feed."""
        return tuple(
            {"kind": "gude", "address": address} for address in addresses if recognised(address, _is_gude)
        )

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()


def _is_gude(sockets: Http) -> bool:
    return bool(readings(sockets.json(PATH), None, None))


def readings(answer: Mapping[str, Any], output: int | None, inlet: int | None) -> GudeReadings:
    """Parse the watts and joules of an output, an inlet, or of all inlets, in status.json.

    Raises:
        ValueError: there is no such sensor, or it has no power or counter.
    """
    kind = OUTPUTS if output else INLETS
    description, values = (_of_kind(answer.get(name), kind) for name in ("sensor_descr", "sensor_values"))
    rows = _list(values.get("values"))
    place = output or inlet or _sum_place(description, len(rows))
    if not 1 <= place <= len(rows):
        name = "output" if output else "inlet"
        raise ValueError(f"this GUDE meters no {name} {place} (it has {len(rows)}: set output or inlet)")
    cells = [table(cell) for cell in _list(rows[place - 1])]
    fields = {
        str(table(field).get("name")): (table(field), cell)
        for field, cell in zip(_list(description.get("fields")), cells, strict=False)
    }
    counter = next((name for name in COUNTERS if name in fields), None)
    if POWER not in fields or counter is None:
        raise ValueError(f"this GUDE has no {POWER} or no energy (its fields: {', '.join(fields) or 'none'})")
    power_w, power_step_w = _converted(*fields[POWER])
    energy_j, energy_step_j = _converted(*fields[counter])
    return GudeReadings(power_w, energy_j, power_step_w, energy_step_j)


def _sum_place(description: Mapping[str, Any], rows_count: int) -> int:
    """Return the row of all inlets, from 1. Raises ValueError: there are several, and no sum."""
    place = table(description.get("options")).get("sumRowIndex")
    if isinstance(place, int):
        return place + 1
    if rows_count > 1:
        raise ValueError(f"this GUDE has {rows_count} inlets and not their sum (set inlet, a table for each)")
    return 1


def _converted(field: Mapping[str, Any], cell: Mapping[str, Any]) -> tuple[float, float]:
    """Return a value and its step in W or J. Raises ValueError: its unit or decimals are not known."""
    unit, decimals = field.get("unit"), field.get("decPrecision")
    if unit not in UNITS or not isinstance(decimals, int) or not 0 <= decimals <= MOST_DECIMALS:
        raise ValueError(
            f"{field.get('name')} has the unit {unit!r} with {decimals!r} decimals, which is not known"
        )
    return number(cell.get("v")) * UNITS[str(unit)], UNITS[str(unit)] / 10**decimals


def _of_kind(sensors: Any, kind: int) -> Mapping[str, Any]:
    return next(
        (each for each in map(table, _list(sensors)) if each.get("type") == kind),
        cast("Mapping[str, Any]", {}),
    )


def _list(answer: Any) -> list[Any]:
    return cast("list[Any]", answer) if isinstance(answer, list) else []
