"""Uncertain values as the catalogue's files and needs write them: a quantity with its unit, interval,
status and source.
"""

from collections.abc import Mapping
from dataclasses import field
from math import sqrt
from typing import Annotated, Any, Literal, Self, cast, get_args

from pydantic import BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema, model_validator
from pydantic.dataclasses import dataclass

from perjoule.model import units
from perjoule.model.format import estimate
from perjoule.model.hardware import Status as Published
from perjoule.model.hardware import Value

Status = Published | Literal["stated"]
SOURCED = {"sourced": True}  # pydantic's context of the catalogue's files: each value states where it is from
ENDS = ("value", "low", "high", "sigma")


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Quantity:
    """A value in SI units and the interval in which it lies; a plan draws it from there."""

    value: Annotated[float, Field(ge=0)]
    low: float
    high: float
    status: Status
    source: Annotated[str, Field(min_length=1)]
    name: str = ""  # "drive exos-x12: idle"
    unit: str = ""  # as it is printed
    per: float = 1.0  # what one of that unit is in SI units
    sigma: Annotated[float, Field(ge=0)] | None = None  # standard uncertainty; None: the interval's
    follows: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)  # as `Value.follows`

    def text(self, value: float) -> str:
        """Print a value of it with its unit."""
        return f"{estimate(value / self.per)} {self.unit}".rstrip()

    @property
    def plain(self) -> Value:
        """The value as records keep it.

        The sigma of an interval alone is that of a uniform distribution over it.
        """
        sigma = (self.high - self.low) / sqrt(12) if self.sigma is None else self.sigma
        ends = (self.low, self.high) if self.low < self.high else (None, None)
        status = "assumed" if self.status == "stated" else self.status
        return Value(self.value, self.source, status, sigma, *ends, self.follows)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.value <= self.high or (self.low <= 0 < self.high):
            raise ValueError(
                "low, value and high are not in order, or low is 0 (write 0 < low <= value <= high)"
            )
        return self


def exact(value: float, source: str, name: str = "") -> Quantity:
    """Return a quantity without an interval."""
    return Quantity(value, value, value, "stated", source, name)


def of_units(raw: object, allowed: dict[str, float], printed_unit: str, *, sourced: bool = False) -> object:
    """Convert `{ value = "5.3 W", low = "4.5 W", ... }` to SI units; unless `sourced`, "5.3 W" alone is
    one, and exact.
    """
    if isinstance(raw, Quantity):
        return raw
    if sourced and not isinstance(raw, Mapping):
        raise ValueError('it has no source (write { value = "...", status = "...", source = "..." })')
    written: dict[str, Any] = (
        dict(cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else {"value": raw}
    )
    if (value := written.get("value")) is None:
        raise ValueError('it has no value (write { value = "...", low = "...", high = "..." })')
    if written.get("status") == "bound" and not {"low", "high"} <= written.keys():
        raise ValueError("a bound states low and high")
    defaults = {} if sourced else {"status": "stated", "source": "stated by the user"}
    written = (
        defaults
        | {"low": value, "high": value}
        | written
        | {"unit": printed_unit, "per": allowed.get(printed_unit, 1.0)}
    )
    for key in ENDS:
        if key in written:
            written[key] = units.quantity(written[key], allowed, bare=allowed is units.RATIOS)
    return written


def form(allowed: dict[str, float]) -> dict[str, Any]:
    """Return the JSON Schema of what `of_units` reads."""
    written: dict[str, Any] = {"type": "string", "pattern": rf"^\s*[0-9.eE+-]+\s*({'|'.join(allowed)})\s*$"}
    if allowed is units.RATIOS:
        written = {"type": ["number", "string"]}
    statuses = [*get_args(Published), "stated"]
    properties = {**dict.fromkeys(ENDS, written), "status": {"enum": statuses}, "source": {"type": "string"}}
    table = {"type": "object", "properties": properties, "required": ["value"], "additionalProperties": False}
    return {"anyOf": [written, table]}


def _unit(allowed: dict[str, float], printed_unit: str) -> tuple[Any, ...]:
    """Return a validator that reads quantities in these units, and the schema of their form for editors."""

    def read(raw: object, info: ValidationInfo) -> object:
        return of_units(raw, allowed, printed_unit, sourced=info.context is SOURCED)

    return BeforeValidator(read), WithJsonSchema(form(allowed))


Watts = Annotated[Quantity, *_unit(units.WATTS, "W")]
Rate = Annotated[Quantity, *_unit(units.RATES, "MiB/s")]
Capacity = Annotated[Quantity, *_unit(units.BYTES, "TB")]
Memory = Annotated[Quantity, *_unit(units.BYTES, "GiB")]
Seek = Annotated[Quantity, *_unit(units.SECONDS, "ms")]
Money = Annotated[Quantity, *_unit(units.USD, "USD")]
Mass = Annotated[Quantity, *_unit(units.KILOGRAMS, "kg")]
Price = Annotated[Quantity, *_unit(units.USD_PER_J, "USD/kWh")]
Bare = Annotated[Quantity, *_unit(units.RATIOS, "")]  # without a unit, or in percent
