"""The response surface: a Gaussian process, recomputed from its definition with numpy alone."""

from itertools import product

import numpy as np
import pytest

from perjoule.tuning.space import Option, OptionSpace, Setting, places
from perjoule.tuning.surface import GRID, NOISE, OPTION, ROUND, TOGETHER, Block, Surface

SCALE = places((1, 2, 8))
SPACE = OptionSpace((Option("threads", (1, 2, 8), 0, SCALE), Option("cache", ("a", "b"), 0)))
SETTINGS: list[Setting] = list(product(range(3), range(2)))
BLOCKS = [
    Block((0, 0), 1, 4.60),
    Block((1, 1), 1, 4.71),
    Block((2, 0), 1, 4.68),
    Block((2, 1), 2, 4.80),
    Block((0, 0), 2, 4.63),
]


def correlations(one: Setting, other: Setting) -> tuple[float, float, float]:
    """Those of the option on a scale, of the choice, and of both together, from their definitions."""
    scale = np.exp(-abs(SCALE[one[0]] - SCALE[other[0]]) / 0.5)
    choice = float(one[1] == other[1])
    return scale, choice, scale * max(choice, 0.4)


def covariance(one: Setting, other: Setting, deviations: tuple[float, ...]) -> float:
    """Of the objective of two settings, the constant's deviation being 1."""
    return 1 + sum(s**2 * c for s, c in zip(deviations, correlations(one, other), strict=False))


def of_blocks(deviations: tuple[float, ...]) -> np.ndarray:
    rows = [
        [
            covariance(a.setting, b.setting, deviations) + deviations[3] ** 2 * (a.round == b.round)
            for b in BLOCKS
        ]
        for a in BLOCKS
    ]
    return np.array(rows) + deviations[4] ** 2 * np.eye(len(BLOCKS))


def test_the_posterior_is_that_of_a_joint_normal_distribution() -> None:
    found = Surface(SPACE, BLOCKS)
    deviations = tuple(found.deviations)
    values = np.array([block.value for block in BLOCKS])
    weights = np.linalg.inv(of_blocks(deviations))
    across = np.array([[covariance(s, block.setting, deviations) for block in BLOCKS] for s in SETTINGS])
    within = np.array([[covariance(a, b, deviations) for b in SETTINGS] for a in SETTINGS])
    mean, spread = found.posterior(SETTINGS)
    assert mean == pytest.approx(values.mean() + across @ weights @ (values - values.mean()), abs=1e-6)
    assert spread == pytest.approx(within - across @ weights @ across.T, abs=1e-6)
    assert found.mean(SETTINGS) == pytest.approx(mean)


def test_the_effect_of_an_option_is_its_own_part_of_that() -> None:
    found = Surface(SPACE, BLOCKS)
    deviations = tuple(found.deviations)
    values = np.array([block.value for block in BLOCKS])
    weights = np.linalg.inv(of_blocks(deviations))
    of_option = deviations[0] ** 2 * np.array([[np.exp(-abs(a - b) / 0.5) for b in SCALE] for a in SCALE])
    across = of_option[:, [block.setting[0] for block in BLOCKS]]
    spread = of_option - across @ weights @ across.T
    mean = across @ weights @ (values - values.mean())
    size, error = found.effect(0).contrast(2, 0)
    assert size == pytest.approx(mean[2] - mean[0], abs=1e-6)
    assert error == pytest.approx(np.sqrt(spread[2, 2] + spread[0, 0] - 2 * spread[2, 0]), abs=1e-6)


def test_no_single_deviation_on_the_grid_is_more_probable() -> None:
    found = tuple(Surface(SPACE, BLOCKS).deviations)
    values = np.array([block.value for block in BLOCKS]) - np.mean([block.value for block in BLOCKS])

    def log_probability(deviations: tuple[float, ...]) -> float:
        matrix = of_blocks(deviations)
        likelihood = -values @ np.linalg.solve(matrix, values) / 2 - np.linalg.slogdet(matrix)[1] / 2
        priors = (OPTION, OPTION, TOGETHER, ROUND, NOISE)
        return likelihood - sum(
            (np.log(s / p.centre) / p.spread) ** 2 / 2 for s, p in zip(deviations, priors, strict=True)
        )

    best = log_probability(found)
    for n, one in product(range(5), GRID):
        assert log_probability((*found[:n], one, *found[n + 1 :])) <= best + 1e-6


def test_it_separates_the_effects_of_options() -> None:
    truth = {0: (0.0, 0.05, 0.2), 1: (0.0, -0.1)}
    dice = np.random.default_rng(3)
    blocks = [
        Block(s, 1 + r, 5 + truth[0][s[0]] + truth[1][s[1]] + dice.normal(0, 0.01))
        for r in range(3)
        for s in SETTINGS
    ]
    found = Surface(SPACE, blocks)
    for option, effects in truth.items():
        for value, effect in enumerate(effects):
            size, error = found.effect(option).contrast(value, 0)
            assert size == pytest.approx(effect, abs=max(3 * error, 1e-9))
            assert error < 0.02
    assert found.deviations[-1] == pytest.approx(0.01)


def test_nothing_measured_is_not_a_surface() -> None:
    with pytest.raises(ValueError, match="at least one block"):
        Surface(SPACE, [])
