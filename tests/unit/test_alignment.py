"""A meter's clock, found from a load that goes on and off at known moments."""

import numpy as np
import pytest

from perjoule.analysis.alignment import Offset, drift, expected, offset, pattern
from perjoule.model import Channel, Semantics, Series


def said(
    edges_s: tuple[float, ...], ahead_s: float, semantics: Semantics = "window mean", step_w: float = 20.0, seed: int = 1
) -> Series:
    """What a 1 s averaging meter says of a pattern: its windows computed exactly, its clock ahead, its noise 0.5 W."""
    dice = np.random.default_rng(seed)
    edges = np.array(edges_s)
    end_s = np.arange(edges[0] - 4.3, edges[-1] + 5, 1.0)
    on_s = np.concatenate(([0.0], np.cumsum(np.diff(edges) * (np.arange(len(edges) - 1) % 2 == 0))))
    share = np.interp(end_s, edges, on_s) - np.interp(end_s - 1, edges, on_s)
    watts = 40 + step_w * share + dice.normal(0, 0.5, len(end_s))
    widths_s = np.full(len(end_s), 1.0 if semantics == "window mean" else 0.0)
    return Series(Channel("lmg", "", "total", "power", "W", semantics, "wall"), end_s + ahead_s, widths_s, watts)


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
    assert len(pattern(30.0)) % 2 == 0 and pattern(30.0)[-1] >= 30.0


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
