import numpy as np
import pytest
from pydantic import ValidationError

from perjoule.catalogue.quantities import Quantity, exact
from perjoule.planning.quantities import Book


def test_draws_lie_in_the_interval_half_of_them_below_the_value_and_uniform_by_logarithms() -> None:
    book = Book()
    book.add(Quantity(10.0, 1.0, 1000.0, "assumed", "a guess"), "contested")
    book.add(exact(7.0, "known"), "known")
    book.add(exact(0.0, "nothing"), "nothing")
    drawn = book.draws(20_000, 1)
    contested = np.log10(drawn[:, 0])
    assert 0 <= contested.min() < 0.001 and 2.999 < contested.max() <= 3
    shares = np.histogram(contested, bins=[0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3])[0] / len(contested)
    assert shares == pytest.approx(np.full(8, 0.125), abs=0.01)
    assert (drawn[:, 1] == 7).all() and (drawn[:, 2] == 0).all()


def test_draws_are_the_same_for_the_same_seed() -> None:
    book = Book()
    book.add(Quantity(2.0, 1.0, 3.0, "assumed", "a guess"), "one")
    assert (book.draws(5, 1) == book.draws(5, 1)).all()
    assert (book.draws(5, 1) != book.draws(5, 2)).any()


def test_what_parts_share_is_one_number() -> None:
    book = Book()
    one = Quantity(2.0, 1.0, 3.0, "assumed", "a guess")
    assert book.add(one, "price of disks") == book.add(one, "price of disks")
    assert len(book.quantities) == 1


@pytest.mark.parametrize(("value", "low", "high"), [(1, 2, 3), (4, 2, 3), (1, 0, 2)])
def test_an_interval_without_its_value_or_down_to_nothing_is_refused(value, low, high) -> None:
    with pytest.raises(ValidationError):
        Quantity(value, low, high, "assumed", "a guess")


def test_a_further_part_moves_no_draw_of_another() -> None:
    price, watts = (
        Quantity(2.0, 1.0, 3.0, "assumed", "a guess"),
        Quantity(9.0, 5.0, 12.0, "assumed", "a guess"),
    )
    few, more = Book(), Book()
    few.add(price, "price")
    more.add(watts, "watts")
    more.add(price, "price")
    assert (few.draws(50, 1)[:, 0] == more.draws(50, 1)[:, 1]).all()
    assert (more.draws(50, 1)[:, 0] != more.draws(50, 1)[:, 1]).any()
