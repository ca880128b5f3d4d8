"""How much wider correlated neighbours make an interval, held against a second calculation from the docs."""

from collections.abc import Callable, Sequence
from math import expm1, log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from oracle import better as oracle
from perjoule.model import Cell, Ran
from perjoule.statistics.better import Judge
from perjoule.statistics.drift import TimedValue, Trend, trend
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


def several(slope: float, seed: int) -> dict[str, pd.DataFrame]:
    """Cells of unlike counts and scatters, in an order by chance, that drift alike."""
    dice = np.random.default_rng(seed)
    sizes = {"a": (4, 0.01), "b": (7, 0.05), "c": (5, 0.02), "d": (3, 0.1)}
    places = dice.permutation(sum(count for count, _ in sizes.values()))
    tables: dict[str, pd.DataFrame] = {}
    for name, (count, scatter) in sizes.items():
        own, places = np.sort(places[:count]), places[count:]
        values = 100 * np.exp(slope * own + dice.normal(0, scatter, count))
        began_s = 500 + EACH_S * own
        tables[name] = pd.DataFrame(
            {"repetition": range(count), "began_s": began_s, "ended_s": began_s + 8, "value": values}
        )
    return tables


def trend_of(tables: dict[str, pd.DataFrame]) -> Trend | None:
    return trend(
        [
            TimedValue(name, float(began_s), float(value))
            for name, own in tables.items()
            for began_s, value in zip(own["began_s"], own["value"], strict=True)
        ]
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slope", [0.0, 0.004, -0.02])
def test_a_drift_is_the_slope_from_the_first_trial_to_the_last_with_student_s_interval(
    slope: float, seed: int
) -> None:
    tables = several(slope, seed)
    found, expected = present(trend_of(tables)), oracle.trend(tables)
    assert (found.freedom, found.span_s) == (expected.freedom, 18 * EACH_S) == (19 - 4 - 1, 180.0)
    assert found.correlation_ratio == pytest.approx(expected.correlation, abs=DRAWS_RATIO)
    wider = 1.0
    if expected.correlated:
        wider = sqrt((1 + found.correlation_ratio) / (1 - found.correlation_ratio))
        wider /= sqrt((1 + expected.correlation) / (1 - expected.correlation))
    error = expected.error * wider
    half = float(stats.t.ppf(0.975, found.freedom)) * error
    assert found.drift_ratio == pytest.approx(expm1(180 * expected.slope))
    assert found.error == pytest.approx(180 * error)
    assert found.drift_low_ratio == pytest.approx(expm1(180 * (expected.slope - half)))
    assert found.drift_high_ratio == pytest.approx(expm1(180 * (expected.slope + half)))
    p = 2 * float(stats.t.sf(abs(expected.slope) / error, found.freedom))
    assert found.drift_p == pytest.approx(p)
    assert found.drifts == (p < 0.01)


def test_nothing_is_known_of_time_where_it_did_not_pass_or_nothing_scatters() -> None:
    tables = several(0.0, 0)
    assert trend_of({name: own.assign(began_s=500.0) for name, own in tables.items()}) is None
    assert trend_of({name: own.assign(value=100.0) for name, own in tables.items()}) is None
    # a straight line leaves no scatter
    straight = {name: own.assign(value=100 * np.exp(own["began_s"] * 1e-3)) for name, own in tables.items()}
    assert trend_of(straight) is None


@pytest.mark.parametrize(
    ("counts", "known"), [((2, 2), False), ((3, 3), True), ((5,), True), ((4, 1), False)]
)
def test_a_drift_takes_three_degrees_of_freedom_and_cells_measured_once_tell_none(
    counts: tuple[int, ...], known: bool
) -> None:
    dice = np.random.default_rng(1)
    timed = [
        TimedValue(cell, float(10 * place + cell), float(dice.uniform(9, 11)))
        for cell, count in enumerate(counts)
        for place in range(count)
    ]
    assert (trend(timed) is not None) == known
