"""The race: how trials are shared, what is measured next, when it ends, and how often it is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.tuning import Truth, anything, judged, raced
from perjoule.cli.tune import LEAST_TRIALS_COUNT
from perjoule.model.errors import CampaignError
from perjoule.tuning.race import (
    LEAST_GAIN_RATIO,
    RaceBudget,
    _improvements,
    budget,
    first_round,
    next_round,
    standing,
    winner,
)
from perjoule.tuning.space import Option, OptionSpace, places
from perjoule.tuning.surface import Block

SPACE = OptionSpace(
    (
        Option("threads", (1, 2, 4, 8, 16), 2, places((1, 2, 4, 8, 16))),
        Option("cache", ("a", "b", "c"), 0),
        Option("idle", (False, True), 0),
    )
)
EFFECTS = (np.array([-0.2, -0.1, 0.0, 0.1, 0.0]), np.array([0.0, 0.06, -0.05]), np.zeros(2))


def truth(effects: float, seed: int, noise_ratio: float = 0.02) -> Truth:
    alone = tuple(effects * own for own in EFFECTS)
    return Truth(SPACE, alone, np.zeros((5, 3)), np.random.default_rng(seed), noise_ratio)


@pytest.mark.parametrize(
    ("trials_count", "work_count", "search_count", "final_count"),
    [(40, 1, 30, 5), (10, 1, 4, 3), (20, 2, 4, 3), (200, 1, 180, 10), (41, 2, 14, 3)],
)
def test_trials_are_shared(trials_count: int, work_count: int, search_count: int, final_count: int) -> None:
    assert budget(trials_count, work_count) == RaceBudget(search_count, final_count)
    assert (search_count + 2 * final_count) * work_count <= trials_count


def test_too_few_trials_are_refused_with_how_many_it_takes() -> None:
    with pytest.raises(CampaignError, match="9 trials are too few") as error:
        budget(LEAST_TRIALS_COUNT - 1, 1)
    assert error.value.next == "this campaign needs at least 10"
    with pytest.raises(CampaignError, match="too few") as error:
        budget(29, 3)
    assert error.value.next == "this campaign needs at least 30"
    budget(30, 3)


def test_the_first_round_has_the_default_and_other_settings() -> None:
    found = first_round(SPACE, RaceBudget(30, 5), anything, seed=1)
    assert found[0] == SPACE.default
    assert len(set(found)) == len(found) == 8


def test_the_expected_improvement_is_the_mean_of_what_is_better() -> None:
    means, covariance = np.array([1.0, 0.98, 1.0, 0.9]), np.diag([0.01, 0.02, 0.0, 0.05]) ** 2
    covariance[0, 1] = covariance[1, 0] = 0.0001
    drawn = np.random.default_rng(1).multivariate_normal(means, covariance, 400_000)
    wanted = np.maximum(drawn - drawn[:, [0]], 0).mean(axis=0)
    assert _improvements(means, covariance, 0) == pytest.approx(wanted, abs=5e-5)


def test_a_race_ends_when_its_blocks_are_used_up_or_nothing_is_expected_to_be_better() -> None:
    blocks = [Block(one, 1, 5.0) for one in first_round(SPACE, RaceBudget(30, 5), anything, seed=1)]
    now = replace(standing(SPACE, blocks, anything, seed=1), improvement=0.02)
    assert len(next_round(now, RaceBudget(30, 5), 12)) == 3
    assert len(next_round(now, RaceBudget(30, 5), 29)) == 1
    assert next_round(now, RaceBudget(30, 5), 30) == ()
    assert next_round(replace(now, improvement=0.9 * LEAST_GAIN_RATIO), RaceBudget(30, 5), 12) == ()


def test_a_setting_that_is_not_allowed_is_never_measured() -> None:
    blocks = [
        Block(one, 1, float(one[0]))
        for one in first_round(SPACE, RaceBudget(30, 5), lambda one: one[0] < 4, seed=1)
    ]
    assert {block.setting[0] for block in blocks} == {0, 1, 2, 3}
    now = standing(SPACE, blocks, lambda one: one[0] < 4, seed=1)
    assert all(one[0] < 4 for one in now.draws)
    assert winner(SPACE, now, lambda one: one[0] < 4)[0] == 3


def test_the_same_blocks_and_seed_give_the_same_round() -> None:
    blocks = [
        Block(one, 1, 0.01 * n)
        for n, one in enumerate(first_round(SPACE, RaceBudget(30, 5), anything, seed=1))
    ]
    one, other = (standing(SPACE, blocks, anything, seed=1) for _ in range(2))
    assert next_round(one, RaceBudget(30, 5), 12) == next_round(other, RaceBudget(30, 5), 12)
    assert one.draws != standing(SPACE, blocks, anything, seed=2).draws


@pytest.mark.heavy
def test_races_find_the_best_setting() -> None:
    found = [raced(truth(1.0, seed), RaceBudget(30, 5), seed)[0] for seed in range(20)]
    assert sum(one[:2] == (3, 1) for one in found) >= 16
    assert np.mean([0.16 - truth(1.0, 0).value(one) for one in found]) < 0.01


def test_the_winner_leaves_what_does_nothing_at_its_default() -> None:
    true = truth(1.0, 0)
    settings = [
        (3, 1, 1),
        *(one for one in SPACE.spread(20, anything, np.random.default_rng(2)) if one != (3, 1, 0)),
    ]
    now = standing(SPACE, [Block(one, 1, true.value(one)) for one in settings], anything, seed=1)
    assert now.best == (3, 1, 1)
    assert winner(SPACE, now, anything) == (3, 1, 0)
    assert winner(SPACE, now, lambda one: one != (3, 1, 0)) == (3, 1, 1)


@pytest.mark.heavy
def test_without_an_effect_hardly_any_race_ends_in_a_gain() -> None:
    """Of 80 comparisons at 2.5 %, more than 6 are better by chance with a probability of 0.4 %."""
    better = 0
    for seed in range(80):
        one = truth(0.0, seed)
        better += judged(one, raced(one, RaceBudget(12, 3), seed)[0], 3) == "better"
    assert better <= 6


@pytest.mark.heavy
def test_without_an_effect_a_comparison_that_used_the_race_itself_would_be_wrong_far_more_often() -> None:
    """The reason for fresh trials: the winner of a race is the luckiest of many."""
    wrong = 0
    for seed in range(200):
        one = truth(0.0, seed)
        settings = one.space.spread(12, anything, one.dice)
        values = np.array([one.measured(settings) for _ in range(3)])
        best = int(np.argmax(values.mean(axis=0)))
        gap, error = values.mean(axis=0)[best] - values[:, 0].mean(), 0.02 * np.sqrt(2 / 3)
        wrong += gap > 1.96 * error
    assert wrong / 200 > 0.08
