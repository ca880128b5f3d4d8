"""Ratios are the same in any unit: values far below one count like all others, and only nothing and less
is left out.
"""

from dataclasses import replace

import pytest

from perjoule.measures.users import user_metrics
from perjoule.model import Cell, ClientResult, Ran
from perjoule.statistics.better import Judge, refusal
from perjoule.statistics.drift import TimedValue, trend
from perjoule.statistics.intervals import interval, ratio_interval
from perjoule.statistics.outliers import outliers
from perjoule.statistics.replacement import replacements
from perjoule.statistics.scaling import scaling
from perjoule.statistics.trends import campaign_trend
from perjoule.statistics.users import jain
from perjoule.statistics.winners import winners
from perjoule.trial.reading import Dilation

RATE, PER_J = "throughput_bytes_per_s", "efficiency_bytes_per_j"
VALUES = (100.0, 104.0, 98.0, 103.0, 102.0, 60.0, 101.0)
RAN = tuple(Ran(n, 10.0 * n, 10.0 * n + 5) for n in range(len(VALUES)))


def cell(name, factor, metric=RATE, **words):
    return Cell(name, "fio", "write", 4, {metric: interval([factor * v for v in VALUES])}, ran=RAN, **words)


def machine(name, factor, watts):
    metrics = {RATE: VALUES, PER_J: VALUES, "mean_w": (watts,) * len(VALUES)}
    return name, Cell(
        name,
        "fio",
        "read",
        1,
        {key: interval([factor * v for v in values]) for key, values in metrics.items()},
    )


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_what_is_compared_by_ratios_is_the_same_in_any_unit(made, unit):
    some = [unit * v for v in VALUES]
    assert outliers(some) == (5,)
    assert ratio_interval(some, some).mean == pytest.approx(1)
    assert jain([unit, 3 * unit]) == pytest.approx(16 / 20)
    found = trend([TimedValue(0, float(n), value) for n, value in enumerate(some)])
    assert found is not None
    assert campaign_trend([cell("a", unit)], RATE) is not None
    two = [cell("a", unit), cell("b", 2 * unit)]
    assert refusal(two, RATE) == ""
    assert Judge(two).verdict(two[1], two[0], RATE).ratio.mean == pytest.approx(2)
    (best,) = winners([made.record(made.trial(name, "fio")) for name in "ab"], two)
    assert (best.best, best.over_average.mean) == ("b", pytest.approx(2))
    (more,) = replacements([machine("pc", 2 * unit, 30.0), machine("mpsoc", unit, 5.0)])
    assert more.machines_ratio.mean == pytest.approx(2)
    (law,) = scaling([cell("a", n * unit, servers_count=n) for n in (1, 2)])
    assert law.of_ideal[2].mean == pytest.approx(1)
    results = [ClientResult("c", "read", 0.0, 10.0, 100, 1, user=user) for user in ("one", "other")]
    assert user_metrics(results, Dilation(1 / unit).emulated)["fairness_ratio"] == pytest.approx(1)


def test_nothing_and_less_has_no_ratio(made):
    for value in (0.0, -1.0):
        some = [value, *VALUES[1:]]
        assert outliers(some) == ()
        assert trend([TimedValue(0, float(n), one) for n, one in enumerate(some)]) is None
        none = replace(cell("a", 1.0), metrics={RATE: interval(some)})
        assert campaign_trend([none], RATE) is None
        assert refusal([none, cell("b", 1.0)], RATE) == "not all values are positive"
        assert winners([made.record(made.trial(name, "fio")) for name in "ab"], [none, cell("b", 1.0)]) == ()
        assert scaling([replace(none, servers_count=1), cell("a", 1.0, servers_count=2)]) == ()
        for broken in (lambda some=some: ratio_interval(some, VALUES), lambda some=some: jain(some)):
            with pytest.raises(ValueError, match="positive"):
                broken()
