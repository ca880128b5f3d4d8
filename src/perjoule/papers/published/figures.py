"""A figure of a paper's file, with the axis that bounds what it shows."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from perjoule.papers.published.paper import QUANTITIES, Axis, Fact, Figure
from perjoule.papers.published.printed import printed


def _quantity(name: str) -> str:
    if name not in QUANTITIES:
        raise ValueError(f'unknown quantity "{name}" (known: {", ".join(QUANTITIES)})')
    return name


_Quantity = Annotated[str, AfterValidator(_quantity)]


class _Axis(BaseModel):
    """The ends of an axis as they are printed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quantity: _Quantity
    first: str
    last: str
    step: str = ""
    scale: Literal["linear", "log"]
    status: Literal["bound"]

    @model_validator(mode="after")
    def _rising(self) -> Self:
        read = self.read()
        if not read.first < read.last or (self.scale == "log" and read.first <= 0):
            raise ValueError(f'an axis from "{self.first}" to "{self.last}" does not rise')
        return self

    def read(self) -> Axis:
        """Return it in SI units. Raises ValueError for an unknown unit."""
        first, last, step = (
            printed(text, exact=True) for text in (self.first, self.last, self.step or self.first)
        )
        if not first.unit == last.unit == step.unit or last.unit not in QUANTITIES[self.quantity]:
            units = ", ".join(QUANTITIES[self.quantity])
            raise ValueError(f"an axis of {self.quantity} has one unit at both ends (known: {units})")
        factor = QUANTITIES[self.quantity][last.unit]
        step_value = step.value * factor if self.step else 0.0
        return Axis(
            self.quantity,
            first.value * factor,
            last.value * factor,
            step_value,
            last.unit,
            self.scale,
            self.status,
        )


class FigureText(BaseModel):
    """A figure as it is written in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    place: str
    caption: str
    quantity: _Quantity
    axis: _Axis | None = None
    shows: dict[str, Fact] = {}

    def read(self) -> Figure:
        """Return it with its axis in SI units."""
        return Figure(self.place, self.caption, self.quantity, self.axis and self.axis.read(), self.shows)
