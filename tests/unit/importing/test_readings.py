"""What all the numbers of a power log show of how it is declared, as far as an import tells."""

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from perjoule import importing
from perjoule.importing.power import Log, logs
from perjoule.importing.sources import sources
from perjoule.model.doubts import METERS, Template
from perjoule.model.errors import CampaignError
from unit.importing.foreign import fio, job, moved

POWER = ("time=t", "unit=W", "semantics=instantaneous", "grade=wall", "clock=unix")
COUNTER = ("time=t", "unit=Wh", "semantics=counter", "grade=wall", "clock=unix")
CHANCE = Random(5)


def log(tmp_path: Path, numbers: Sequence[float], *options: str, column: str = "p", step_s: int = 1) -> Log:
    path = tmp_path / "log.csv"
    rows = "".join(
        f"{1_700_000_000 + step_s * place},{number:.10g}\n" for place, number in enumerate(numbers)
    )
    path.write_text(f"t,{column}\n{rows}")
    (read_log,) = logs(path, (f"value={column}", *options), (), "UTC")
    return read_log


def noise(level_w: float, count: int) -> list[float]:
    return [round(level_w + CHANCE.gauss(0.0, 1.0), 1) for _ in range(count)]


@pytest.mark.parametrize(
    "numbers",
    [
        [200.0 * place for place in range(20)],  # J
        [1234.5 + 0.001 * place for place in range(60)],  # kWh
        [1234.5 + 0.01 * (place // 18) for place in range(180)],  # in steps of 10 Wh
        [
            100.0 * place if place < 30 else 100.0 * (2 * place - 30) for place in range(60)
        ],  # idle, then a load
    ],
    ids=["joules", "kilowatt-hours", "coarse", "two powers"],
)
def test_a_counter_that_is_declared_as_power_is_refused(numbers: list[float], tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="only rise, as those of a counter"):
        _ = log(tmp_path, numbers, *POWER)
    assert log(tmp_path, numbers, *POWER, column="p_w")  # which says that they are watts


@pytest.mark.parametrize(
    "numbers",
    [
        [200.0 * place for place in range(19)],  # too few
        [*noise(100, 20), *(100.0 + 10 * place for place in range(10)), *noise(200, 20)],
        [100.0] * 20 + [200.0] * 20,
        [100.0] * 20 + [100.0 + 5 * place for place in range(20)] + [200.0] * 20,
        [100.0 + 10 * (place // 10) for place in range(100)],  # the steps of a load
        [150 + 50 * (1 - math.exp(-place / 30)) + CHANCE.gauss(0.0, 0.5) for place in range(60)],  # warms up
        [200.0] * 60,
    ],
    ids=["few", "noisy ramp", "step", "ramp", "staircase", "warming", "constant"],
)
def test_a_power_that_rises_is_no_counter(numbers: list[float], tmp_path: Path) -> None:
    assert log(tmp_path, numbers, *POWER).series[0].value.tolist() == pytest.approx(numbers)


def test_an_average_rises_for_as_long_as_it_averages(tmp_path: Path) -> None:
    ramp = [100.0 + 5 * place for place in range(20)]
    assert log(tmp_path, ramp, *(option.replace("instantaneous", "average") for option in POWER))
    with pytest.raises(CampaignError, match="only rise"):
        _ = log(tmp_path, ramp, *POWER)


@pytest.mark.parametrize("unit", ["W", "kW"])
@pytest.mark.parametrize(
    "numbers", [[950.2, 980.1, 995.5, 1.01, 1.03, 998.5, 970.1], [999.0, 999.8, 1.002, 1.001, 1.03]]
)
def test_a_meter_that_changes_its_unit_is_refused(numbers: list[float], unit: str, tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match="jump by a factor of 1000"):
        _ = log(tmp_path, numbers, *POWER[:1], f"unit={unit}", *POWER[2:])


@pytest.mark.parametrize("numbers", [[205.3, 204.1, 0.2, 0.2, 203.9], [1100.0, 0.0, 0.5, 1200.0], [0.0] * 5])
def test_a_host_that_is_off_changes_no_unit(numbers: list[float], tmp_path: Path) -> None:
    assert log(tmp_path, numbers, *POWER).series[0].value.tolist() == numbers


# Energies of intervals


@pytest.mark.parametrize(
    ("energies", "doubted"),
    [
        ([3.1, 3.3, 3.4, 3.8, 4.2], True),  # 200 W, or 66 W less
        ([3.1, 3.3, 3.4, 3.8, 3.7, 4.1], True),
        ([3.3] * 6, True),
        ([0.0, 3.3, 6.5, 9.9], False),  # a counter that began with the log
        ([1234.5 + 3.3 * place for place in range(5)], False),  # would be of 74 kW
        ([3.0 + 0.1 * place for place in range(13)], False),  # rise for too long
    ],
)
def test_few_rows_of_a_counter_that_may_be_energies_of_intervals_are_doubted(
    energies: list[float], *, doubted: bool, tmp_path: Path
) -> None:
    doubts = log(tmp_path, energies, *COUNTER, step_s=60).doubts
    assert [doubt.id for doubt in doubts] == ([METERS.counter_or_intervals.id] if doubted else [])
    assert log(tmp_path, energies, *COUNTER, "range=100 kWh", step_s=60).doubts == ()


def test_a_trial_has_the_doubts_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(fio(job(write=moved(2**23, 60_000)), ended_ms=1_700_000_200_000))
    read_sources, _ = sources([str(tmp_path / "a.json")], "UTC")
    energies = log(tmp_path, [3.1, 3.3, 3.4, 3.8, 4.2], *COUNTER, step_s=60)
    brought = importing.bring(importing.create(tmp_path / "results"), read_sources, logs=(energies,))
    (record,) = brought.records
    assert METERS.counter_or_intervals.id in [doubt.id for doubt in record.doubts]


# Too few, or too close to each other, to be refused

LOW_AND_HIGH = [50.0 + 0.5 * (place % 5) + 150 * (place % 2) for place in range(60)]
APART = [200.0 + 0.02 * (place % 7) + 2 * (place % 2) for place in range(60)]


@pytest.mark.parametrize(
    ("numbers", "doubt"),
    [
        ([200.0 * place for place in range(8)], METERS.only_rises),
        ([200.0 * place for place in range(19)], METERS.only_rises),
        ([200.0 * place for place in range(7)], None),
        ([200.0, 201.0, 200.5, *(202.0 + place for place in range(12))], None),
        (LOW_AND_HIGH[:12], METERS.in_turns),
        (LOW_AND_HIGH[:11], None),
        (APART, METERS.in_turns),  # 1 %
        ([200.0, 200.2] * 30, None),  # 0.1 %
        (noise(200, 60), None),
        ([200.0] * 19, None),
    ],
)
def test_powers_that_may_be_a_counter_or_of_several_meters_are_doubted(
    numbers: list[float], doubt: Template[...] | None, tmp_path: Path
) -> None:
    doubts = log(tmp_path, numbers, *POWER).doubts
    assert [given.id for given in doubts] == ([doubt.id] if doubt else [])


def test_a_power_whose_column_names_its_unit_is_no_counter(tmp_path: Path) -> None:
    assert log(tmp_path, [200.0 * place for place in range(8)], *POWER, column="p_w").doubts == ()
