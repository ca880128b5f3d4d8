"""How close to the best setting the race of `perjoule tune` comes, beside random search, successive halving
and Optuna.

Simulated response surfaces: 4 to 8 options with 2 to 5 values, of which about half matter (8 % standard
deviation each), and two of them also together (2 %); scales are concave, choices have no order. Each block
scatters by 3 %, each round by 0.5 %. All methods get the same number of blocks and see the same surfaces.
Printed is the regret: how much better the best setting of all is than the one that a method chose. Optuna
(https://optuna.org), which is not a dependency of perjoule, suggests one setting at a time, begins with the
default, and its best trial is its choice: its samplers are TPE, as by default, and TPE over all options
together.

Second, how often a race on a surface without any effect ends in a significant gain over the default (at most
2.5 % by definition: one side of the 95 % interval), and how often it finds the gain where there is one.

usage: .venv/bin/python benchmarks/tuning.py [RUNS]
"""

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import exp, expm1
from typing import Any

import numpy as np

from perjoule.model import Cell, Ran
from perjoule.statistics.intervals import interval
from perjoule.tuning.outcome import gain
from perjoule.tuning.race import RaceBudget, budget, first_round, next_round, standing, winner
from perjoule.tuning.space import Floats, Option, OptionSpace, Setting
from perjoule.tuning.study import DEFAULT, TUNED
from perjoule.tuning.surface import Block

NOISE_RATIO, ROUND_RATIO = 0.03, 0.005
EFFECT_RATIO, TOGETHER_RATIO, MATTERS_SHARE = 0.08, 0.02, 0.5
BLOCKS_COUNTS = (16, 32, 64)
METRIC = "efficiency_bytes_per_j"


@dataclass(frozen=True)
class Truth:
    """A surface whose values are known."""

    space: OptionSpace
    alone: tuple[Floats, ...]
    together: Floats  # of the first two options
    dice: np.random.Generator
    noise_ratio: float = NOISE_RATIO

    def value(self, setting: Setting) -> float:
        """Return the true logarithm of a setting."""
        alone = sum(float(own[value]) for own, value in zip(self.alone, setting, strict=True))
        return alone + float(self.together[setting[0], setting[1]])

    def measured(self, settings: Sequence[Setting]) -> list[float]:
        """Measure settings once each, in one round."""
        shift = self.dice.normal(0, ROUND_RATIO)
        return [self.value(one) + shift + self.dice.normal(0, self.noise_ratio) for one in settings]

    def best(self) -> float:
        """Return that of the best setting."""
        counts = [range(len(option.values)) for option in self.space.options]
        together = max(
            float(self.alone[0][a] + self.alone[1][b] + self.together[a, b]) for a, b in product(*counts[:2])
        )
        return together + sum(float(own.max()) for own in self.alone[2:])


Method = Callable[[Truth, int, int], Setting]


def anything(setting: Setting) -> bool:
    return True


def truth(seed: int, *, effects: float = 1.0) -> Truth:
    """Draw a surface."""
    dice = np.random.default_rng(seed)
    options: list[Option] = []
    alone: list[Floats] = []
    for n in range(int(dice.integers(4, 9))):
        count = int(dice.integers(2, 6))
        scale = tuple(float(x) for x in np.linspace(0, 1, count)) if dice.random() < 0.5 else ()
        options.append(Option(f"option {n}", tuple(range(count)), int(dice.integers(count)), scale))
        matters = effects * EFFECT_RATIO * (dice.random() < MATTERS_SHARE)
        drawn = -4 * (np.array(scale) - dice.random()) ** 2 if scale else dice.standard_normal(count)
        spread = float(np.std(drawn)) or 1.0
        alone.append(matters * (drawn - drawn.mean()) / spread)
    shape = (len(options[0].values), len(options[1].values))
    return Truth(
        OptionSpace(tuple(options)),
        tuple(alone),
        effects * TOGETHER_RATIO * dice.standard_normal(shape),
        dice,
    )


def random_search(of: Truth, blocks_count: int, seed: int) -> Setting:
    """Measure different settings once each."""
    settings = of.space.spread(blocks_count, anything, np.random.default_rng(seed))
    return settings[int(np.argmax(of.measured(settings)))]


def halving(of: Truth, blocks_count: int, seed: int) -> Setting:
    """Measure half as many settings as there are blocks, then again the better half of them, and so on:
    means of all values.
    """
    left = of.space.spread(max(2, blocks_count // 2), anything, np.random.default_rng(seed))
    values: dict[Setting, list[float]] = {one: [] for one in left}
    while True:
        for one, value in zip(left, of.measured(left), strict=True):
            values[one].append(value)
        left.sort(key=lambda one: -float(np.mean(values[one])))
        if len(left) == 1:
            return left[0]
        left = left[: -(-len(left) // 2)]
        if len(left) == 1:
            return left[0]


def optuna_search(optuna: Any, of: Truth, blocks_count: int, seed: int, *, together: bool) -> Setting:
    """Ask Optuna for one setting after the other, and take the one of its best trial."""
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed, multivariate=together)
    )
    options = of.space.options
    study.enqueue_trial({option.name: option.default for option in options})
    settings: list[Setting] = []
    for _ in range(blocks_count):
        trial = study.ask()
        chosen = tuple(
            trial.suggest_int(one.name, 0, len(one.values) - 1)
            if one.places
            else trial.suggest_categorical(one.name, range(len(one.values)))
            for one in options
        )
        settings.append(chosen)
        study.tell(trial, of.measured([chosen])[0])
    return settings[study.best_trial.number]


def optuna_methods() -> dict[str, Method]:
    """Return its samplers; nothing if it is not installed."""
    try:
        optuna: Any = importlib.import_module("optuna")  # beside, for comparison only
    except ImportError:
        print(
            "Optuna: not installed here (pip install optuna in an environment of its own, for this "
            "comparison)"
        )
        return {}
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    importlib.import_module("warnings").simplefilter("ignore")  # the second sampler is called experimental
    name = f"Optuna {optuna.__version__}"
    return {
        f"{name}, TPE": partial(optuna_search, optuna, together=False),
        f"{name}, TPE together": partial(optuna_search, optuna, together=True),
    }


def race(of: Truth, blocks_count: int, seed: int) -> Setting:
    """The race of `perjoule tune`."""
    return raced(of, RaceBudget(blocks_count, 3), seed)[0]


def raced(of: Truth, shared: RaceBudget, seed: int) -> tuple[Setting, int]:
    """Return the winner of a race, and the blocks that it took."""
    blocks: list[Block] = []
    todo, number = first_round(of.space, shared, anything, seed), 0
    while True:
        number += 1
        blocks += [Block(one, number, value) for one, value in zip(todo, of.measured(todo), strict=True)]
        now = standing(of.space, blocks, anything, seed)
        todo = next_round(now, shared, len(blocks))
        if not todo:
            return winner(of.space, now, anything), len(blocks)


def judged(of: Truth, best: Setting, count: int) -> str:
    """Compare a setting with the default by fresh trials in turns, as the final comparison does; "" if it
    is the default.
    """
    if best == of.space.default:
        return ""
    cells: list[Cell] = []
    for place, (label, setting) in enumerate(((DEFAULT, of.space.default), (TUNED, best))):
        values = [exp(of.value(setting) + of.dice.normal(0, of.noise_ratio)) for _ in range(count)]
        ran = tuple(Ran(n + 1, 20.0 * n + 10 * place, 20.0 * n + 10 * place + 5) for n in range(count))
        cells.append(Cell(label, "load", "write", 1, {METRIC: interval(values)}, ran=ran))
    found = gain(cells, METRIC)
    return found.word if found else ""


def main(runs_count: int) -> None:
    methods: dict[str, Method] = {
        "random search": random_search,
        "successive halving": halving,
        **optuna_methods(),
        "race": race,
    }
    print(f"regret over {runs_count} surfaces: median, mean, 90th percentile")
    for blocks_count in BLOCKS_COUNTS:
        for name, method in methods.items():
            regrets = [
                expm1(one.best() - one.value(method(one, blocks_count, n)))
                for n in range(runs_count)
                for one in [truth(n)]
            ]
            middle, high = (np.quantile(regrets, q) for q in (0.5, 0.9))
            print(f"{blocks_count:3} blocks  {name:26}  {middle:6.1%} {np.mean(regrets):6.1%} {high:6.1%}")
    for effects, what in ((0.0, "no effect"), (1.0, "effects")):
        shared, ends = budget(40, 1), list[str]()
        used: list[int] = []
        for n in range(runs_count):
            one = truth(n, effects=effects)
            best, used_count = raced(one, shared, n)
            ends.append(judged(one, best, shared.final_count))
            used.append(used_count)
        better = ends.count("better") / runs_count
        kept = ends.count("") / runs_count
        print(
            f"40 trials, {what}: {better:.1%} end in a gain, {kept:.0%} keep the default without a "
            "comparison;",
            end=" ",
        )
        print(f"the race took {np.mean(used):.1f} of {shared.search_count} blocks")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
