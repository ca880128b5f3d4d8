"""What the times of a host's answers say."""

import time

import pytest

from perjoule.testbeds.cluster.keeping.answers import HostAnswers


def heard(*answers: tuple[float, float]) -> tuple[tuple[str, ...], list[bool]]:
    """Take in answers of (round trip, by how much the host's clock is ahead), one each 0.2 s; the
    messages, and what is used.
    """
    found, used, now_s = HostAnswers(), list[bool](), time.monotonic() - 60
    for number, (round_trip_s, ahead_s) in enumerate(answers):
        t_s = now_s + 0.2 * number
        utc_s = time.time() - (time.monotonic() - t_s) + ahead_s
        used.append(found.take(t_s, round_trip_s / 2, f"{utc_s:.6f} cpu 1"))
    said = found.disturbances("h1")
    assert found.disturbances("h1") == ()  # each once
    return said, used


@pytest.mark.parametrize("ahead_s", [0.0, 3600.0, -400 * 86400.0])
def test_a_steady_host_is_not_disturbed_however_wrong_its_clock_is(ahead_s: float) -> None:
    said, used = heard(*[(0.002, ahead_s + 1e-4 * n) for n in range(50)])
    assert (said, all(used)) == ((), True)


def test_an_answer_that_took_long_is_a_gap_and_said() -> None:
    said, used = heard((0.002, 0.0), (9.0, 4.5), (1.2, 0.6), (0.002, 0.0))
    assert said == ("h1 did not answer for 9 s during the load",)
    assert used == [True, False, False, True]


def test_a_way_that_is_slow_is_not_taken_for_a_clock_that_was_set() -> None:
    said, used = heard((0.002, 0.0), (0.8, 0.39), (0.6, -0.29), (0.002, 0.0))
    assert (said, all(used)) == ((), True)


@pytest.mark.parametrize(("step_s", "words"), [(5.0, "+5 s"), (-1.0, "-1 s"), (-86400.0, "-8.64e+04 s")])
def test_a_clock_that_was_set_and_set_back_is_reported(step_s: float, words: str) -> None:
    said, _ = heard((0.002, 0.0), (0.002, step_s), (0.002, 0.0))
    assert said == (f"the clock of h1 was set by {words} during the load, and set back",)
    stays, _ = heard((0.002, 0.0), (0.002, step_s), (0.002, step_s))
    assert stays == ()  # the run's own clocks show it: `workloads._raw.Ran`
