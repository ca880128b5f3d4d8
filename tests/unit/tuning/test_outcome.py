"""The end of a tuning: the gain by the rule for "better", importance from the surface, one sentence."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from scipy import stats

from perjoule.model import Cell, Interval, Ran
from perjoule.statistics.intervals import interval
from perjoule.tuning.objective import objective
from perjoule.tuning.outcome import TuningOutcome, gain, importance, power_w
from perjoule.tuning.space import Option, OptionSpace, places
from perjoule.tuning.surface import Block, Surface

METRIC = "efficiency_bytes_per_j"
DEFAULT = (10.0, 10.2, 9.9, 10.1, 9.8)
TUNED = (11.0, 11.3, 10.9, 11.2, 11.1)


def cell(label: str, values: tuple[float, ...], workload: str = "load", **more: tuple[float, ...]) -> Cell:
    place = 10.0 * (label == "tuned") + 20.0 * (workload != "load")
    ran = tuple(Ran(n + 1, 40.0 * n + place, 40.0 * n + place + 5) for n in range(len(values)))
    metrics = {METRIC: interval(values), **{key: interval(own) for key, own in more.items()}}
    return Cell(label, workload, "write", 1, metrics, ran=ran)


def outcome(**words: object) -> TuningOutcome:
    found = TuningOutcome(
        objective=objective("MiB/J"),
        winner="threads = 8",
        changes={"threads": 8},
        gives_up={},
        gain=gain([cell("default", DEFAULT), cell("tuned", TUNED)], METRIC),
        repetitions_count=5,
        power_w=None,
        importance=(),
        settings_count=12,
        failed={},
        trials_count=40,
        ended="its trials were used up",
    )
    return replace(found, **words)


def test_the_gain_is_the_ratio_of_geometric_means_with_welchs_interval() -> None:
    without_times = [
        replace(cell(label, values), ran=()) for label, values in (("default", DEFAULT), ("tuned", TUNED))
    ]
    found = gain(without_times, METRIC)
    assert found is not None
    one, other = np.log(TUNED), np.log(DEFAULT)
    size, errors = one.mean() - other.mean(), [np.var(own, ddof=1) / 5 for own in (one, other)]
    freedom = np.floor(sum(errors) ** 2 / sum(e**2 / 4 for e in errors))
    half = stats.t.ppf(0.975, freedom) * np.sqrt(sum(errors))
    assert found.ratio.mean == pytest.approx(exp(size))
    assert (found.ratio.low, found.ratio.high) == pytest.approx((exp(size - half), exp(size + half)))
    assert found.word == "better"


def test_workloads_have_equal_weights() -> None:
    both = [
        cell("default", DEFAULT),
        cell("tuned", TUNED),
        cell("default", TUNED, "other"),
        cell("tuned", DEFAULT, "other"),
    ]
    found = gain(both, METRIC)
    assert found is not None
    assert found.ratio.mean == pytest.approx(1)
    assert found.word == "no relevant difference"


def test_a_workload_that_one_side_lacks_leaves_no_gain() -> None:
    assert (
        gain([cell("default", DEFAULT), cell("tuned", TUNED), cell("default", DEFAULT, "other")], METRIC)
        is None
    )
    assert gain([], METRIC) is None


def test_the_power_is_that_of_the_workload_that_draws_most() -> None:
    quiet, loud = (20.0, 20.2, 20.1), (24.0, 24.4, 24.2)
    cells = [
        cell("tuned", (1.0, 1.1, 1.2), mean_w=quiet),
        cell("tuned", (1.0, 1.1, 1.2), "other", mean_w=loud),
        cell("default", (1.0, 1.1, 1.2), mean_w=(30.0, 30.0, 30.0)),
    ]
    found = power_w(cells)
    assert found is not None
    assert found.mean == pytest.approx(24.2)
    within = outcome(objective=objective("MiB/s", "26 W"), power_w=found)
    assert within.better
    beyond = outcome(objective=objective("MiB/s", "24.3 W"), power_w=found)
    assert not beyond.better
    assert "not surely within 24.3 W; keep the default" in beyond.sentence


def metered(error_j: float, *, unstated: bool = False) -> Cell:
    """Ten seconds of the tuned setting at about 24.2 W, on a meter that may be wrong by this."""
    watts = (24.0, 24.4, 24.2)
    energies_j, errors_j = (240.0, 244.0, 242.0), (error_j,) * 3
    of = cell(
        "tuned",
        (1.0, 1.1, 1.2),
        mean_w=watts,
        energy_j=energies_j,
        energy_shared_uncertainty_j=errors_j,
    )
    return replace(of, unstated=("net",) if unstated else ())


@pytest.mark.parametrize("error_j", [0.0, 7.0, 20.0])
def test_the_power_is_within_its_limit_only_with_the_error_of_its_meter(error_j: float) -> None:
    found = power_w([metered(error_j)])
    assert found is not None
    half_w = np.hypot(stats.t.ppf(0.975, 2) * 0.2 / np.sqrt(3), error_j / 10)
    assert (found.low, found.high) == pytest.approx((24.2 - half_w, 24.2 + half_w))
    assert outcome(objective=objective("MiB/s", "25 W"), power_w=found).within == (error_j < 7.0)


def test_the_power_of_a_meter_without_an_accuracy_is_surely_within_no_limit() -> None:
    unsure = outcome(objective=objective("MiB/s", "60 W"), power_w=power_w([metered(1.0, unstated=True)]))
    assert not unsure.better
    assert "24.20 W (with an error that its meter does not state), not surely within 60 W" in unsure.sentence


def test_one_sentence_says_it_all() -> None:
    assert outcome().sentence.startswith("threads = 8: MiB/J 1.110 times the default's (95 % interval 1.0")
    assert outcome().sentence.endswith(
        "5 fresh trials of each, in turns), significantly better than the default"
    )
    same = gain([cell("default", DEFAULT), cell("tuned", DEFAULT)], METRIC)
    assert outcome(gain=same).sentence.startswith("no gain: threads = 8: MiB/J 1.000 times the default's")
    assert not outcome(gain=same).better
    assert outcome(changes={}, gain=None).sentence.startswith("no gain: the race expects no other setting")
    assert outcome(gain=None).sentence.startswith(
        "no result: trials of the final comparison failed with threads = 8"
    )


def test_an_option_matters_or_does_not_or_that_is_undecided() -> None:
    space = OptionSpace(
        (
            Option("threads", (1, 2, 4), 0, places((1, 2, 4))),
            Option("cache", ("a", "b"), 0),
        )
    )
    dice = np.random.default_rng(1)
    effects = (0.0, 0.1, 0.3)
    many = [
        Block((a, b), r, effects[a] + dice.normal(0, 0.003))
        for r in range(6)
        for a in range(3)
        for b in range(2)
    ]
    found = importance(space, Surface(space, many), less_is_better=False)
    first = found[0]
    assert (first.option, first.best, first.worst, first.matters) == ("threads", 4, 1, "matters")
    assert found[1].matters == "does not matter"
    assert found[0].ratio.low < exp(0.3) < found[0].ratio.high
    assert log(found[0].ratio.mean) == pytest.approx(0.3, abs=0.01)
    less = importance(space, Surface(space, many), less_is_better=True)[0]
    assert less.ratio.mean == pytest.approx(1 / found[0].ratio.mean)
    assert less.ratio == Interval(less.ratio.mean, less.ratio.low, less.ratio.high, (less.ratio.mean,))
    assert less.ratio.low < less.ratio.mean < less.ratio.high
    # of 3 + 2 values, 5 are needed
    exact = [Block((a, b), 1, effects[a]) for a, b in ((0, 0), (1, 1), (2, 0), (2, 1))]
    assert {one.matters for one in importance(space, Surface(space, exact), less_is_better=False)} == {
        "undecided"
    }
    more = [*exact, Block((0, 1), 1, 0.0)]
    assert importance(space, Surface(space, more), less_is_better=False)[0].matters == "matters"
    few = [Block((0, 0), 1, 0.0), Block((2, 1), 1, 0.06), Block((1, 0), 1, -0.05), Block((1, 1), 1, 0.05)]
    assert {one.matters for one in importance(space, Surface(space, few), less_is_better=False)} == {
        "undecided"
    }
