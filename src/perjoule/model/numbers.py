"""The numbers of a trial: each one object with all that is known of it, under the key of its metric."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from perjoule.model.doubts import Doubt
from perjoule.model.metrics import ENERGY, NET, PREFIXES, metric_of

OF_ROW = ": resolution"  # ends the name of an error that repetitions share, and each row has for itself


@dataclass(frozen=True)
class Number:
    """A metric's value in one trial in SI units; None where it is missing, which `why_not` explains.

    Grade, source and whether the accuracy is stated stand with the energy of a boundary, and hold for all
    numbers of it.
    """

    value: float | None = None
    half: float = 0.0  # of the 95 % interval of this trial; 0: no error is known
    shared_half: float = 0.0  # of that of the errors that all repetitions on one meter share
    # Source of error -> signed relative standard uncertainty: what all repetitions have in common, so that
    # their scatter does not show it. The same source in two cells is the same error: in a ratio only its
    # difference counts; one that ends in OF_ROW is another error in each.
    shared: Mapping[str, float] = field(default_factory=dict[str, float])
    grade: str = ""
    source: str = ""  # which quantity of which meter, "shelly power"
    unstated: bool = False  # the meter does not state its accuracy
    why_not: str = ""

    @property
    def bare(self) -> "Number":
        """The value with its shared errors alone."""
        return Number(self.value, shared=self.shared)


@dataclass(frozen=True)
class Numbers:
    """Numbers by the keys of their metrics, and doubts about them.

    What files hold are views: several values by key.
    """

    by_key: Mapping[str, Number] = field(default_factory=dict[str, Number])
    doubts: tuple[Doubt, ...] = ()

    @classmethod
    def plain(cls, values: Mapping[str, float], doubts: tuple[Doubt, ...] = ()) -> "Numbers":
        """Make numbers without uncertainty."""
        return cls({key: Number(value) for key, value in values.items()}, doubts)

    @cached_property
    def metrics(self) -> Mapping[str, float]:
        """Values by key; half widths have keys of their own."""
        values: dict[str, float] = {}
        for key, number in self.by_key.items():
            if number.value is not None:
                values[key] = number.value
            if number.half:
                values[metric_of(key).uncertainty] = number.half
            if number.shared_half:
                values[metric_of(key).shared_uncertainty] = number.shared_half
        return values

    @cached_property
    def shared(self) -> Mapping[str, Mapping[str, float]]:
        """The errors that repetitions share, by metric, then by source."""
        return {key: number.shared for key, number in self.by_key.items() if number.shared}

    @property
    def omitted(self) -> Mapping[str, str]:
        """Why numbers are missing, by the boundary that has no energy, or by the metric."""
        return {
            metric_of(key).boundary or key: number.why_not
            for key, number in self.by_key.items()
            if number.why_not
        }

    @property
    def grade(self) -> str:
        """The grade of the servers' energy; "" without one."""
        return self._energy(NET).grade

    @property
    def source(self) -> str:
        """The source of the servers' energy."""
        return self._energy(NET).source

    @property
    def grades(self) -> Mapping[str, str]:
        """The grades of boundaries on other meters than the servers'."""
        grades = {
            metric_of(key).boundary: number.grade for key, number in self.by_key.items() if number.grade
        }
        return {boundary: grade for boundary, grade in grades.items() if boundary != NET}

    def grade_of(self, boundary: str) -> str:
        """Return the grade of a boundary's energy."""
        return self._energy(boundary).grade or self.grade

    @property
    def unstated(self) -> tuple[str, ...]:
        """The boundaries of which a meter does not state its accuracy."""
        return tuple(metric_of(key).boundary for key, number in self.by_key.items() if number.unstated)

    def _energy(self, boundary: str) -> Number:
        return self.by_key.get(f"{PREFIXES.get(boundary, '')}{ENERGY}", Number())

    def graded(self, grade: str) -> Mapping[str, Number]:
        """Return the same numbers with this grade instead of any other."""
        return {
            key: replace(number, grade=grade) if number.grade else number
            for key, number in self.by_key.items()
        }
