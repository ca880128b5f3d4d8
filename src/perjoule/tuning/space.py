"""The space of a tuning: options with the values to try, and settings, which take one value of each."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from perjoule.model import Json

Setting = tuple[int, ...]  # which value each option takes
Floats = NDArray[np.float64]
Allowed = Callable[[Setting], bool]
MOST_CANDIDATES = 400  # of a larger space, this many settings are compared
_REACH = 0.5  # distance on a scale of 0 to 1 at which two values have a correlation of 1/e
_UNLIKE = 0.4  # correlation of two choices, in what options do only together
_TRIES_COUNT = 50  # for one setting that is allowed


@dataclass(frozen=True)
class Option:
    """An option and its values."""

    name: str  # as people say it: "client_cache", "volume.client.event-threads", "testbed.power.cpu_governor"
    values: tuple[Json, ...]  # as a campaign writes them; None: it does not set the option
    default: int  # which of them the campaign has
    places: tuple[float, ...] = ()  # of the values on a scale of 0 to 1; (): choices
    less_durable: dict[int, str] = field(default_factory=dict[int, str])  # value -> what may be lost with it

    def likeness(self) -> Floats:
        """Return the correlation of the effects of every two values: by distance on a scale, none between
        choices.
        """
        if not self.places:
            return np.eye(len(self.values))
        places = np.asarray(self.places)
        return np.exp(-np.abs(places[:, None] - places[None, :]) / _REACH)


def places(numbers: Sequence[float]) -> tuple[float, ...]:
    """Place positive numbers on a logarithmic scale from 0 (the smallest) to 1."""
    logs = [math.log(number) for number in numbers]
    span = max(logs) - min(logs)
    return tuple((log - min(logs)) / span if span else 0.0 for log in logs)


@dataclass(frozen=True)
class OptionSpace:
    """All options."""

    options: tuple[Option, ...]

    @property
    def default(self) -> Setting:
        """The campaign's own setting."""
        return tuple(option.default for option in self.options)

    @property
    def count(self) -> int:
        """The number of settings."""
        return math.prod(len(option.values) for option in self.options)

    def likeness(self) -> tuple[Floats, ...]:
        """Return the correlations within each option."""
        return tuple(option.likeness() for option in self.options)

    def joint_likeness(self) -> tuple[Floats, ...]:
        """Return the factors of the correlation of whole settings, for what options do only together."""
        return tuple(
            np.maximum(likeness, _UNLIKE) if not o.places else likeness
            for o, likeness in zip(self.options, self.likeness(), strict=True)
        )

    def neighbours(self, setting: Setting) -> list[Setting]:
        """Return the settings that differ in one option."""
        return [
            (*setting[:n], value, *setting[n + 1 :])
            for n, option in enumerate(self.options)
            for value in range(len(option.values))
            if value != setting[n]
        ]

    def candidates(
        self, near: Sequence[Setting], allowed: Allowed, dice: np.random.Generator
    ) -> list[Setting]:
        """Return the settings to compare: all of a small space; of a large one those near to good ones,
        and random ones.
        """
        if self.count <= MOST_CANDIDATES:
            settings = list(product(*(range(len(option.values)) for option in self.options)))
        else:
            settings = [*near, *(neighbour for setting in near for neighbour in self.neighbours(setting))]
            settings = list(dict.fromkeys(settings))[:MOST_CANDIDATES]
            settings += [self.random(dice) for _ in range(MOST_CANDIDATES - len(settings))]
        return [setting for setting in dict.fromkeys(settings) if allowed(setting)]

    def random(self, dice: np.random.Generator) -> Setting:
        """Draw a setting."""
        return tuple(int(dice.integers(len(option.values))) for option in self.options)

    def spread(self, count: int, allowed: Allowed, dice: np.random.Generator) -> list[Setting]:
        """Return different settings, the default first, in which each value of an option is about as frequent
        as the others.

        Fewer if the space has no more that are allowed.
        """
        columns = [_dealt(len(option.values), count, dice) for option in self.options]
        settings = {self.default: True}
        for row in zip(*columns, strict=True):
            setting, tries = tuple(row), 0
            while (setting in settings or not allowed(setting)) and tries < _TRIES_COUNT:
                setting, tries = self.random(dice), tries + 1
            if tries < _TRIES_COUNT and len(settings) < count:
                settings[setting] = True
        return list(settings)


def _dealt(values_count: int, count: int, dice: np.random.Generator) -> list[int]:
    """Deal the values of an option in rounds, each in a random order."""
    rounds = -(-count // values_count)
    return [int(value) for _ in range(rounds) for value in dice.permutation(values_count)][:count]
