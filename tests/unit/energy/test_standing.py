"""A counter that hardly steps: the uncertainty of its energy, when it is refused, and when power is
preferred to it.
"""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from perjoule.drivers.boundary import Boundary
from perjoule.energy.amount import amount
from perjoule.energy.integral import Integral, integral
from perjoule.energy.standing import stands, unknown, updated
from perjoule.energy.terms import budget
from perjoule.measures.points import points
from perjoule.meters.shelly import Shelly
from perjoule.model import Series, Specification
from perjoule.statistics.cells import cells
from readings import servers_energy
from typed import present

SERVERS = ("storage-1", "storage-2", "metadata-1")


def counted(made, step_s, phase_s, power_w=44.0, host="storage-1", rate_hz=1.0, ended_s=200.0, **stated):
    """A plug's counter, brought up to date at a period in seconds."""
    t_s = np.arange(0.0, ended_s, 1 / rate_hz)
    value = 500.0 + power_w * (np.floor((t_s - phase_s) / step_s) * step_s + phase_s)
    of = made.channel(host, "all", "energy", "counter", meter="shelly")
    return made.series(replace(of, specification=Specification(**stated)), t_s, value)


def sampled(made, dice, power_w=44.0, host="storage-1", ended_s=200.0):
    t_s = np.arange(0.0, ended_s, 0.2)
    of = made.channel(host, "all", "power", "instantaneous", meter="shelly")
    value = np.round(power_w + dice.normal(0, 0.3, len(t_s)), 1)
    return made.series(replace(of, specification=Specification(resolution=0.1)), t_s, value)


def plugs(made, step_s, phase_s, dice, **words):
    return [
        one
        for host in SERVERS
        for one in (
            sampled(made, dice, host=host),
            counted(made, step_s, phase_s, host=host, period_s=step_s, **words),
        )
    ]


@pytest.mark.parametrize("phase_s", [5.0, 40.0, 55.0])
def test_good_power_is_preferred_to_a_counter_that_hardly_steps(made, phase_s):
    """A window of 20 s at 44 W is 880 J a plug; a step of its counter is 2640 J."""
    found = servers_energy(made.record(), plugs(made, 60.0, phase_s, np.random.default_rng(1)), 40, 60)
    assert found.net_j == pytest.approx(3 * 880, rel=0.01)
    assert present(found.net).expanded_j < 30
    assert (found.source, found.doubts) == ("shelly power", ())


def test_a_counter_that_steps_often_is_preferred_to_power(made):
    found = servers_energy(
        made.record(), plugs(made, 0.1, 0.03, np.random.default_rng(1), rate_hz=2.0), 40, 60
    )
    assert found.source == "shelly energy"
    assert found.net_j == pytest.approx(3 * 880, rel=0.01)


@pytest.mark.heavy
def test_repetitions_have_one_source_wherever_the_counter_steps(made):
    dice = np.random.default_rng(3)
    for step_s in (1.0, 5.0, 20.0, 60.0):
        seen = set()
        for _ in range(12):
            began_s = dice.uniform(30, 60)
            found = servers_energy(
                made.record(), plugs(made, step_s, dice.uniform(0, step_s), dice), began_s, began_s + 40
            )
            seen.add(found.source)
        assert len(seen) == 1


@pytest.mark.parametrize(("phase_s", "times"), [(10.0, "never"), (50.0, "only once")])
def test_a_counter_alone_that_hardly_steps_is_refused(made, phase_s, times):
    found = amount(counted(made, 60.0, phase_s), 40, 60)
    assert found.value is None
    assert f"the counter stepped {times} in the window; its energy is refused" in " ".join(found.doubts)


def test_a_counter_alone_that_steps_a_few_times_is_doubted_and_one_that_steps_often_is_not(made):
    assert "stepped only 4 times" in amount(counted(made, 10.0, 5.0), 50, 90).doubts[0]
    assert amount(counted(made, 4.0, 1.0), 50, 90).doubts == ()
    # each reading is a new one, though there are few
    assert amount(counted(made, 0.01, 0.0), 50, 52).doubts == ()


def test_both_reasons_are_reported_where_neither_counter_nor_power_will_do(made):
    slow = [replace_rate(one) for one in plugs(made, 60.0, 5.0, np.random.default_rng(1))]
    found = servers_energy(made.record(), slow, 40, 60)
    assert found.net is None
    assert any("stepped never" in doubt or "stepped only once" in doubt for doubt in found.doubts)
    assert any("undersampled" in doubt for doubt in found.doubts)


def replace_rate(one):
    """The same, with one sample a second."""
    keep = slice(None, None, 5) if one.channel.quantity == "power" else slice(None)
    return Series(one.channel, one.t_s[keep], one.duration_s[keep], one.value[keep])


@pytest.mark.heavy
@pytest.mark.parametrize("stated", [{}, {"period_s": 5.0}, {"resolution": 250.0}])
def test_the_interval_holds_what_a_counter_that_stands_does_not_show(made, stated):
    """Steps of 5 s at powers that vary; the truth is the integral of these.

    Not more than three times too wide.
    """
    held, errors, halves = 0, [], []
    for run in range(300):
        dice = np.random.default_rng(run)
        fine_s = np.arange(0, 200, 0.1)
        power_w = np.repeat(dice.choice([40.0, 60.0], 100), 20)
        true_j = np.concatenate(([0.0], np.cumsum(power_w * 0.1)))
        grid_s = np.append(fine_s, 200.0)
        t_s, phase_s = np.arange(0.0, 199.0, 0.5), dice.uniform(0, 5)
        value = np.interp(np.maximum(np.floor((t_s - phase_s) / 5) * 5 + phase_s, 0.0), grid_s, true_j)
        began_s, ended_s = dice.uniform(20, 40), dice.uniform(90, 150)
        found = present(budget(made.stating("counter", t_s, value, **stated), began_s, ended_s))
        error_j = found.value_j - np.diff(np.interp([began_s, ended_s], grid_s, true_j))[0]
        held += abs(error_j) <= found.expanded_j
        errors.append(error_j)
        halves.append(found.expanded_j)
    assert held >= 0.93 * 300
    assert np.mean(halves) < 3 * np.sqrt(np.mean(np.square(errors)))


def test_repetitions_from_different_sources_are_doubted(made):
    dice = np.random.default_rng(1)
    trials = [made.trial(repetition=n) for n in (1, 2)]
    kinds = [
        plugs(made, 60.0, 5.0, dice),
        [one for one in plugs(made, 1.0, 0.5, dice) if one.channel.quantity == "energy"],
    ]
    records = [made.record(one, made.results((40.0, 60.0), (40.0, 60.0))) for one in trials]
    found = [points(record, kind)[0] for record, kind in zip(records, kinds, strict=True)]
    (cell,) = cells(records, found)
    assert "repetitions take their energy from different sources (shelly energy; shelly power)" in cell.doubts
    (same,) = cells(records, [found[0], replace(found[0], trial=trials[1])])
    assert not any("different sources" in doubt for doubt in same.doubts)


def test_a_counter_that_stands_is_counted_at_its_updates_and_not_where_it_was_read(made):
    """50 W, updated every 4 s and read every second: each new count is dated in the middle of the second
    before its reading.
    """
    t_s = np.arange(0.5, 60.5)
    series = made.stating("counter", t_s, 50 * 4 * np.floor(t_s / 4))
    now = updated(series, 10, 30)
    assert now.curve.samples.t_s == pytest.approx(np.arange(4.0, 60.0, 4.0))
    assert np.unique(now.curve.pieces(np.arange(1, 14)).first_rate) == pytest.approx([50.0])
    assert now.spread_s == pytest.approx(np.ones(14))
    assert present(budget(series, 10, 30)).value_j == pytest.approx(50 * 20)


@pytest.mark.parametrize("each_s", [0.25, 1.0, 4.0])
@pytest.mark.parametrize(("period_ratio", "spread"), [(0.5, (0.5,) * 8), (10.0, (1, 1, 1, 1, 2, 1, 1, 1))])
def test_a_reading_was_new_within_the_period_or_since_the_one_before_or_in_twice_the_usual_time(
    made, each_s, period_ratio, spread
):
    """Read at times 0, 1, 2, 3, 7, 8, 9 and 10; what is usual stands for what the first one lacks."""
    t_s = each_s * np.array([0.0, 1, 2, 3, 7, 8, 9, 10])
    series = made.stating("counter", t_s, 40 * t_s, period_s=period_ratio * each_s)
    now = updated(series, float(t_s[1]), float(t_s[-2]))
    assert now.spread_s == pytest.approx(each_s * np.array(spread))
    assert now.curve.samples.t_s == pytest.approx(t_s - each_s * np.array(spread) / 2)
    assert not now.single


def test_a_step_that_has_just_been_reached_has_no_error_of_resolution(made):
    """One step at a time, or several at each update."""
    t_s = np.arange(0.0, 100.0, 0.5)
    for value, named in ((10 * np.floor(t_s / 4), False), (100 * np.floor(t_s / 4), True)):
        found = present(budget(made.stating("counter", t_s, value, resolution=10.0), 20.0, 80.0))
        assert ("resolution" in [t.name for t in found.terms]) == named


@pytest.mark.parametrize(("moved_j", "single"), [(10.0, True), (14.9, True), (15.0, False), (20.0, False)])
def test_an_update_below_one_and_a_half_steps_is_a_single_one(made, moved_j, single):
    """With a resolution of 10 J: what an update moves on by the median tells whether it is one step."""
    t_s = np.arange(0.0, 100.0, 0.5)
    of = made.stating("counter", t_s, moved_j * np.floor(t_s / 4), resolution=10.0)
    assert updated(of, 20.0, 80.0).single == single


def test_a_counter_that_wraps_while_it_stands_counts_over_the_wrap(made):
    t_s = np.arange(0.0, 100.0, 0.5)
    value = 100 * np.floor(t_s / 4) % 500
    series = made.stating("counter", t_s, value, range_value=500.0, most_w=250.0)
    assert present(budget(series, 20.0, 80.0)).value_j == pytest.approx(25 * 60)


def with_a_fall(rates_w, at, **stated):
    """A counter read once a second, which has begun again at 0 within the second that ends at reading
    `at`.
    """
    value = 100.0 + np.concatenate(([0.0], np.cumsum(rates_w)))
    value[at:] -= value[at] - 5.0
    return np.arange(len(value), dtype=float), value, stated


@pytest.mark.parametrize("after_w", [40.0, 60.0])
def test_a_step_that_a_reset_hid_counts_with_what_is_beside_it(made, after_w):
    """40 W before, and after it as much or 60 W: by the definition in the docs, computed here step by
    step.
    """
    rates_w = np.where(np.arange(60) < 30, 40.0, after_w)
    rates_w[10] = 46.0
    t_s, value, _ = with_a_fall(rates_w, 30)
    found = present(budget(made.stating("counter", t_s, value, gain_ratio=0.01), 5.0, 55.0))
    # of the second that ends at 30 s: the rates of those that end at 29 and 31 s
    beside_j = (40.0 + after_w) / 2
    assert found.value_j == pytest.approx(rates_w[5:55].sum() - rates_w[29] + beside_j)
    known = [n for n in range(5, 55) if 29 not in (n - 1, n, n + 1)]
    errors_j = [rates_w[n] - (rates_w[n - 1] + rates_w[n + 1]) / 2 for n in known]
    (gaps,) = (t.standard_j for t in found.terms if t.name == "gaps")
    assert gaps == pytest.approx(np.sqrt((after_w - 40) ** 2 / 12 + np.mean(np.square(errors_j))), rel=0.02)
    assert any(
        "neither a wrap nor a possible rate" in doubt
        for doubt in amount(made.stating("counter", t_s, value), 5, 55).doubts
    )


def test_a_wrap_that_looks_like_none_is_doubted_and_its_energy_may_be_wrong(made):
    """40 W, and at the fall 95 W if it is a wrap: further from its neighbours than any other step."""
    t_s, value, _ = with_a_fall(np.full(60, 40.0), 30)
    range_j = value[29] + 90.0
    of = made.stating("counter", t_s, value, range_value=float(range_j), most_w=200.0)
    found = present(budget(of, 5.0, 55.0))
    assert found.value_j == pytest.approx(49 * 40 + 95)
    (gaps,) = (t.standard_j for t in found.terms if t.name == "gaps")
    assert gaps == pytest.approx((95 - 40) / np.sqrt(3))
    assert found.value_j - found.expanded_j < 50 * 40
    assert any("1 wrap of the counter may be a reset" in doubt for doubt in amount(of, 5.0, 55.0).doubts)


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ((5.0, 28.8), False),
        ((5.0, 29.2), True),
        ((5.0, 29.8), True),
        ((29.2, 55.0), True),
        ((29.8, 55.0), True),
        ((30.2, 55.0), False),
    ],
)
def test_a_wrap_that_looks_like_none_is_doubted_in_each_window_that_meets_its_second(made, window, told):
    """It ended at 30 s."""
    t_s, value, _ = with_a_fall(np.full(60, 40.0), 30)
    of = made.stating("counter", t_s, value, range_value=float(value[29] + 90.0), most_w=200.0)
    assert (
        any("1 wrap of the counter may be a reset" in doubt for doubt in amount(of, *window).doubts) == told
    )
    assert ("gaps" in [t.name for t in present(budget(of, *window)).terms]) == told


@pytest.mark.parametrize("each_s", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    ("wrap_w", "beyond_w"), [(39.0, 0), (42.0, 0), (61.0, 0), (63.0, 13.0), (35.0, 15.0)]
)
def test_a_wrap_between_two_levels_may_have_any_power_between_them(made, each_s, wrap_w, beyond_w):
    """40 W before it and 60 W after it: beside their mean by 10 W, and by 2 W as another step is, it is like them."""
    rates_w = np.where(np.arange(60) < 29, 40.0, 60.0)
    rates_w[[10, 29]] = 42.0, wrap_w
    value = 100.0 + np.concatenate(([0.0], np.cumsum(each_s * rates_w)))
    range_j = value[30] - 5.0
    value[30:] -= range_j
    of = made.stating("counter", each_s * np.arange(61.0), value, range_value=float(range_j), most_w=200.0)
    window = 2.5 * each_s, 55.5 * each_s
    found = present(budget(of, *window))
    assert found.value_j == pytest.approx(each_s * (rates_w[3:55].sum() + 0.5 * 40 + 0.5 * 60))
    gaps_j = [t.standard_j for t in found.terms if t.name == "gaps"]
    assert gaps_j == pytest.approx([each_s * beyond_w / sqrt(3)] if beyond_w else [])
    assert any("may be a reset" in doubt for doubt in amount(of, *window).doubts) == bool(beyond_w)


def test_a_wrap_like_any_other_step_is_not_doubted(made):
    t_s = np.arange(0.0, 61.0)
    of = made.stating("counter", t_s, 40.0 * t_s % 500, range_value=500.0, most_w=200.0)
    assert amount(of, 5.0, 55.0).doubts == ()
    assert [t.name for t in present(budget(of, 5.0, 55.0)).terms] == []


@pytest.mark.parametrize("at", [1, 2, 3, 10, 18, 19, 20])
@pytest.mark.parametrize("inside", [(-0.5, 0.0), (-0.5, 3.0), (-3.0, -0.5), (-0.7, -0.2), (-3.0, 3.0)])
def test_what_a_step_was_is_told_by_both_steps_beside_it_wherever_a_window_cuts_it(made, at, inside):
    """Of 30 W before, and 50 W after: any between is as likely. At either end of the series nothing tells."""
    t_s = np.arange(21.0)
    curve = Integral(made.stating("counter", t_s, np.where(t_s < at, 1000 + 30 * t_s, 50 * (t_s - at))))
    window = at + inside[0], at + inside[1]
    length_s = min(window[1], at) - max(window[0], at - 1)
    found = unknown(curve, max(window[0], 0.0), min(window[1], 20.0))
    expected = (length_s, 40 * length_s, 20 * length_s / sqrt(12)) if 1 < at < 20 else (0.0, 0.0, 0.0)
    assert (found.length_s, found.energy_j, found.standard_j) == pytest.approx(expected)


@pytest.mark.parametrize(("semantics", "count"), [("counter", 21), ("counter", 2), ("instantaneous", 21)])
def test_where_all_steps_are_known_nothing_is_lost(made, semantics, count):
    curve = Integral(made.stating(semantics, np.arange(float(count)), 100 + 30.0 * np.arange(count)))
    found = unknown(curve, 0.0, float(count), lambda watts: watts)
    assert (found.length_s, found.energy_j, found.standard_j) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("began_s", "inside_s"), [(0.0, 3.0), (3.0, 2.0), (4.5, 0.5)])
def test_what_is_told_of_a_step_is_no_better_known_than_the_readings_around_it(made, began_s, inside_s):
    """Of 3 s, beside one of 1 s and one of 4 s, at 30 W: the rates of both continue over half of it, which is 3/2
    of the one's length, and 3/8 of the other's.
    """
    t_s = np.array([0.0, 1, 2, 5, 9, 10, 11])
    curve = Integral(made.stating("counter", t_s, 30 * t_s + 1000 * (t_s < 3)))
    found = unknown(curve, began_s, 11.0, lambda watts: watts / 10)
    readings_j = 3.0 * sqrt((1 + 3 / 2) ** 2 + (3 / 2) ** 2 + (1 + 3 / 8) ** 2 + (3 / 8) ** 2)
    assert (found.length_s, found.energy_j) == pytest.approx((inside_s, 30 * inside_s))
    assert found.standard_j == pytest.approx(readings_j * inside_s / 3)


@pytest.mark.parametrize(
    ("equal", "still"), [(7, False), (8, True), (9, True), (15, True), (20, True), (21, True), (22, False)]
)
def test_a_counter_stands_where_two_readings_in_a_window_or_next_to_it_are_equal(made, equal, still):
    """Readings 10 to 20 lie in the window, 9 precedes it and 21 follows it; `equal` is the first of two
    that are equal.
    """
    t_s = np.arange(0.0, 31.0)
    value = 30.0 * (t_s - (t_s > equal))
    series = made.stating("counter", t_s, value)
    assert stands(integral(series), 9.5, 20.5) == still


def test_only_a_counter_of_energy_is_doubted_where_it_stands(made):
    """A host that sends nothing has a counter of bytes that stands."""
    t_s = np.arange(0.0, 31.0)
    for quantity, semantics in (("network_sent", "counter"), ("power", "instantaneous")):
        series = made.series(made.channel("storage-1", "all", quantity, semantics), t_s, np.floor(t_s / 15))
        assert not stands(integral(series), 9.5, 20.5)
        assert not any("stepped" in doubt for doubt in amount(series, 9.5, 20.5).doubts)


@pytest.mark.parametrize(
    ("began_s", "ended_s"), [(0, 0), (-300, -100), (100, 300)], ids=["inside", "begins earlier", "ends later"]
)
def test_a_load_is_within_the_interval_of_a_plugs_counter_wherever_it_was_brought_up_to_date(
    made, began_s, ended_s
):
    """10 W idle and 60 W under load, by a counter that lags by up to a minute: not by its formulas, but
    against the truth.
    """
    where = Boundary("shelly", "storage-1", "all")
    channel = Shelly(address="plug").energy(where, resolution_j=3.6, period_s=60.0)
    dice, t_s, held = np.random.default_rng(1), np.arange(0.0, 1800.0), list[bool]()
    for _ in range(100):
        phase_s, (first_s, last_s) = dice.uniform(0, 60), (dice.uniform(500, 600), dice.uniform(1000, 1400))
        load_s = (first_s + began_s, last_s + ended_s)

        def true_j(at_s, load_s=load_s):
            return 10 * at_s + 50 * np.clip(at_s - load_s[0], 0, load_s[1] - load_s[0])

        seen_s = np.maximum(np.floor((t_s - phase_s) / 60) * 60 + phase_s, 0)
        found = present(
            budget(made.series(channel, t_s, np.floor(true_j(seen_s) / 3.6) * 3.6), first_s, last_s)
        )
        held.append(abs(found.value_j - (true_j(last_s) - true_j(first_s))) <= found.expanded_j)
    assert np.mean(held) >= 0.95
