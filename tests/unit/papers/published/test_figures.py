"""A figure's axis as it is written in a paper's file: in SI units, rising, with one unit."""

import pytest
from pydantic import ValidationError

from perjoule.papers.published.figures import FigureText

MIB = 2**20


def axis(quantity="throughput", scale="linear", **ends):
    figure = FigureText.model_validate(
        {
            **{
                "place": "Figure 1",
                "caption": "so fast",
                "quantity": quantity,
                "shows": {"direction": "write"},
            },
            "axis": {"quantity": quantity, "scale": scale, "status": "bound", **ends},
        }
    )
    return figure.read().axis


def test_ends_and_steps_are_in_si_units():
    found = axis(first="10 MiB/s", last="400 MiB/s", step="5 MiB/s")
    assert found is not None
    assert (found.first, found.last, found.step) == (10 * MIB, 400 * MIB, 5 * MIB)
    assert (found.unit, found.scale, found.factor) == ("MiB/s", "linear", MIB)
    assert found.words == "10 to 400 MiB/s"
    unknown = axis(first="10 MiB/s", last="400 MiB/s")
    assert unknown is not None
    assert unknown.step == 0.0


def test_a_linear_axis_may_begin_at_nothing_or_below_and_a_logarithmic_one_anywhere_above():
    for scale, first in (("linear", "0 W"), ("log", "0.001 W")):
        found = axis("power", scale, first=first, last="0.5 W")
        assert found is not None
        assert (found.first, found.last) == (float(first.removesuffix(" W")), 0.5)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"first": "40 W", "last": "40 W"}, "does not rise"),
        ({"first": "62 W", "last": "40 W"}, "does not rise"),
        ({"first": "0 W", "last": "40 W", "scale": "log"}, "does not rise"),
        ({"first": "0 J", "last": "40 W"}, "one unit at both ends"),
        ({"first": "0 W", "last": "40 J"}, "one unit at both ends"),
        ({"first": "0 W", "last": "40 W", "step": "2 J"}, "one unit at both ends"),
        ({"first": "0 J", "last": "40 J", "step": "2 J"}, "one unit at both ends"),
    ],
)
def test_an_axis_that_does_not_rise_or_has_other_units_is_refused(words, complaint):
    with pytest.raises(ValidationError, match=complaint):
        axis("power", **words)


def test_a_figure_is_of_a_known_quantity_and_may_have_no_axis():
    written = {"place": "Figure 1", "caption": "so fast", "quantity": "power"}
    found = FigureText.model_validate(written).read()
    assert (found.place, found.caption, found.quantity, found.axis) == ("Figure 1", "so fast", "power", None)
    with pytest.raises(ValidationError, match='unknown quantity "watts"'):
        FigureText.model_validate({**written, "quantity": "watts"})
