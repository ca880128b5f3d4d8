"""How much wider correlated neighbours make an interval, held against a second calculation from the docs."""

from collections.abc import Callable, Sequence
from math import log

import numpy as np
import pandas as pd
import pytest

from oracle import better as oracle
from perjoule.model import Cell, Ran
from perjoule.statistics.better import Judge
from perjoule.statistics.intervals import interval
from typed import present

RATE = "throughput_bytes_per_s"
COUNT, EACH_S = 16, 10.0
DRAWS_RATIO = 0.03  # the expected correlation of exchanged values is the mean of 999 draws, here it is exact
Order = Callable[[int, int], int]  # the place in the campaign of a repetition of the first or the second


def one_after_the_other(side: int, repetition: int) -> int:
    return side * COUNT + repetition


def in_turns(side: int, repetition: int) -> int:
    return 2 * repetition + side


def pairs_of_each(side: int, repetition: int) -> int:
    """Two of the first, two of the second, and so on: distances of 1 and 3, so blocks overlap."""
    return 4 * (repetition // 2) + 2 * side + repetition % 2


def shuffled(side: int, repetition: int) -> int:
    """In turns, but each with repetitions in an order of its own: so they are no blocks."""
    return in_turns(side, (repetition + 5 * side) % COUNT)


def cells(order: Order, correlation: float, seed: int) -> list[Cell]:
    """Two file systems of 3 % scatter, in which the noise of a trial keeps a share of that of the trial
    before.
    """
    dice = np.random.default_rng(seed)
    noise = [0.0]
    for _ in range(2 * COUNT):
        noise.append(correlation * noise[-1] + dice.normal(0, 0.03))
    return [_cell(name, [order(side, r) for r in range(COUNT)], noise) for side, name in enumerate("ab")]


def _cell(name: str, places: Sequence[int], noise: Sequence[float]) -> Cell:
    ran = tuple(Ran(n + 1, EACH_S * place, EACH_S * place + 8) for n, place in enumerate(places))
    values = [100 * np.exp(noise[place + 1]) for place in places]
    return Cell(name, "fio", "write", 4, {RATE: interval(values)}, ran=ran)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("correlation", [0.0, 0.35, 0.85])
@pytest.mark.parametrize("order", [one_after_the_other, in_turns, pairs_of_each, shuffled])
def test_an_interval_is_as_much_wider_as_neighbours_are_correlated(
    order: Order, correlation: float, seed: int
) -> None:
    both = cells(order, correlation, seed)
    tables = {one.filesystem: pd.DataFrame(one.ran).assign(value=one.metrics[RATE].values) for one in both}
    judge = Judge(both)
    found, (ratio, low, high) = judge.verdict(both[1], both[0], RATE).ratio, oracle.ratio(tables, "b", "a")
    expected, trend = oracle.trend(tables), present(judge.trend(RATE))
    assert (trend.correlated, trend.drifts) == (expected.correlated, expected.drifts)
    assert found.mean == pytest.approx(ratio, rel=1e-9)
    assert log(found.high / found.low) == pytest.approx(log(high / low), rel=DRAWS_RATIO)
