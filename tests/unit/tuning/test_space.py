"""The space of a tuning: values on scales, settings next to others, settings spread evenly."""

from collections import Counter

import numpy as np
import pytest

from perjoule.tuning.space import MOST_CANDIDATES, Option, OptionSpace, Setting, places

SPACE = OptionSpace(
    (Option("threads", (1, 2, 4, 8), 2, places((1, 2, 4, 8))), Option("cache", ("a", "b", "c"), 0))
)
LARGE = OptionSpace(tuple(Option(f"option {n}", (1, 2, 3, 4), 0) for n in range(8)))


def test_numbers_are_placed_by_their_ratios() -> None:
    assert places((1, 4, 16)) == pytest.approx((0, 0.5, 1))
    assert places((64, 8, 16)) == pytest.approx((1, 0, 1 / 3))
    assert places((7,)) == (0.0,)


def test_near_values_of_a_scale_are_alike_and_choices_are_not() -> None:
    scale, choice = (option.likeness() for option in SPACE.options)
    assert scale[0, 1] == pytest.approx(np.exp(-(1 / 3) / 0.5))
    assert scale[0, 3] == pytest.approx(np.exp(-1 / 0.5))
    assert (choice == np.eye(3)).all()


def test_neighbours_differ_in_one_option() -> None:
    found = SPACE.neighbours((2, 0))
    assert len(found) == len(set(found)) == 3 + 2
    assert all(sum(a != b for a, b in zip(one, (2, 0), strict=True)) == 1 for one in found)


def test_a_spread_begins_with_the_default_and_has_all_values_equally_often() -> None:
    found = SPACE.spread(7, lambda _: True, np.random.default_rng(1))
    assert found[0] == SPACE.default == (2, 0)
    assert len(found) == len(set(found)) == 7
    wide = LARGE.spread(41, lambda _: True, np.random.default_rng(1))
    for n in range(8):
        assert all(9 <= count <= 12 for count in Counter(one[n] for one in wide).values())


def test_a_spread_has_no_more_than_there_is() -> None:
    assert len(SPACE.spread(100, lambda _: True, np.random.default_rng(1))) <= SPACE.count
    few: set[Setting] = {(2, 0), (1, 1)}
    assert set(SPACE.spread(6, few.__contains__, np.random.default_rng(1))) == few


def test_candidates_are_all_settings_of_a_small_space_and_those_near_of_a_large_one() -> None:
    dice = np.random.default_rng(1)
    assert len(SPACE.candidates([], lambda _: True, dice)) == SPACE.count == 12
    found = LARGE.candidates([(1,) * 8], lambda _: True, dice)
    assert MOST_CANDIDATES - 5 <= len(found) <= MOST_CANDIDATES  # random ones may repeat
    assert {(1,) * 8, *LARGE.neighbours((1,) * 8)} <= set(found)
    assert all(one[0] != 2 for one in LARGE.candidates([(1,) * 8], lambda one: one[0] != 2, dice))
