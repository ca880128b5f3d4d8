"""A log or a number whose meaning only the user knows: unit, semantics, grade and accuracy are declared,
never guessed.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.meters._metered import Metered
from perjoule.meters._unit_names import FACTORS, symbol
from perjoule.model import OPTIONS, Channel, Specification
from perjoule.model.units import WATTS, Joules, RelativeError, Seconds, Watts

_UNIT = "The unit of its numbers."
_SEMANTICS = (
    "What a number means: energy so far (counter), the mean of its own window, the power at one moment, or "
    "a running average."
)
_GRADE = "The kind of meter it came from."
_WINDOW = "The length of a window mean's window, which ends at its time."
_ACCURACY = "The meter's error, as a share of the reading; unknown when absent."
_OFFSET = "The part of the error that does not depend on the reading."
_RESOLUTION = "The smallest step of a power."
_STEP = "The smallest step of a counter."
_PERIOD = "The interval at which the meter itself updates."
_LATENCY = "How much older than its timestamp a number may be."
_CLOCK = (
    "Standard uncertainty of the offset between the clock that dates its samples and this machine's; "
    "unknown when absent."
)
_RANGE = "The value at which a counter wraps; without it, steps down are not counted."
_MOST = (
    "A power that is never exceeded; with `range` it distinguishes a counter that wrapped from one that was "
    "reset."
)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Declared(Metered):
    """The declared meaning of a number. The descriptions are not docstrings for the reason in Metered."""

    unit: Annotated[
        Literal["W", "mW", "uW", "kW", "J", "mJ", "uJ", "kJ", "MJ", "Wh", "kWh"], Field(description=_UNIT)
    ]
    semantics: Annotated[
        Literal["counter", "window mean", "instantaneous", "average"], Field(description=_SEMANTICS)
    ]
    grade: Annotated[Literal["wall", "PDU", "BMC", "component", "modelled"], Field(description=_GRADE)]
    window_s: Annotated[Seconds | None, Field(description=_WINDOW)] = None
    accuracy_ratio: Annotated[RelativeError | None, Field(description=_ACCURACY)] = None
    offset_w: Annotated[Watts | None, Field(description=_OFFSET)] = None
    resolution_w: Annotated[Watts | None, Field(description=_RESOLUTION)] = None
    step_j: Annotated[Joules | None, Field(description=_STEP)] = None
    period_s: Annotated[Seconds | None, Field(description=_PERIOD)] = None
    latency_s: Annotated[Seconds | None, Field(description=_LATENCY)] = None
    clock_uncertainty_s: Annotated[Seconds | None, Field(description=_CLOCK)] = None
    range_j: Annotated[Joules | None, Field(description=_RANGE)] = None
    most_w: Annotated[Watts | None, Field(description=_MOST)] = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        counts = self.unit not in WATTS and self.unit != "uW"
        if counts != (self.semantics == "counter"):
            raise ValueError(
                f'{self.unit} and "{self.semantics}" do not go together (energy is a counter, power is not)'
            )
        if self.semantics == "window mean" and self.window_s is None and not self.tells_window:
            raise ValueError("a window mean needs its window (set window)")
        return self

    @property
    def tells_window(self) -> bool:
        """Whether each number comes with the length of its window."""
        return False

    @property
    def counts(self) -> str:
        """The quantity of its numbers."""
        return "energy" if self.semantics == "counter" else "power"

    @property
    def factor(self) -> float:
        """The factor from its unit to W or J."""
        return FACTORS[self.unit]

    def factor_of(self, unit: str) -> float:
        """Return the factor from the unit that a number states, to W or J.

        Raises ValueError: it is of another quantity.
        """
        unit_symbol = symbol(unit)
        counts = unit_symbol not in WATTS and unit_symbol != "uW"
        if unit_symbol not in FACTORS or counts != (self.semantics == "counter"):
            raise ValueError(
                f'a number is in {unit}, and unit is "{self.unit}" (choose another column, or rows by where, or set unit)'
            )
        return FACTORS[unit_symbol]

    def declared(self, extent: Boundary) -> Channel:
        """Return the declared channel."""
        counts = self.semantics == "counter"
        specification = Specification(
            gain_ratio=self.accuracy_ratio,
            offset=None if counts else self.offset_w,
            resolution=self.step_j if counts else self.resolution_w,
            period_s=self.period_s,
            latency_s=self.latency_s,
            range_value=self.range_j if counts else None,
            most_w=self.most_w,
            clock_s=self.clock_uncertainty_s,
        )
        return extent.channel("energy" if counts else "power", self.semantics, self.grade, specification)
