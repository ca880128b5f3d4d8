"""Idle power and dynamic energy, by docs/explanations/uncertainty.md ("Boundaries")."""

from dataclasses import replace
from math import hypot, sqrt

import numpy as np
import pytest

from oracle.budget import correlated
from perjoule.energy.baseline import OMITTED, UNSETTLED, dynamic, idle, idle_windows, rates
from perjoule.energy.budget import Budget, Term
from perjoule.energy.integral import Integral
from perjoule.energy.terms import budget
from perjoule.measures.points import points
from perjoule.model import Phase
from typed import present

BASELINE = Phase("baseline", 4.0, 10.0)
SERVERS = ("storage-1", "storage-2", "metadata-1")


def trial(made, *phases):
    return replace(made.record(moved=made.results((10.0, 20.0)), write_back_s=None), phases=phases)


@pytest.mark.parametrize(
    ("tail", "windows"),
    [
        (None, ((4.0, 10.0),)),
        (Phase("tail", 20.0, 20.0), ((4.0, 10.0),)),
        (Phase("tail", 20.0, 28.0), ((4.0, 10.0), (24.0, 28.0))),
        (Phase("tail", 20.0, 40.0), ((4.0, 10.0), (34.0, 40.0))),
    ],
)
def test_idle_time_is_the_baseline_and_as_much_of_the_tails_end_but_no_more_than_half_of_it(
    made, tail, windows
):
    assert idle_windows(trial(made, BASELINE, *([tail] if tail else []))) == windows


def test_without_a_baseline_nothing_is_idle(made):
    record = trial(made, Phase("tail", 20.0, 40.0))
    assert idle_windows(record) == ()
    assert idle(record, ((1, made.steady("storage-1", 10.0)),)) is None


@pytest.mark.parametrize(
    "tail",
    [None, Phase("tail", 20.0, 20.0), Phase("tail", 20.0, 20.4)],
    ids=["no", "empty", "between samples"],
)
def test_no_trial_has_a_dynamic_energy_by_its_baseline_alone(made, tail):
    """Of a row it would be the one that knows nothing of the change of idle power, and says that it is
    sure.
    """
    record = trial(made, BASELINE, Phase("measure", 10.0, 20.0), *([tail] if tail else []))
    series = [stepping(made, 10.0, 50.0, 14.0, host) for host in SERVERS]
    assert idle(record, tuple((1, one) for one in series)) is None
    (point,) = points(record, series)
    assert point.metrics["energy_j"] == pytest.approx(1500)
    assert not [key for key in point.metrics if key.startswith("dynamic")]
    assert point.omitted["dynamic"] == UNSETTLED


def test_without_idle_time_the_reason_is_not_that_idle_power_is_uncertain(made):
    (point,) = points(
        trial(made, Phase("measure", 10.0, 20.0)),
        [stepping(made, 10.0, 50.0, 14.0, host) for host in SERVERS],
    )
    assert point.omitted["dynamic"] == UNSETTLED


def stepping(made, before_w, load_w, after_w, host="storage-1"):
    """Means of 0.5 s of a power that is steady before, in, and after the load."""
    t_s = np.arange(0.5, 45.25, 0.5)
    power_w = np.select([t_s <= 10, t_s <= 20], [before_w, load_w], after_w)
    return made.series(made.channel(host, semantics="window mean"), t_s, power_w, 0.5)


def test_idle_power_is_the_mean_of_before_and_after_and_what_it_changed_by_is_as_likely_as_not(made):
    record = trial(made, BASELINE, Phase("tail", 20.0, 40.0))
    found = present(
        idle(record, ((1, stepping(made, 10.0, 50.0, 14.0)), (-1, stepping(made, 2.0, 2.0, 2.0))))
    )
    assert (found.mean_w, found.standard_w) == (pytest.approx(10.0), pytest.approx(4 / sqrt(12)))
    assert len(found.windows) == 2


def test_one_mean_alone_tells_no_scatter_of_idle_power(made):
    """Idle time that ends as the only mean in it does."""
    t_s = np.arange(3.0, 60.0, 3.0)
    means = made.stating("window mean", t_s, np.where(t_s < 30, 10.0, 14.0), 3.0)
    record = trial(made, Phase("baseline", 8.5, 9.0), Phase("tail", 20.0, 42.0))
    found = present(idle(record, ((1, means),)))
    assert found.windows == ((8.5, 9.0), (41.5, 42.0))
    assert (found.mean_w, found.standard_w) == (pytest.approx(12.0), pytest.approx(4 / sqrt(12)))


@pytest.mark.parametrize("semantics", ["window mean", "counter"])
def test_the_scatter_of_idle_power_counts_as_that_of_correlated_samples(made, semantics):
    """And the terms of the budget but the accuracy; both windows err on their own."""
    dice = np.random.default_rng(3)
    t_s = np.arange(0.0, 45.25, 0.5)
    power_w = 10 + dice.normal(0, 0.5, len(t_s))
    value = np.cumsum(power_w * 0.5) if semantics == "counter" else power_w
    one = made.stating(
        semantics, t_s, value, 0.5 if semantics == "window mean" else 0.0, gain_ratio=0.01, resolution=0.3
    )
    record = trial(made, BASELINE, Phase("tail", 20.0, 40.0))
    found = present(idle(record, ((1, one),)))
    means, errors = [], []
    for began_s, ended_s in ((4.0, 10.0), (34.0, 40.0)):
        stated = present(budget(one, began_s, ended_s))
        spread_w, count, _ = correlated(power_w[(t_s >= began_s) & (t_s <= ended_s)])
        terms_j = hypot(*(t.standard_j for t in stated.terms if t.name != "accuracy"))
        means.append(stated.value_j / 6)
        errors.append(hypot(terms_j / 6, spread_w / sqrt(count)))
    assert found.mean_w == pytest.approx(sum(means) / 2)
    assert found.standard_w == pytest.approx(
        hypot(hypot(*errors) / 2, (max(means) - min(means)) / sqrt(12)), rel=1e-6
    )


def test_the_rates_of_a_counter_are_those_of_the_pieces_in_and_at_the_ends_of_a_window(made):
    t_s = np.arange(0.0, 20.0)
    counted = Integral(made.stating("counter", t_s, np.cumsum(t_s)))
    assert rates(counted, 4.5, 7.5) == pytest.approx([5, 6, 7, 8])
    assert rates(counted, 5.0, 7.0) == pytest.approx([5, 6, 7])
    assert rates(counted, -1.0, 1.5) == pytest.approx([1, 2])
    assert rates(counted, 17.5, 30.0) == pytest.approx([18, 19])
    fallen = Integral(made.stating("counter", t_s, np.where(t_s < 6, 10 * t_s, 10 * t_s - 60)))
    assert rates(fallen, 4.5, 7.5) == pytest.approx([10, 10, 10])


def test_dynamic_energy_keeps_what_a_gain_makes_wrong_and_loses_what_an_offset_does(made):
    accuracy = Term("accuracy", 8.0, "wall", shared=True, rectangular=True, factor_j=5.0)
    coefficient = Term("board idle", 3.0, "modelled", shared=True, source="odroid-hc4: idle of board")
    whole = Budget(500.0, (accuracy, Term("noise", 2.0), coefficient), ("clock",))
    without = present(
        idle(trial(made, BASELINE, Phase("tail", 20.0, 40.0)), ((1, stepping(made, 10.0, 50.0, 12.0)),))
    )
    found = present(dynamic(whole, without, 10.0))
    assert (found.value_j, found.unknown) == (pytest.approx(500 - 110), ("clock",))
    terms = {t.name: t for t in found.terms}
    assert terms.keys() == {"accuracy", "noise", "baseline"}
    assert (terms["accuracy"].standard_j, terms["accuracy"].factor_j) == (pytest.approx(5 * 390 / 500),) * 2
    assert terms["baseline"].standard_j == pytest.approx(10 * 2 / sqrt(12))
    assert present(dynamic(Budget(500.0, (replace(accuracy, factor_j=0.0),)), without, 10.0)).terms == (
        terms["baseline"],
    )
    assert dynamic(Budget(100.0), without, 10.0) is None  # less than what idles


@pytest.mark.parametrize(("ratio", "given"), [(0.97, True), (1.03, False)])
def test_dynamic_energy_is_refused_where_a_fifth_of_it_is_uncertain(made, ratio, given):
    """10 s at 22.5 W of a host that idles at 10 W on average: what that changed by, over the root of 12,
    is a fifth of 12.5 W.
    """
    half_w = ratio * 0.2 * 12.5 * sqrt(12) / 2
    record = trial(made, BASELINE, Phase("measure", 10.0, 20.0), Phase("tail", 20.0, 40.0))
    series = [made.steady(h, 10.0, ended_s=45.0) for h in ("storage-2", "metadata-1")]
    series.append(stepping(made, 10.0 - half_w, 22.5, 10.0 + half_w))
    (point,) = points(record, series)
    assert ("dynamic_energy_j" in point.metrics) == given
    assert point.omitted.get("dynamic") == (None if given else OMITTED)
    assert OMITTED not in point.doubts
    if given:
        assert point.metrics["dynamic_energy_j"] == pytest.approx(125)


def stepped(made, idle_w, load_w):
    """Means of 0.5 s of a power that is steady in idle time and in the load, in whole watts."""
    t_s = np.arange(0.5, 45.25, 0.5)
    power_w = np.where((t_s > 10) & (t_s <= 20), load_w, idle_w)
    return made.stating("window mean", t_s, np.round(power_w), 0.5, resolution=1.0)


def test_a_step_of_idle_power_is_alike_before_and_after_and_adds_to_that_of_the_load(made):
    steady = stepped(made, 10.3, 50.4)
    without = present(idle(trial(made, BASELINE, Phase("tail", 20.0, 40.0)), ((1, steady),)))
    assert (without.mean_w, without.standard_w) == (10.0, 0.0)
    assert without.step_w == pytest.approx(1 / sqrt(12))
    added = present(dynamic(present(budget(steady, 10.0, 20.0)), without, 10.0))
    assert added.value_j == pytest.approx(400)
    error_j = 10 / sqrt(12) * hypot(1, hypot(20, 1) / 21)  # the first of 21 samples is of idle time
    assert added.shared == {"meter: resolution": pytest.approx(error_j / 400)}
    assert added.shared_j == pytest.approx(1.959964 * error_j)


def test_dynamic_energy_in_whole_watts_is_held_in_95_of_100(made):
    """With the load's step alone, in fewer than nine of ten."""
    dice, held, of_load = np.random.default_rng(8), 0, 0
    for _ in range(200):
        idle_w, load_w = dice.uniform(10, 20), dice.uniform(40, 60)
        steady = stepped(made, idle_w, load_w)
        without = present(idle(trial(made, BASELINE, Phase("tail", 20.0, 40.0)), ((1, steady),)))
        whole = present(budget(steady, 10.0, 20.0))
        error_j = abs(present(dynamic(whole, without, 10.0)).value_j - 10 * (load_w - idle_w))
        held += error_j <= present(dynamic(whole, without, 10.0)).expanded_j
        of_load += error_j <= present(dynamic(whole, replace(without, step_w=0.0), 10.0)).expanded_j
    assert held >= 186
    assert of_load < 180
