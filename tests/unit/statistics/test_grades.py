"""Grades of cells that are held against each other: of what rests on joules that of the power, of the rest whether
it was simulated.
"""

import pytest

from perjoule.model import Cell
from perjoule.statistics.grades import different_grades, differing
from perjoule.statistics.intervals import interval

RATE, PER_J = "throughput_bytes_per_s", "efficiency_bytes_per_j"


@pytest.mark.parametrize(
    ("metric", "grades", "simulated", "expected"),
    [
        (PER_J, ("wall", "wall"), (), ()),
        (PER_J, ("wall", "modelled"), (), ("modelled", "wall")),
        (PER_J, ("wall", "modelled", "PDU", "wall"), (), ("PDU", "modelled", "wall")),
        (PER_J, ("wall", ""), (), ()),  # one has no energy
        (PER_J, ("", "", ""), (), ()),
        (RATE, ("wall", "modelled"), (), ()),
        (RATE, ("wall", "wall"), (1,), ("measured", "simulated")),
        (RATE, ("", ""), (0, 1), ()),
    ],
)
def test_grades_differ_where_cells_have_two_or_more(metric, grades, simulated, expected) -> None:
    cells = [
        Cell(
            f"{n}",
            "fio",
            "write",
            4,
            {metric: interval((100.0, 101.0))},
            grade=grade,
            reality="simulated" if n in simulated else "real",
        )
        for n, grade in enumerate(grades)
    ]
    assert differing(cells, metric) == expected
    assert differing(cells[:1], metric) == ()


def test_joules_have_a_power_of_different_grades() -> None:
    assert different_grades(PER_J, ("PDU", "wall")) == "power is of different grades (PDU, wall)"
    assert different_grades(RATE, ("a", "b")) == "numbers are of different grades (a, b)"
