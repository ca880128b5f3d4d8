import numpy as np
import pytest

from perjoule.planning.front import front


def brute(points):
    """By definition: each point against each other."""
    found = []
    for n, own in enumerate(points):
        if not any(
            all(a <= b for a, b in zip(other, own, strict=True))
            and any(a < b for a, b in zip(other, own, strict=True))
            for other in points
        ):
            found.append(n)
    return found


@pytest.mark.parametrize("aims", [1, 2, 4, 5])
@pytest.mark.parametrize("levels", [2, 4, 1000])  # few levels: ties and equal points
def test_the_front_is_that_of_comparing_all_with_all(aims, levels) -> None:
    numbers = np.random.default_rng(aims * levels)
    for count in (1, 2, 50, 400):
        points = numbers.integers(0, levels, (count, aims)).astype(float)
        assert front(points).tolist() == brute(points.tolist())


def test_points_that_all_trade_off_stay_even_beyond_one_block() -> None:
    first = np.arange(1000.0)
    points = np.stack([first, -first, first % 7, np.zeros(1000)], axis=1)
    assert len(front(points)) == 1000


def test_a_dominator_found_late_removes_what_came_before_it_in_the_file() -> None:
    assert front(np.array([[2.0, 2.0], [3.0, 1.0], [1.0, 2.0]])).tolist() == [1, 2]


def test_a_difference_in_the_last_digit_counts() -> None:
    near = np.nextafter(1.0, 2.0)
    assert front(np.array([[1.0, near, 1e300], [1.0, 1.0, 1e300]])).tolist() == [1]


def test_no_points_have_no_front() -> None:
    assert front(np.empty((0, 4))).tolist() == []
