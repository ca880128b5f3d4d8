"""The race: which settings to measure next, when to stop, and which one wins. Pure: it decides from what was
measured.

The first round measures the default and settings that are spread over the space. Each later one measures the
settings that were best in draws from the `Surface`: a setting is measured again as long as it may be the
best, and dropped when it hardly can be (Thompson sampling). The race ends when its trials are used up, or
when no setting is expected to improve on the best one by LEAST_GAIN_RATIO (expected improvement: a small
chance of a large gain counts as much as a large chance of a small one).

The winner of a race looks better than it is, so the final comparison with the default uses none of these
trials.

    D. Russo and others, A Tutorial on Thompson Sampling, Foundations and Trends in Machine Learning 11
    (2018), https://doi.org/10.1561/2200000070 D. R. Jones, M. Schonlau, W. J. Welch, Efficient Global
    Optimization of Expensive Black-Box Functions, Journal of Global Optimization 13 (1998),
    https://doi.org/10.1023/A:1008306431147
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log1p
from statistics import NormalDist

import numpy as np

from perjoule.model.errors import CampaignError
from perjoule.tuning.space import Allowed, Floats, OptionSpace, Setting
from perjoule.tuning.surface import Block, Surface, jittered

LEAST_GAIN_RATIO = 0.005  # expected improvement below which the race ends
WORTH_RATIO = 0.005  # an option leaves its default only if this is expected of it
FIRST_SHARE, ROUND_SHARE = 0.25, 0.1  # of the blocks of a race, in its first round and in each later one
LEAST_SEARCH_COUNT, LEAST_ROUND_COUNT = 4, 2  # blocks
LEAST_FINAL_COUNT, MOST_FINAL_COUNT, FINAL_DIVISOR = 3, 10, 8  # repetitions of default and winner
DRAWS_COUNT = 200
NEAR_COUNT = 6  # settings whose neighbours are compared in a large space


@dataclass(frozen=True)
class RaceBudget:
    """How a number of trials is shared."""

    search_count: int  # blocks
    final_count: int  # repetitions of the default and of the winner


@dataclass(frozen=True)
class Standing:
    """What the race knows."""

    surface: Surface
    best: Setting  # of the measured ones, by expectation
    gain: float  # of the best over the default, as expected: a difference of logarithms
    improvement: float  # the largest that is expected of any setting on it, likewise
    draws: tuple[Setting, ...]  # the best setting in each draw


def budget(trials_count: int, work_count: int) -> RaceBudget:
    """Share trials between search and final comparison.

    Args:
        trials_count: at most this many are measured.
        work_count: of them that one setting needs: workloads x numbers of clients.

    Raises:
        CampaignError: they are too few.
    """
    blocks_count = trials_count // work_count
    final_count = min(MOST_FINAL_COUNT, max(LEAST_FINAL_COUNT, blocks_count // FINAL_DIVISOR))
    search_count = blocks_count - 2 * final_count
    if search_count < LEAST_SEARCH_COUNT:
        least_count = work_count * (2 * LEAST_FINAL_COUNT + LEAST_SEARCH_COUNT)
        fault = (
            f"{trials_count} trials are too few to find a setting and to compare it with the default "
            "afterwards"
        )
        raise CampaignError(fault, where="--trials", next=f"this campaign needs at least {least_count}")
    return RaceBudget(search_count, final_count)


def standing(space: OptionSpace, blocks: Sequence[Block], allowed: Allowed, seed: int) -> Standing:
    """Return what is known after some rounds. The same blocks and seed give the same."""
    surface = Surface(space, blocks)
    measured = list(dict.fromkeys(block.setting for block in blocks))
    dice = np.random.default_rng([seed, len(blocks)])
    order: list[int] = np.argsort(-surface.mean(measured), kind="stable").tolist()
    leaders = [measured[n] for n in order[:NEAR_COUNT]]
    candidates = list(
        dict.fromkeys([space.default, *leaders, *measured, *space.candidates(leaders, allowed, dice)])
    )
    means, covariance = surface.posterior(candidates)
    best = candidates.index(leaders[0])
    root = np.linalg.cholesky(jittered(covariance))
    drawn = means + dice.standard_normal((DRAWS_COUNT, len(candidates))) @ root.T
    return Standing(
        surface,
        leaders[0],
        float(means[best] - means[0]),
        float(np.max(_improvements(means, covariance, best))),
        tuple(candidates[int(n)] for n in np.argmax(drawn, axis=1)),
    )


def _improvements(means: Floats, covariance: Floats, best: int) -> Floats:
    """Return what each setting is expected to improve on the best one, if it is better (Jones and others,
    equation 15).
    """
    variances = np.diag(covariance)
    deviations = np.sqrt(np.maximum(variances + variances[best] - 2 * covariance[best], 1e-18))
    above = (means - means[best]) / deviations
    normal = NormalDist()
    return deviations * np.array(
        [distance * normal.cdf(distance) + normal.pdf(distance) for distance in above.tolist()]
    )


def first_round(space: OptionSpace, shared: RaceBudget, allowed: Allowed, seed: int) -> tuple[Setting, ...]:
    """Return the settings of the first round, the default first."""
    count = min(shared.search_count, max(LEAST_SEARCH_COUNT, ceil(FIRST_SHARE * shared.search_count)))
    return tuple(space.spread(count, allowed, np.random.default_rng([seed, 0])))


def next_round(state: Standing, shared: RaceBudget, used_count: int) -> tuple[Setting, ...]:
    """Return the settings to measure next; () if the race has ended.

    Args:
        state: what is known.
        shared: the budget.
        used_count: blocks that were measured or failed.
    """
    left_count = shared.search_count - used_count
    if left_count <= 0 or state.improvement < log1p(LEAST_GAIN_RATIO):
        return ()
    count = min(left_count, max(LEAST_ROUND_COUNT, ceil(ROUND_SHARE * shared.search_count)))
    return tuple(dict.fromkeys(state.draws))[:count]


def winner(space: OptionSpace, state: Standing, allowed: Allowed) -> Setting:
    """Return the setting for the final comparison: the best one, with options at their default where that
    costs little.
    """
    setting = state.best
    while True:
        simpler = [
            reduced
            for n, option in enumerate(space.options)
            if setting[n] != option.default
            and allowed(reduced := (*setting[:n], option.default, *setting[n + 1 :]))
        ]
        if not simpler:
            return setting
        values = state.surface.mean([setting, *simpler])
        best = int(np.argmax(values[1:]))
        if values[0] - values[1 + best] >= log1p(WORTH_RATIO):
            return setting
        setting = simpler[best]
