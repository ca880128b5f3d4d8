"""Our own distributions against scipy's, to 12 digits, on wide grids."""

from itertools import product
from math import inf, isnan, sqrt
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

from perjoule.statistics.distributions import (
    fisher_p,
    kendall_p,
    poisson_densities,
    student_p,
    student_quantile,
)

special: Any = scipy.special
stats: Any = scipy.stats

FREEDOMS = (0.5, 1, 1.5, 2, 3, 4.7, 10, 31.6, 100, 317.3, 1e3, 9_999.5, 1e4, 1e5, 1e6, 1e8, inf)
VALUES = (1e-3, 0.1, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 33, 37, 200)
BEYOND = (0.999, 0.9, 0.5, 0.1, 0.05, 0.025, 0.01, 1e-3, 1e-5, 1e-8, 1e-12)
LEAST_P = 1e-280  # below, numbers of 64 bits lose digits
LEAST_P_OF_F = 1e-100  # below, logarithms of many degrees of freedom do


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_p_of_student_s_t_is_scipy_s(freedom: float) -> None:
    wanted = {value: 2 * float(special.stdtr(freedom, -value)) for value in VALUES}
    for value, p in wanted.items():
        if p > LEAST_P:
            assert (
                student_p(value, freedom) == student_p(-value, freedom) == pytest.approx(p, rel=1e-12, abs=0)
            )


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_quantiles_of_student_s_t_are_scipy_s(freedom: float) -> None:
    for beyond in BEYOND:
        wanted = -float(special.stdtrit(freedom, beyond / 2))
        assert student_quantile(freedom, beyond) == pytest.approx(wanted, rel=1e-12, abs=0)


def test_p_of_a_ratio_of_variances_is_scipy_s() -> None:
    freedoms = (1, 2, 3, 5, 10, 33, 100, 1_000, 10_000)
    for first, other, ratio in product(freedoms, freedoms, (1e-3, 0.1, 0.5, 1, 1.1, 2, 5, 20, 161.45, 1e4)):
        wanted = float(special.fdtrc(first, other, ratio))
        if wanted > LEAST_P_OF_F:
            assert fisher_p(ratio, first, other) == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize("mean", [0.01, 0.5, 1, 3.3, 20, 99.5])
def test_densities_of_poisson_s_distribution_are_scipy_s(mean: float) -> None:
    for first in (0, int(mean)):
        count = int(20 * sqrt(mean) + 50)
        wanted = stats.poisson.pmf(np.arange(first, first + count), mean)
        assert poisson_densities(first, count, mean) == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize("mean", [100.5, 1e3, 12_345.6, 1e5])
def test_sums_of_densities_of_poisson_s_distribution_are_scipy_s(mean: float) -> None:
    """Of many, scipy's densities are differences of large logarithms, and its sums are not."""
    first, count = int(mean), int(4 * sqrt(mean))
    wanted = np.diff(special.pdtr(np.arange(first - 1, first + count), mean)[[0, -1]])
    assert poisson_densities(first, count, mean).sum() == pytest.approx(float(wanted[0]), rel=1e-12)


@pytest.mark.parametrize("count", [2, 5, 9, 20, 33])
def test_p_of_kendall_s_tau_is_scipy_s_exact_one(count: int) -> None:
    order = list(range(count))
    for moved in range(count):
        ranks = order[moved:] + order[:moved]
        concordance = sum(
            (ranks[j] > ranks[i]) - (ranks[j] < ranks[i]) for i in range(count) for j in range(i + 1, count)
        )
        wanted = stats.kendalltau(order, ranks, method="exact").pvalue
        assert kendall_p(concordance, count) == pytest.approx(float(wanted), rel=1e-12, abs=0)


def test_ends_and_what_has_no_value() -> None:
    assert student_quantile(3, 0) == inf
    assert student_quantile(3, 1) == 0
    assert (student_p(0, 3), student_p(inf, 3), student_p(1e200, 3)) == (1, 0, 0)
    assert (fisher_p(0, 3, 4), fisher_p(inf, 3, 4)) == (1, 0)
    assert all(
        map(isnan, (student_quantile(0, 0.05), student_quantile(3, 1.5), student_p(1, 0), student_p(1, -1)))
    )
