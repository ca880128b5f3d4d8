"""The SNIA's rule of steady state: what it accepts, what it refuses, and that units and time's direction
mean nothing to it.
"""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Workload
from perjoule.model import Json
from perjoule.model.units import MIB
from perjoule.workloads.fio import rounds
from perjoule.workloads.fio.steady import first_steady, spread, steady
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "fio"

rates = st.lists(st.floats(1.0, 1e9), min_size=5, max_size=5)


def test_range_and_excursion_are_those_of_the_specification() -> None:
    assert spread([90, 95, 100, 105, 110]) == pytest.approx((0.2, 0.2))
    assert spread([100, 120, 100, 120, 100]) == pytest.approx((20 / 108, 0.0))


@pytest.mark.parametrize(
    ("rounds", "is_steady"),
    [
        ([100, 100, 100, 100, 100], True),
        ([95, 105, 100, 95, 105], True),
        ([97, 98, 100, 102, 103], True),
        ([94, 97, 100, 103, 106], False),  # the range would do, the slope does not
        ([89, 100, 100, 100, 111], False),  # nor do they here
        ([100, 89, 100, 111, 100], False),  # a range of 22 % on a nearly flat line
        ([0, 0, 0, 0, 0], False),
    ],
)
def test_rounds_are_steady_or_not(rounds: list[float], is_steady: bool) -> None:
    assert steady(rounds) is is_steady


@given(rates, st.floats(1e-3, 1e3))
def test_the_unit_of_a_rate_changes_no_verdict(rounds: list[float], factor: float) -> None:
    assert spread([rate * factor for rate in rounds]) == pytest.approx(spread(rounds), rel=1e-6, abs=1e-6)


@given(rates)
def test_backwards_is_as_steady_as_forwards(rounds: list[float]) -> None:
    assert spread(rounds[::-1]) == pytest.approx(spread(rounds), rel=1e-6, abs=1e-6)


@given(rates)
def test_the_line_never_rises_by_more_than_the_rounds_would_allow(rounds: list[float]) -> None:
    range_ratio, excursion_ratio = spread(rounds)
    # two rounds low, two high: the steepest line of five points
    assert excursion_ratio <= 1.2 * range_ratio + 1e-9


@given(st.lists(st.floats(0.0, 1e9), max_size=30))
def test_the_first_steady_rounds_are_found_and_none_before_them(rounds: list[float]) -> None:
    assert first_steady(rounds) == next(
        (n for n in range(len(rounds) - 4) if steady(rounds[n : n + 5])), None
    )


def test_a_drive_that_slows_down_is_steady_only_when_it_has_settled() -> None:
    assert first_steady([400, 300, 200, 150, 120, 101, 100, 100, 99, 100, 100]) == 5
    assert first_steady([100, 100, 100, 100]) is None


def fio(**options: Json) -> Workload:
    made = drivers.build("workloads", "fio", options)
    assert isinstance(made, Workload)
    return made


def test_a_load_that_never_settled_is_kept_with_a_doubt_and_its_warm_up() -> None:
    outcome = fio(size="16 MiB", round="0.6 s", rounds=7).outcome(SAID / "rounds")
    (doubt,) = outcome.doubts
    assert doubt == "not steady after 7 rounds: range 18 % of the mean (limit 20 %), slope 15 % (limit 10 %)"
    assert outcome.measured["warm_up_rounds_count"] == 2
    assert "rounds 3 to 7 count; 2.488 GiB in 1.6 s before them are warm-up" in outcome.note


def test_goodput_holds_the_warm_up_and_results_hold_the_window() -> None:
    outcome = fio(size="16 MiB", round="0.6 s", rounds=7).outcome(SAID / "rounds")
    (result,), (series,) = outcome.results, outcome.series
    assert result.ended_s - result.began_s == pytest.approx(5 * 0.6, abs=0.05)
    assert result.began_s - (series.t_s[0] - series.duration_s[0]) == pytest.approx(
        outcome.measured["warm_up_s"]
    )
    inside = (series.t_s > result.began_s) & (series.t_s <= result.ended_s)
    logged_bytes = float((series.value * series.duration_s)[inside].sum())
    # samples of 0.5 s do not end with the rounds
    assert logged_bytes == pytest.approx(result.moved_bytes, rel=0.25)
    assert result.operations_count * 4 * MIB == result.moved_bytes
    assert 0 < result.latency_s["p50"] <= result.latency_s["p99"] <= result.latency_s["max"]
    assert result.latency_s["mean"] == pytest.approx(
        (result.ended_s - result.began_s) / result.operations_count, rel=0.2
    )


def test_fewer_rounds_than_the_rule_needs_are_no_result() -> None:
    text = (SAID / "rounds" / "local.json").read_text()
    few = rounds.read({"a": text[: text.index("{", len(text) // 2)], "b": text})
    assert not few.enough(7)
    with pytest.raises(ValueError, match=r"fio ended after . rounds, but 5 are needed"):
        few.window(7)


def test_a_report_that_is_still_being_written_is_not_a_round() -> None:
    text = (SAID / "rounds" / "local.json").read_text()
    counts = [len(rounds.read({"a": text[:end]}).rates_bytes_per_s or []) for end in range(0, len(text), 997)]
    assert counts == sorted(counts)
    assert rounds.read({"a": ""}).rates_bytes_per_s == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"duration": "10 s", "round": "1 s"}, "remove duration and client_server"),
        ({"round": "0.1 s"}, "a round takes at least 0.5 s"),
        ({"round": "60 s"}, 'rounds may take "26 min 0 s", and time_limit is "10 min 0 s"'),
        ({"round": "1 s", "verify": "crc32c"}, "verify is for whole files"),
        ({"round": "1 s", "rounds": 4}, "greater than or equal to 5"),
    ],
)
def test_rounds_that_can_not_be_are_refused(options: Mapping[str, Json], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        fio(**options)
