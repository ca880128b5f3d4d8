"""Whether numbers are of one grade: those of different grades are not ranked against each other."""

from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.model.metrics import metric_of


def differing(cells: Sequence[Cell], metric: str) -> tuple[str, ...]:
    """Return the grades of a metric, if the cells' differ: then they are not ranked among each other.

    What rests on joules has the grade of the power. Anything else is simulated, or else measured.
    """
    of = metric_of(metric)
    different = sorted(
        {grade for cell in cells if (grade := cell.grade_of(of.boundary) if of.energy else _grade(cell))}
    )
    return tuple(different) if len(different) > 1 else ()


def different_grades(metric: str, grades: Sequence[str]) -> str:
    """Say that a metric is of different grades."""
    return (
        f"{'power is' if metric_of(metric).energy else 'numbers are'} of different grades "
        f"({', '.join(grades)})"
    )


def _grade(cell: Cell) -> str:
    return "simulated" if cell.reality == "simulated" else "measured"
