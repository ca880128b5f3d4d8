"""Fits of points whose truth is known."""

from math import inf

import pytest

from perjoule.prediction.fitting import Fit, demand, draws, fit, throughput_bytes_per_s
from perjoule.prediction.observation import Observation
from tests import made


def _worst(found: Fit, points: list[Observation]) -> float:
    return max(abs(throughput_bytes_per_s(found, one.case, inf) / one.throughput_bytes_per_s - 1) for one in points)


def test_a_fit_gives_back_the_throughputs_that_it_was_made_from() -> None:
    points = made.points()
    assert _worst(fit(points, inf), points) < 0.01


def test_it_finds_the_numbers_that_made_them() -> None:
    found = fit(made.points(), inf)
    assert found.way.in_flight == pytest.approx(made.TRUTH.way.in_flight, rel=0.1)
    assert found.way.on_disk_ratio == pytest.approx(made.TRUTH.way.on_disk_ratio, abs=0.05)
    assert found.way.fixed_s == pytest.approx(made.TRUTH.way.fixed_s, rel=0.2)
    assert found.works.server_mips_s_per_byte == pytest.approx(made.TRUTH.works.server_mips_s_per_byte)


def test_another_redundancy_follows_from_bytes_alone() -> None:
    found = fit(made.points(copies=(1,)), inf)
    assert _worst(found, made.points(copies=(3,))) < 0.03


def test_work_grows_with_the_bytes_that_networks_move() -> None:
    one, three = (demand(made.TRUTH.works, made.flow(count, "write")) for count in (1, 3))
    assert three.server_mips_s_per_byte == pytest.approx(5 * one.server_mips_s_per_byte)  # received 3, sent on 2
    assert three.client_mips_s_per_byte == one.client_mips_s_per_byte


def test_one_wrong_point_hardly_moves_the_others() -> None:
    points = made.points()
    spoiled = [made.otherwise(points[0], 0.3), *points[1:]]
    assert _worst(fit(spoiled, inf), points) < 0.05


def test_draws_scatter_as_noise_does() -> None:
    quiet, noisy = (
        [draw.way.fixed_s for draw in draws(points, inf, fit(points, inf))]
        for points in (made.points(noise_ratio=0.001), made.points(noise_ratio=0.05))
    )
    assert max(quiet) / min(quiet) < max(noisy) / min(noisy)
