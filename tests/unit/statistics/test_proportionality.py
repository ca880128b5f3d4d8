"""Power against load, of curves whose area is known."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from perjoule.model import Cell, Ran
from perjoule.statistics.intervals import interval
from perjoule.statistics.proportionality import proportionality, with_proportionality

FULL_BYTES_PER_S = 100e6


def cell(
    asked: float, watts: tuple[float, ...], reached: tuple[float, ...] | None = None, **words: str
) -> Cell:
    loads = reached or (asked,) * len(watts)
    metrics = {
        "asked_load_ratio": interval([asked] * len(watts)),
        "load_ratio": interval(loads),
        "mean_w": interval(watts),
    }
    if asked:
        rates = [load * FULL_BYTES_PER_S for load in loads]
        metrics["throughput_bytes_per_s"] = interval(rates)
        metrics["duration_s"] = interval([10.0] * len(watts))
        metrics["energy_j"] = interval([10.0 * w for w in watts])
    text = f"{100 * asked:g} %"
    return Cell(
        words.get("filesystem", "MooseFS"),
        words.get("workload", f"duty read load {text}"),
        "read" if asked else "idle",
        1,
        metrics,
        grade=words.get("grade", "wall"),
        ran=tuple(Ran(n + 1, 0.0, 10.0) for n in range(len(watts))),
    )


LOADS = (0.0, 0.25, 0.5, 1.0)


def cells(power_w: Callable[[float], float], loads: tuple[float, ...] = LOADS) -> list[Cell]:
    return [cell(load, (power_w(load),) * 2) for load in loads]


@pytest.mark.parametrize(
    ("power_w", "numbers"),
    [
        (lambda load: 60 * load, {"proportionality_ratio": 1.0, "idle_peak_ratio": 0.0, "area_w": 0.0}),
        (lambda load: 60, {"proportionality_ratio": 0.0, "idle_peak_ratio": 1.0, "area_w": 30.0}),
        # the area below 40 + 20 u is 50, that of the ideal 30
        (
            lambda load: 40 + 20 * load,
            {"proportionality_ratio": 1 / 3, "idle_peak_ratio": 2 / 3, "area_w": 20.0},
        ),
        # trapezoids between 0, 3.75, 15 and 60: 0.46875 + 2.34375 + 18.75
        (
            lambda load: 60 * load**2,
            {"proportionality_ratio": 2 - 2 * 21.5625 / 60, "idle_peak_ratio": 0.0, "area_w": -8.4375},
        ),
    ],
)
def test_a_known_curve_has_a_known_area(
    power_w: Callable[[float], float], numbers: Mapping[str, float]
) -> None:
    (found,) = proportionality(cells(power_w))
    assert {key: one.mean for key, one in found.numbers.items()} == pytest.approx(numbers)
    assert found.workload == "duty read"


def test_the_gap_of_a_load_is_what_power_is_above_the_ideal() -> None:
    (found,) = proportionality(cells(lambda load: 40 + 20 * load))
    gaps = [level.gap.mean for level in found.levels if level.gap]
    assert gaps == pytest.approx([40 / 60, (45 - 15) / 60, (50 - 30) / 60, 0])


def test_energy_by_byte_falls_with_load_where_power_hardly_rises() -> None:
    (found,) = proportionality(cells(lambda load: 60))
    per_byte = [level.energy_per_byte.mean if level.energy_per_byte else None for level in found.levels]
    assert per_byte == [None, *(pytest.approx(60 / (load * FULL_BYTES_PER_S)) for load in LOADS[1:])]


def test_loads_are_relative_to_what_was_reached_at_100_percent() -> None:
    reached = {0.0: 0.0, 0.5: 0.45, 1.0: 0.9}
    several = [cell(load, (40 + 20 * load,), (share,)) for load, share in reached.items()]
    (found,) = proportionality(several)
    assert [level.load.mean for level in found.levels] == pytest.approx([0, 0.5, 1])
    assert found.numbers["proportionality_ratio"].mean == pytest.approx(1 / 3)


def test_each_repetition_is_a_curve_of_its_own_and_the_interval_is_over_them() -> None:
    several = [cell(0.0, (30.0, 40.0)), cell(1.0, (60.0, 50.0))]
    (found,) = proportionality(several)
    # means of 45 W under peaks of 60 and 50 W
    assert found.numbers["proportionality_ratio"].values == pytest.approx((2 - 90 / 60, 2 - 90 / 50))


@pytest.mark.parametrize(
    ("several", "why"),
    [
        ([cell(0.25, (40.0,)), cell(1.0, (60.0,))], "a load of 0 %"),
        ([cell(0.0, (40.0,)), cell(0.5, (60.0,))], "one of 100 %"),
        ([cell(0.0, (40.0,), grade="BMC"), cell(1.0, (60.0,))], "different grades (BMC, wall)"),
    ],
)
def test_what_a_curve_lacks_is_reported(several: list[Cell], why: str) -> None:
    (found,) = proportionality(several)
    assert not found.numbers
    assert why in found.refused
    assert all(level.gap is None for level in found.levels)


def repeated(of: Cell, *repetitions: int) -> Cell:
    return replace(of, ran=tuple(Ran(n, 0.0, 10.0) for n in repetitions))


@pytest.mark.parametrize(
    ("several", "why"),
    [
        (
            [repeated(cell(0.0, (40.0, 41.0)), 1, 2, 3), cell(1.0, (60.0, 61.0))],
            "not every repetition has power",
        ),
        ([cell(0.0, (40.0, 41.0)), repeated(cell(1.0, (60.0,)), 1, 2)], "not every repetition has power"),
        ([cell(0.0, (40.0,)), repeated(cell(1.0, (60.0,)), 2)], "no repetition has all loads"),
    ],
)
def test_a_curve_is_of_repetitions_that_have_the_power_of_all_loads(several: list[Cell], why: str) -> None:
    (found,) = proportionality(several)
    assert (dict(found.numbers), found.refused) == ({}, why)
    assert [level.load for level in found.levels] == [one.metrics["load_ratio"] for one in several]
    of_second, *_ = proportionality([cell(0.0, (30.0, 40.0)), repeated(cell(1.0, (50.0,)), 2)])
    assert of_second.numbers["proportionality_ratio"].values == pytest.approx((2 - 90 / 50,))


def test_a_level_of_which_a_repetition_lacks_joules_has_none_by_the_byte() -> None:
    whole, lacking = cell(1.0, (60.0, 61.0)), cell(0.5, (50.0, 51.0))
    lacking = replace(lacking, metrics={**lacking.metrics, "energy_j": interval([500.0])})
    (found,) = proportionality([lacking, whole])
    assert [level.energy_per_byte is None for level in found.levels] == [True, False]


def test_only_loads_of_the_same_work_make_a_curve() -> None:
    others = [cell(1.0, (60.0,), workload="duty write load 100 %"), cell(0.0, (40.0,), filesystem="CephFS")]
    assert proportionality([cell(0.5, (50.0,)), *others]) == ()


def test_rows_get_what_follows_from_all_loads() -> None:
    first, *_, last = with_proportionality(cells(lambda load: 40 + 20 * load))
    assert last.metrics["proportionality_ratio"].mean == pytest.approx(1 / 3)
    assert "proportionality_ratio" not in first.metrics
    assert first.metrics["gap_ratio"].mean == pytest.approx(2 / 3)
