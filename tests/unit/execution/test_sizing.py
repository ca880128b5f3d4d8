"""How long a first measurement loads: recomputed from the definition in the documentation."""

from dataclasses import replace
from math import inf, isnan

import numpy as np
import pytest

from perjoule.execution.sizing import advised_s, duration_s, fitting_s, meter_speed, size_bytes
from perjoule.model import Channel, Series, Specification

MIB = 2**20


def power(*, period_s: float | None = None, watts: float = 20.0, count: int = 20) -> Series:
    channel = Channel(
        "plug", "nas", "all", "power", "W", "instantaneous", "wall", (), Specification(period_s=period_s)
    )
    t_s = np.linspace(0, 0.5 * (count - 1), count)
    return Series(channel, t_s, np.zeros(count), np.full(count, watts), t_s - 0.004, t_s + 0.004)


def counter(*, step_j: float | None, watts: float = 20.0, period_s: float | None = None) -> Series:
    stated = Specification(resolution=step_j, period_s=period_s)
    channel = Channel("plug", "nas", "all", "energy", "J", "counter", "wall", (), stated)
    t_s = np.linspace(0, 9.5, 20)
    return Series(channel, t_s, np.zeros(20), 1e6 + watts * t_s)


@pytest.mark.parametrize(
    ("series", "asked_hz", "least_s"),
    [
        ([power()], 2.0, 10.0),  # 20 updates of 0.5 s
        ([power(period_s=4.0)], 2.0, 80.0),  # it has a new value each 4 s only, however often it is asked
        ([counter(step_j=3600.0)], 2.0, 3600.0),  # 20 x 3.6 kJ take an hour at 20 W
        ([counter(step_j=3.6, period_s=60.0)], 2.0, 1200.0),  # a Shelly's: once a minute
        ([counter(step_j=3.6, period_s=60.0), power()], 2.0, 10.0),  # the power is what resolves
        ([counter(step_j=None)], inf, 0.0),  # nothing is known of it
        ([counter(step_j=3.6, watts=0.0)], 2.0, inf),  # it counts nothing
        ([], 2.0, inf),
    ],
)
def test_a_window_has_twenty_updates_of_a_meter(
    series: list[Series], asked_hz: float, least_s: float
) -> None:
    assert meter_speed(series, asked_hz).least_s == pytest.approx(least_s)


def test_a_meter_is_described_by_what_it_delivered_while_idle() -> None:
    speed = meter_speed([power(watts=21.4)], 2.0)
    assert speed.answer_s == pytest.approx(0.008)
    assert (speed.now_w, speed.idle_w) == pytest.approx((21.4, 21.4))
    assert isnan(meter_speed([counter(step_j=1.0)], 2.0).answer_s)


def test_the_watts_of_a_counter_are_what_it_counted_between_steps_over_their_time() -> None:
    """3600 J each 8 s are 450 W, which two readings 0.5 s apart would show as 7200 W or as none."""
    t_s = np.arange(0, 40, 0.5)
    energy_j = 1e6 + 3600 * np.floor((t_s + 3) / 8)
    coarse = counter(step_j=3600.0)
    speed = meter_speed([Series(coarse.channel, t_s, np.zeros(len(t_s)), energy_j)], 2.0)
    assert (speed.now_w, speed.idle_w) == pytest.approx((450, 450))
    wrapped = np.where(t_s < 20, energy_j, energy_j - energy_j.max() + 3600)
    speed = meter_speed([Series(coarse.channel, t_s, np.zeros(len(t_s)), wrapped)], 2.0)
    assert (speed.now_w, speed.idle_w) == pytest.approx((450, 450))
    still = meter_speed([Series(coarse.channel, t_s[:8], np.zeros(8), energy_j[:8])], 2.0)
    assert isnan(still.now_w) and isnan(still.idle_w)


@pytest.mark.parametrize(
    ("semantics", "period_s", "spread_w", "flaws"),
    [
        ("instantaneous", 0.5, 10.0, (False, False)),
        ("instantaneous", 0.7, 0.0, (False, True)),  # more than a third of a burst of 2 s
        ("window mean", 1.0, 10.0, (False, False)),
        ("average", 1.0, 3.0, (False, False)),  # 15 % of 20 W
        ("average", 1.0, 5.0, (True, False)),  # 25 %
        ("counter", 1.0, 0.0, (False, False)),
    ],
)
def test_a_meter_whose_powers_give_no_energy_is_known_before_a_load(
    semantics: str, period_s: float, spread_w: float, flaws: tuple[bool, bool]
) -> None:
    channel = replace(power().channel, semantics=semantics, specification=Specification(period_s=period_s))
    t_s = np.linspace(0, 19 * period_s, 20)
    values = np.linspace(20 - spread_w / 2, 20 + spread_w / 2, 20)
    values = np.cumsum(values) if semantics == "counter" else values
    speed = meter_speed([Series(channel, t_s, np.zeros(20), values)], 2.0)
    assert (speed.unsteady, speed.sparse) == flaws


def test_a_meter_with_a_counter_is_not_too_sparse() -> None:
    slow = power(period_s=5.0)
    assert meter_speed([slow], 2.0).sparse
    assert not meter_speed([slow, counter(step_j=3.6, period_s=60.0)], 2.0).sparse


@pytest.mark.parametrize(
    ("write", "read", "window_s", "least_s", "expected_mib"),
    [
        (100, 100, 60.0, 10.0, 6000),  # both take a minute
        (100, 120, 60.0, 10.0, 6000),  # the slowest a minute, the fastest 50 s
        (50, 500, 60.0, 10.0, 5000),  # the fastest its twenty updates of 10 s, the slowest 100 s
        (10.1, 10.1, 10.0, 0.0, 104),  # 101 MiB, in whole transfers of 4 MiB
    ],
)
def test_the_slowest_direction_fills_the_window_and_the_fastest_has_its_updates(
    write: float, read: float, window_s: float, least_s: float, expected_mib: int
) -> None:
    rates = {"write": write * MIB, "read": read * MIB}
    assert size_bytes(rates, window_s, least_s) == expected_mib * MIB


@pytest.mark.parametrize(
    ("count", "stated_s", "least_s"),
    [
        (20, None, 10.0),  # two values a second, as often as it is asked
        (2, None, 190.0),  # two values 9.5 s apart
        (1, None, inf),  # asked twenty times, and one value: how slow it is, nobody knows
        (1, 60.0, 1200.0),  # unless it says so
    ],
)
def test_a_log_that_is_slower_than_it_is_read_needs_longer_windows(
    count: int, stated_s: float | None, least_s: float
) -> None:
    whole = power(period_s=stated_s)
    at = np.linspace(0, len(whole.t_s) - 1, count).astype(int)
    log = Series(whole.channel, whole.t_s[at], whole.duration_s[at], whole.value[at])
    assert meter_speed([log], 2.0, 10.0).least_s == pytest.approx(least_s)


def test_clients_move_the_same_each_in_whole_transfers() -> None:
    moved_bytes = size_bytes({"write": 100 * MIB}, 10.0, 0.0, 3)
    assert moved_bytes == 1008 * MIB  # 84 transfers of 4 MiB of each of three, the fewest that take 10 s


def test_the_whole_takes_each_windows_time_its_idle_time_before_and_after_and_four_seconds() -> None:
    rates = {"write": 100.0 * MIB, "read": 50.0 * MIB}
    assert duration_s(rates, 3000 * MIB, 3, 5.0) == pytest.approx(3 * (30 + 60 + 2 * (2 * 5 + 4)))


@pytest.mark.parametrize(
    ("write", "read", "room_mib", "least_s", "longest_s"),
    [
        (100, 100, 4000, 10.0, 40),  # 100 MiB/s fill 4000 MiB in 40 s
        (100, 250, 4000, 10.0, 40),  # the fastest takes 16 s of them
        (100, 500, 4000, 10.0, 0),  # the fastest takes 8 s, too few for the meter
        (100, 100, 900, 10.0, 0),  # 9 s
        (10, 10, 103, 0.0, 10),  # 100 MiB in whole transfers; 103 MiB are not
        (100, 100, 99, 0.0, 0),  # less than a second
    ],
)
def test_the_longest_window_that_fits_leaves_the_fastest_direction_what_meters_need(
    write: float, read: float, room_mib: int, least_s: float, longest_s: int
) -> None:
    speeds = {"write": write * MIB, "read": read * MIB}
    assert fitting_s(speeds, room_mib * MIB, least_s) == longest_s
    if longest_s:
        assert size_bytes(speeds, longest_s, least_s) <= room_mib * MIB


@pytest.mark.parametrize(
    ("durations_s", "advised"),
    [
        ([10.0, 20.0], None),
        ([8.0, 20.0], None),  # 16 updates of 20
        (
            [5.0, 20.0],
            120,
        ),  # twice as long: it was planned for 60 s, and its shortest window took 5 s instead of 10 s
        ([], None),  # none was measured
    ],
)
def test_windows_that_were_too_short_for_a_meter_are_to_be_asked_longer(
    durations_s: list[float], advised: int | None
) -> None:
    assert advised_s(durations_s, 10.0, 60.0) == advised
    assert advised_s(durations_s, 0.0, 60.0) is None  # without a meter
