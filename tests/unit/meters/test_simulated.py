import itertools
import math
import random

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.energy.amount import amount
from perjoule.meters.simulated import Simulated, WaveSample
from perjoule.model import Json, Series

WAVEFORMS = ["constant", "square", "sine", "random"]
BEGAN_S, ENDED_S = 1000.3, 1037.9


def meter(**options: Json) -> Simulated:
    built = drivers.build("meters", "simulated", options)
    assert isinstance(built, Simulated)
    return built


def moments(rate_hz: float = 20.0) -> list[float]:
    dice = random.Random(7)
    count = int((ENDED_S - BEGAN_S) * rate_hz)
    inside = [BEGAN_S + (n + dice.uniform(-0.4, 0.4)) / rate_hz for n in range(1, count)]
    return [BEGAN_S, *inside, ENDED_S]


def said(simulated: Simulated, rate_hz: float = 20.0) -> list[WaveSample]:
    return [sample for sample in simulated.samples(moments(rate_hz)) if sample is not None]


@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_the_true_energy_is_the_integral_of_the_true_power(waveform: str):
    simulated = meter(waveform=waveform)
    step_s = 0.002  # edges lie between steps, so that the sum is exact there
    count = round((ENDED_S - BEGAN_S) / step_s)
    summed_j = sum(simulated.truth.power_w(BEGAN_S + (n + 0.5) * step_s) for n in range(count)) * step_s
    assert simulated.energy_j(BEGAN_S, ENDED_S) == pytest.approx(summed_j, rel=1e-8)


@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_energy_adds_up_over_adjacent_windows(waveform: str):
    simulated = meter(waveform=waveform)
    parts = [simulated.energy_j(a, b) for a, b in itertools.pairwise(moments(3.0))]
    assert sum(parts) == pytest.approx(simulated.energy_j(BEGAN_S, ENDED_S), rel=1e-12)


@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_window_means_carry_the_whole_energy_with_their_durations(waveform: str):
    simulated = meter(waveform=waveform, semantics="window mean")
    summed_j = sum(s.value * s.duration_s for s in said(simulated, rate_hz=0.7))
    assert summed_j == pytest.approx(simulated.energy_j(BEGAN_S, ENDED_S), rel=1e-12)


@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_a_counter_counts_the_whole_energy(waveform: str):
    simulated = meter(waveform=waveform, semantics="counter")
    samples = said(simulated)
    assert samples[-1].value - samples[0].value == pytest.approx(
        simulated.energy_j(BEGAN_S, ENDED_S), rel=1e-12
    )
    assert (simulated.channel.quantity, simulated.channel.unit) == ("energy", "J")


@pytest.mark.parametrize("waveform", WAVEFORMS)
def test_the_trapezoid_over_frequent_instantaneous_powers_comes_near_the_truth(waveform: str):
    simulated = meter(waveform=waveform, semantics="instantaneous")
    samples = said(simulated, rate_hz=50)
    trapezoid_j = sum((a.value + b.value) / 2 * (b.t_s - a.t_s) for a, b in itertools.pairwise(samples))
    assert trapezoid_j == pytest.approx(simulated.energy_j(BEGAN_S, ENDED_S), rel=5e-3)


def test_a_running_average_lags_behind_an_edge():
    simulated = meter(waveform="square", period="4 s", semantics="average", window="1 s")
    (edge, half, after) = simulated.samples([4.0, 4.5, 5.0])
    assert [s and s.value for s in (edge, half, after)] == pytest.approx([40.0, 50.0, 60.0])


def test_a_state_is_one_of_two_labels():
    assert {s.value for s in said(meter(waveform="sine", semantics="state", noise="5 W"))} == {40.0, 60.0}


def test_a_counter_wraps_and_loses_nothing_to_who_knows_its_range():
    simulated = meter(semantics="counter", wrap="100 J")
    values = [s.value for s in said(simulated)]
    assert max(values) < 100
    unwrapped_j = sum((b - a) % 100 for a, b in itertools.pairwise(values))
    assert unwrapped_j == pytest.approx(simulated.energy_j(BEGAN_S, ENDED_S))


def test_a_counter_moves_in_steps():
    simulated = meter(semantics="counter", step="10 J")
    values = [s.value for s in said(simulated)]
    assert all(value % 10 == pytest.approx(0) for value in values)
    assert values[-1] <= simulated.energy_j(BEGAN_S, ENDED_S) < values[-1] + 10


def test_powers_are_multiples_of_the_resolution():
    samples = said(meter(waveform="sine", resolution="2.13 W"))
    assert max(abs(math.remainder(s.value, 2.13)) for s in samples) < 1e-9
    assert len({s.value for s in samples}) > 5


def test_noise_has_the_configured_deviation():
    values = [s.value for s in said(meter(waveform="constant", noise="2 W"), rate_hz=100)]
    mean_w = sum(values) / len(values)
    assert mean_w == pytest.approx(60, abs=0.15)
    assert math.sqrt(sum((v - mean_w) ** 2 for v in values) / len(values)) == pytest.approx(2, rel=0.05)


def test_lost_samples_are_gaps_of_about_the_configured_share():
    samples = list(meter(semantics="instantaneous", gap="25 %").samples(moments(100)))
    assert samples.count(None) / len(samples) == pytest.approx(0.25, abs=0.03)


def test_a_lagging_clock_stamps_the_past_with_the_present():
    punctual, late = (
        meter(waveform="sine", semantics="instantaneous"),
        meter(waveform="sine", semantics="instantaneous", delay="300 ms"),
    )
    (sample,) = late.samples([10.0])
    assert sample == WaveSample(10.0, punctual.truth.power_w(9.7))


def test_the_same_seed_draws_the_same_bursts_and_another_seed_others():
    first, again, other = (
        [meter(waveform="random", seed=seed).truth.power_w(2.0 * n) for n in range(64)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_waveform_upside_down_is_refused():
    with pytest.raises(ValidationError, match="high is below low"):
        meter(low="60 W", high="40 W")
    with pytest.raises(ValidationError, match="can't be negative"):
        meter(noise="-1 W")


@pytest.mark.parametrize("waveform", WAVEFORMS)
@pytest.mark.parametrize("semantics", ["counter", "window mean", "instantaneous"])
def test_the_analysis_finds_the_true_energy_of_a_window_inside_the_record(waveform: str, semantics: str):
    simulated = meter(waveform=waveform, semantics=semantics)
    samples = said(simulated, rate_hz=50)
    columns = [np.array(column) for column in zip(*samples, strict=True)]
    series = Series(simulated.channel, t_s=columns[0], value=columns[1], duration_s=columns[2])
    found = amount(series, 1005.0, 1033.0)
    assert found.value == pytest.approx(simulated.energy_j(1005.0, 1033.0), rel=5e-3)
