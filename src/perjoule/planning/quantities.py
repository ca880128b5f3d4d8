"""Uncertain values: what a plan rests on, each with its interval, and draws of all of them at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass

from perjoule.model import units
from perjoule.model.format import estimate
from perjoule.planning.measures import KG, PRICE, SPEED, USD, WATT

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Status = Literal["measured", "datasheet", "fitted", "assumed", "stated"]


@pydantic_dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Quantity:
    """A value in SI units and the interval in which it lies; `Book.draws` says how it is drawn from it."""

    value: Annotated[float, Field(ge=0)]
    low: float
    high: float
    status: Status
    source: Annotated[str, Field(min_length=1)]
    name: str = ""  # "drive exos-x12: idle"
    unit: str = ""  # as it is printed
    per: float = 1.0  # what one of that unit is in SI units

    def text(self, value: float) -> str:
        """Print a value of it with its unit."""
        return f"{estimate(value / self.per)} {self.unit}".rstrip()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.value <= self.high or (self.low <= 0 < self.high):
            raise ValueError("low, value and high are not in order, or low is 0 (write 0 < low <= value <= high)")
        return self


def exact(value: float, source: str, name: str = "") -> Quantity:
    """Return a quantity without an interval."""
    return Quantity(value, value, value, "stated", source, name)


def of_units(raw: object, allowed: dict[str, float], shown: str) -> object:
    """Convert `{ value = "5.3 W", low = "4.5 W", ... }`, or "5.3 W" alone, which is then exact, to SI units."""
    if isinstance(raw, Quantity):
        return raw
    written: dict[str, Any] = dict(cast("Mapping[str, Any]", raw)) if isinstance(raw, Mapping) else {"value": raw}
    value = written.get("value")
    written = {"status": "stated", "source": "stated by the user", "low": value, "high": value} | written
    written |= {"unit": shown, "per": allowed.get(shown, 1.0)}
    if value is None:
        raise ValueError('it has no value (write { value = "...", low = "...", high = "..." })')
    for key in ("value", "low", "high"):
        written[key] = units.quantity(written[key], allowed, bare=allowed is units.RATIOS)
    return written


def form(allowed: dict[str, float]) -> dict[str, Any]:
    """Return the JSON Schema of what `of_units` reads."""
    written: dict[str, Any] = {"type": "string", "pattern": rf"^\s*[0-9.eE+-]+\s*({'|'.join(allowed)})\s*$"}
    if allowed is units.RATIOS:
        written = {"type": ["number", "string"]}
    values = dict.fromkeys(("value", "low", "high"), written)
    properties = {**values, "status": {"enum": list(get_args(Status))}, "source": {"type": "string"}}
    table = {"type": "object", "properties": properties, "required": ["value"], "additionalProperties": False}
    return {"anyOf": [written, table]}


def _unit(allowed: dict[str, float], shown: str) -> tuple[Any, ...]:
    """Return a validator that reads quantities in these units, and the schema of their form for editors."""
    return BeforeValidator(partial(of_units, allowed=allowed, shown=shown)), WithJsonSchema(form(allowed))


Watts = Annotated[Quantity, *_unit(units.WATTS, WATT.symbol)]
Rate = Annotated[Quantity, *_unit(units.RATES, SPEED.symbol)]
Money = Annotated[Quantity, *_unit(units.USD, USD.symbol)]
Mass = Annotated[Quantity, *_unit(units.KILOGRAMS, KG.symbol)]
Price = Annotated[Quantity, *_unit(units.USD_PER_J, PRICE.symbol)]
Bare = Annotated[Quantity, *_unit(units.RATIOS, "")]  # without a unit, or in percent


@dataclass
class Book:
    """All quantities of a plan in a row: parts refer to them by position, so that one vector holds one state of the world."""

    quantities: list[Quantity] = field(default_factory=list[Quantity])
    _positions: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, quantity: Quantity, name: str) -> int:
        """Enter a quantity, and return its position; what has its name already, several parts share."""
        if name not in self._positions:
            self._positions[name] = len(self.quantities)
            self.quantities.append(replace(quantity, name=name))
        return self._positions[name]

    @property
    def values(self) -> Floats:
        """The values themselves: shape (quantities,)."""
        return np.array([one.value for one in self.quantities])

    def draws(self, count: int, seed: int) -> Floats:
        """Draw states of the world: shape (count, quantities).

        Each quantity is independent, and its name seeds its draws, so that a further part moves no other's. In half of them its
        logarithm is uniform between low and value, in half between value and high: the value is the median, and nothing lies
        outside of the interval.
        """
        shares = np.array([np.random.default_rng([seed, *one.name.encode()]).random(count) for one in self.quantities]).T
        low, value, high = np.array([(one.low, one.value, one.high) for one in self.quantities]).T
        low, value, high = (np.where(value > 0, one, 1.0) for one in (low, value, high))  # nothing stays nothing, below
        drawn = np.where(shares < 0.5, low * (value / low) ** (2 * shares), value * (high / value) ** (2 * shares - 1))
        return np.where(self.values > 0, drawn, 0.0)
