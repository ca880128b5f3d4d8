"""Points left out, simpler models, and the conformal quantile, by hand."""

from math import exp, inf, log

import pytest

from perjoule.prediction.scores import scores, skill
from perjoule.prediction.validation import Level, Test, least_count, left_out, quantile_ratio, simpler
from tests import made


def _test(
    error: float = 0.0, *, level: Level = "clients", measured_w: float = 10.0, predicted_w: float = 10.0
) -> Test:
    return Test(level, 1.0, 100.0, 100.0 * exp(error), measured_w, predicted_w, {"constant": 150.0}, 20.0)


@pytest.mark.heavy
def test_a_true_model_predicts_what_it_has_not_seen() -> None:
    tests = list(left_out(made.points(), inf))
    assert {one.level for one in tests} == {"clients", "redundancy", "hardware"}
    by_level = {
        level: sorted(abs(one.error) for one in tests if one.level == level)
        for level in ("clients", "redundancy")
    }
    assert by_level["clients"][len(by_level["clients"]) // 2] < 0.01
    assert by_level["redundancy"][len(by_level["redundancy"]) // 2] < 0.01


@pytest.mark.heavy
def test_a_level_of_one_kind_alone_has_no_tests() -> None:
    assert "redundancy" not in {one.level for one in left_out(made.points(copies=(1,)), inf)}


def test_sizes_are_left_out_where_several_were_measured() -> None:
    levels = [
        {test.level for test in left_out(made.points(speeds=[(1, 1, 1)], sizes=sizes), inf)}
        for sizes in ((1e8,), (1e8, 1e9))
    ]
    assert levels[1] - levels[0] == {"size"}


@pytest.mark.heavy
def test_calls_in_flight_are_left_out_where_several_were_measured_and_a_true_model_predicts_them() -> None:
    tests = list(left_out(made.points(in_flight=(1, 4)), inf))
    errors = [abs(test.error) for test in tests if test.level == "in flight"]
    assert len(errors) == 2 * 3 * 2 * 4
    assert max(errors) < 0.03


def test_simpler_models_see_clients_alone() -> None:
    points = made.points(copies=(1,), speeds=made.SPEEDS[:1])
    models = simpler(points)
    one, two, four = (next(p for p in points if p.case.fleet.clients_count == count) for count in (1, 2, 4))
    each = sorted(p.throughput_bytes_per_s / float(p.case.fleet.clients_count) for p in points)
    assert models["constant"](two) == pytest.approx(2 * each[len(each) // 2])
    assert models["USL"](four) == pytest.approx(four.throughput_bytes_per_s, rel=0.05)
    rise = models["linear"](two) - models["linear"](one)
    assert models["linear"](four) - models["linear"](two) == pytest.approx(2 * rise)


def test_the_quantile_is_conformal() -> None:
    errors = [log(1 + n / 100) for n in range(1, 20)]  # 19 of them: the 18th of 20 x 0.9
    assert quantile_ratio(errors, 0.9) == pytest.approx(1.18)
    assert quantile_ratio([-e for e in errors], 0.9) == pytest.approx(1.18)
    assert quantile_ratio(errors[:8], 0.9) == inf  # 9 x 0.9 is more than 8


def test_nine_errors_are_the_fewest_for_a_band_of_90_percent() -> None:
    assert least_count(0.9) == 9
    assert quantile_ratio([0.1] * 8, 0.9) == inf
    assert quantile_ratio([0.1] * 9, 0.9) == pytest.approx(exp(0.1))


def test_scores_are_of_each_level() -> None:
    tests = [_test(log(1.1)), _test(log(0.98)), _test(0.0), _test(log(2), level="hardware")]
    found = {one.level: one for one in scores([tests])}
    assert found["clients"].median_ratio == pytest.approx(0.02)
    assert found["hardware"].median_ratio == pytest.approx(1.0)
    assert found["clients"].simpler == {"constant": pytest.approx(0.5)}
    assert "redundancy" not in found


def test_skill_is_over_constant_power() -> None:
    assert skill([_test(predicted_w=10.0), _test(measured_w=14.0, predicted_w=14.0)]) == pytest.approx(1.0)
    # Wrong by 5 W each, where constant power (20 W) is wrong by 10 W each.
    assert skill([_test(predicted_w=15.0), _test(predicted_w=5.0)]) == pytest.approx(1 - 50 / 200)
    assert skill([]) is None


def test_bands_hold_by_the_others_errors() -> None:
    tests = [_test(0.01 * (n % 5)) for n in range(8)] + [_test(1.0)]
    # Of 9 errors the 10 x 0.9 = 9th smallest is 1: each point is held by it but the last, whose others are
    # too few at 8.
    assert scores([[*tests, _test(1.0)]])[0].held_ratio == 1.0
    # the last exceeds what the others give
    assert scores([[*tests, _test(0.0)]])[0].held_ratio == pytest.approx(9 / 10)
