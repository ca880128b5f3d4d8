"""A meter's clock, found from a load that is switched on and off at known moments."""

import numpy as np
import pytest

from perjoule.energy.alignment import Offset, drift, expected, offset, pattern
from perjoule.model import Channel, Semantics, Series


def said(
    edges_s: tuple[float, ...],
    ahead_s: float,
    semantics: Semantics = "window mean",
    step_w: float = 20.0,
    seed: int = 1,
) -> Series:
    """What a 1 s averaging meter says of a pattern: its windows computed exactly, its clock ahead, its
    noise 0.5 W.
    """
    dice = np.random.default_rng(seed)
    edges = np.array(edges_s)
    end_s = np.arange(edges[0] - 4.3, edges[-1] + 5, 1.0)
    on_s = np.concatenate(([0.0], np.cumsum(np.diff(edges) * (np.arange(len(edges) - 1) % 2 == 0))))
    share = np.interp(end_s, edges, on_s) - np.interp(end_s - 1, edges, on_s)
    watts = 40 + step_w * share + dice.normal(0, 0.5, len(end_s))
    widths_s = np.full(len(end_s), 1.0 if semantics == "window mean" else 0.0)
    return Series(
        Channel("lmg", "", "total", "power", "W", semantics, "wall"), end_s + ahead_s, widths_s, watts
    )


@pytest.mark.parametrize("ahead_s", [-4.2, 0.0, 0.137, 3.9])
def test_the_offset_of_an_averaging_meter_is_found_within_20_ms(ahead_s: float) -> None:
    edges_s = tuple(1000.0 + edge for edge in pattern(30.0, seed=3))
    found = offset(said(edges_s, ahead_s), edges_s)
    assert found is not None
    assert found.offset_s == pytest.approx(ahead_s, abs=0.02)
    assert 0.001 < found.uncertainty_s < 0.02
    assert found.step_w == pytest.approx(20, rel=0.05)


def test_the_window_of_a_meter_that_does_not_date_it_is_given() -> None:
    edges_s = pattern(30.0)
    found = offset(said(edges_s, 0.5, "average"), edges_s, window_s=1.0)
    assert found is not None and found.offset_s == pytest.approx(0.5, abs=0.02)
    # else each is taken as a moment: half of that later
    plain = offset(said(edges_s, 0.5, "average"), edges_s)
    assert plain is not None and plain.offset_s == pytest.approx(0.5 + 0.5, abs=0.1)


def test_a_pattern_that_is_not_in_the_samples_is_not_found() -> None:
    edges_s = pattern(30.0)
    assert offset(said(edges_s, 0.0, step_w=0.05), edges_s) is None
    assert offset(said(edges_s, 0.0, step_w=-20.0), edges_s) is None
    assert offset(said(tuple(e + 500 for e in edges_s), 0.0), edges_s) is None


def test_two_patterns_give_the_drift_with_its_uncertainty() -> None:
    found = drift(Offset(0.0, 0.10, 0.003, 20, 0.99), Offset(1000.0, 0.15, 0.004, 20, 0.99))
    assert found.offset_s == pytest.approx(0.125)
    assert found.drift_ratio == pytest.approx(5e-5)
    assert found.drift_uncertainty_ratio == pytest.approx(5e-6)
    alone = drift(Offset(0.0, 0.10, 0.003, 20, 0.99))
    assert alone.drift_ratio == 0 and alone.drift_uncertainty_ratio is None


def test_a_pattern_is_the_same_for_the_same_seed_and_ends_with_the_load_off() -> None:
    assert pattern(30.0, seed=2) == pattern(30.0, seed=2) != pattern(30.0, seed=3)
    for seed in range(12):
        edges_s = pattern(30.0, seed=seed)
        assert len(edges_s) % 2 == 0 and edges_s[-3] < 30.0 <= edges_s[-1]
    assert len(pattern(0.0)) == 2


def test_a_counter_is_aligned_by_its_steps_and_the_fit_follows_them() -> None:
    edges_s = tuple(1000.0 + edge for edge in pattern(30.0, seed=5))
    edges = np.array(edges_s)
    t_s = np.arange(995.0, 1040.0, 0.5)
    on_s = np.concatenate(([0.0], np.cumsum(np.diff(edges) * (np.arange(len(edges) - 1) % 2 == 0))))
    counted_j = np.floor(40 * t_s + 20 * np.interp(t_s, edges, on_s))
    channel = Channel("plug", "", "total", "energy", "J", "counter", "wall")
    series = Series(channel, t_s + 0.7, np.zeros(len(t_s)), counted_j)
    found = offset(series, edges_s)
    assert found is not None and found.offset_s == pytest.approx(0.7, abs=0.02)
    times_s, watts, fit_w = expected(series, edges_s, found)
    assert len(times_s) == len(watts) == len(t_s) - 1
    assert float(np.std(watts - fit_w)) < 2


def on_share(began_s: np.ndarray, ended_s: np.ndarray, edges_s: np.ndarray) -> np.ndarray:
    """The share of each window in which the load was on."""
    on_s = np.concatenate(([0.0], np.cumsum(np.diff(edges_s) * (np.arange(len(edges_s) - 1) % 2 == 0))))
    return (np.interp(ended_s, edges_s, on_s) - np.interp(began_s, edges_s, on_s)) / (ended_s - began_s)


def means(
    edges_s: np.ndarray, noise_w: np.ndarray | float = 0.0, *, each_s: float = 1.0, around_s: float = 1.9
) -> Series:
    """Means over windows of a meter whose clock is right."""
    end_s = np.arange(edges_s[0] - around_s + each_s, edges_s[-1] + around_s, each_s)
    watts = 40 + 20 * on_share(end_s - each_s, end_s, edges_s) + noise_w
    return Series(
        Channel("lmg", "", "total", "power", "W", "window mean", "wall"),
        end_s,
        np.full(len(end_s), each_s),
        watts,
    )


@pytest.mark.parametrize("seed", range(4))
def test_an_offset_is_as_probable_as_its_squares_to_the_power_of_half_the_samples_less_two(seed: int) -> None:
    edges = np.array(pattern(40.0, seed=seed))
    plain = means(edges)
    noise_w = np.random.default_rng(seed).normal(0, 1.0, len(plain.t_s))
    found = offset(means(edges, noise_w), tuple(edges))
    offsets_s, squares, watts = np.arange(-0.4, 0.4, 5e-4), [], plain.value + noise_w
    for offset_s in offsets_s:
        share = on_share(plain.t_s - 1 - offset_s, plain.t_s - offset_s, edges)
        _, left, *_ = np.linalg.lstsq(np.column_stack([np.ones_like(share), share]), watts, rcond=None)
        squares.append(float(left[0]))
    weight = (np.array(squares) / min(squares)) ** (-(len(watts) - 2) / 2)
    weight /= weight.sum()
    mean_s = weight @ offsets_s
    deviation_s = np.sqrt(weight @ (offsets_s - mean_s) ** 2)
    assert found is not None
    assert found.offset_s == pytest.approx(mean_s, abs=2e-5)
    # a load is known to 3 ms
    assert found.uncertainty_s == pytest.approx(np.hypot(deviation_s, 0.003), rel=0.01)
    assert found.seen_ratio == pytest.approx(1 - min(squares) / np.sum((watts - watts.mean()) ** 2), abs=1e-4)
    assert found.at_s == pytest.approx(edges.mean())


def test_without_noise_an_offset_is_known_as_well_as_when_the_load_was_there() -> None:
    edges = np.array(pattern(40.0))
    found = offset(means(edges), tuple(edges))
    assert found is not None
    assert (found.offset_s, found.uncertainty_s) == (
        pytest.approx(0, abs=1e-3),
        pytest.approx(0.003, rel=0.05),
    )


@pytest.mark.parametrize(("explained", "seen"), [(0.46, False), (0.53, True)])
def test_a_pattern_is_seen_where_it_explains_half_of_the_variance(explained: float, seen: bool) -> None:
    edges = np.array(pattern(300.0))
    plain = means(edges)
    share = on_share(plain.t_s - 1, plain.t_s, edges)
    design = np.column_stack([np.ones_like(share), share])
    noise_w = np.random.default_rng(1).normal(0, 1, len(share))
    noise_w -= design @ np.linalg.lstsq(design, noise_w, rcond=None)[0]
    size = 20 * np.std(share) * np.sqrt((1 - explained) / explained) / np.std(noise_w)
    assert (offset(means(edges, size * noise_w), tuple(edges)) is not None) == seen


def test_states_of_a_pattern_last_from_four_tenths_to_two_and_six_tenths_of_a_second() -> None:
    lengths_s = np.concatenate([np.diff(pattern(60.0, seed=seed)) for seed in range(40)])
    assert (lengths_s.min(), lengths_s.max()) == (pytest.approx(0.4, abs=0.01), pytest.approx(2.6, abs=0.01))
    assert pattern(30.0) == pattern(30.0, seed=1)
    assert pattern(30.0)[-3] < 30.0 and pattern(30.0)[0] == 0


@pytest.mark.parametrize(("count", "found"), [(7, False), (8, True)])
def test_a_pattern_takes_eight_samples(count: int, found: bool) -> None:
    edges = np.array([0.0, 1.3, 2.1, 4.6])
    plain = means(edges)
    few = Series(plain.channel, plain.t_s[:count], plain.duration_s[:count], plain.value[:count])
    assert (offset(few, tuple(edges)) is not None) == found


@pytest.mark.parametrize("side", ["before", "after"])
def test_what_other_loads_do_two_seconds_away_from_a_pattern_does_not_matter(side: str) -> None:
    edges = np.array(pattern(30.0))
    plain = means(edges, each_s=0.05, around_s=4.0)
    far = plain.t_s - 0.05 < edges[0] - 2.06 if side == "before" else plain.t_s > edges[-1] + 2.06
    found = offset(
        Series(plain.channel, plain.t_s, plain.duration_s, np.where(far, 5000.0, plain.value)), tuple(edges)
    )
    assert found is not None
    assert (found.offset_s, found.seen_ratio) == (pytest.approx(0, abs=1e-6), pytest.approx(1))


@pytest.mark.parametrize("ahead_s", [9.9, -9.9])
def test_an_offset_is_looked_for_within_ten_seconds(ahead_s: float) -> None:
    edges_s = pattern(60.0)
    found = offset(said(edges_s, ahead_s), edges_s)
    assert found is not None and found.offset_s == pytest.approx(ahead_s, abs=0.03)
    assert offset(said(edges_s, 1.15 * ahead_s), edges_s) is None
    assert offset(said(edges_s, 4 * ahead_s), edges_s) is None
    further = offset(said(edges_s, 4 * ahead_s), edges_s, most_s=40.0)
    assert further is not None and further.offset_s == pytest.approx(4 * ahead_s, abs=0.03)


def test_moments_tell_whether_the_load_was_on() -> None:
    edges = np.array(pattern(60.0))
    t_s = np.arange(-3, edges[-1] + 3, 0.07)
    watts = np.where(np.searchsorted(edges, t_s - 0.3, side="right") % 2, 60.0, 40.0)
    series = Series(
        Channel("lmg", "", "total", "power", "W", "instantaneous", "wall"), t_s, np.zeros(len(t_s)), watts
    )
    found = offset(series, tuple(edges))
    assert found is not None
    assert (found.offset_s, found.step_w) == (pytest.approx(0.3, abs=0.01), pytest.approx(20))
    times_s, shown_w, fit_w = expected(series, tuple(edges), found)
    assert (times_s, shown_w) == (pytest.approx(t_s), pytest.approx(watts))
    assert np.mean(np.abs(fit_w - watts) < 1e-6) > 0.99


def test_the_fit_is_low_and_step_by_the_share_of_each_window() -> None:
    edges = np.array(pattern(40.0))
    series = means(edges)
    _, shown_w, fit_w = expected(series, tuple(edges), Offset(0.0, 0.0, 0.003, 20.0, 1.0))
    assert fit_w == pytest.approx(shown_w)
    later = expected(series, tuple(edges), Offset(0.0, 0.5, 0.003, 10.0, 1.0))[2]
    share = on_share(series.t_s - 1.5, series.t_s - 0.5, edges)
    assert later == pytest.approx(series.value.mean() + 10 * (share - share.mean()))


def test_states_and_a_steady_power_tell_no_offset() -> None:
    edges = np.array(pattern(40.0))
    series = means(edges)
    state = Channel("lmg", "", "total", "power", "W", "state", "wall")
    assert offset(Series(state, series.t_s, series.duration_s, series.value), tuple(edges)) is None
    assert (
        offset(
            Series(series.channel, series.t_s, series.duration_s, np.full(len(series.t_s), 40.0)),
            tuple(edges),
        )
        is None
    )


def test_of_patterns_in_no_order_the_first_counts_alone() -> None:
    one, other = Offset(1000.0, 0.10, 0.003, 20, 0.99), Offset(500.0, 0.15, 0.004, 20, 0.99)
    found = drift(one, other)
    assert (found.at_s, found.offset_s, found.uncertainty_s, found.drift_ratio) == (1000.0, 0.10, 0.003, 0.0)
    assert drift(one, one).drift_uncertainty_ratio is None
    both = drift(other, one)
    assert (both.at_s, both.uncertainty_s) == (750.0, pytest.approx(0.0025))
    assert both.drift_ratio == pytest.approx(-1e-4)


def test_a_mean_over_no_time_is_that_of_its_moment_and_hides_no_other() -> None:
    edges = np.array(pattern(40.0))
    plain = means(edges)
    first = Series(
        plain.channel, plain.t_s, np.where(np.arange(len(plain.t_s)) == 0, 0.0, plain.duration_s), plain.value
    )
    found = offset(first, tuple(edges))
    assert found is not None
    assert (found.offset_s, found.seen_ratio) == (pytest.approx(0, abs=1e-3), pytest.approx(1))


def test_a_load_of_half_a_watt_is_found_without_noise() -> None:
    edges_s = pattern(30.0)
    end_s = np.arange(edges_s[0] - 4.3, edges_s[-1] + 5, 0.5)
    on_s = np.concatenate(([0.0], np.cumsum(np.diff(edges_s) * (np.arange(len(edges_s) - 1) % 2 == 0))))
    share = (np.interp(end_s, edges_s, on_s) - np.interp(end_s - 0.5, edges_s, on_s)) / 0.5
    exact = Series(
        Channel("lmg", "", "total", "power", "W", "window mean", "wall"),
        end_s + 0.4,
        np.full(len(end_s), 0.5),
        40 + share / 2,
    )
    found = offset(exact, edges_s)
    assert found is not None
    assert (found.offset_s, found.step_w, found.seen_ratio) == pytest.approx((0.4, 0.5, 1.0), abs=1e-3)
