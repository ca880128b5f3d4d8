"""The response surface of a tuning: what measured settings say about all settings.

A measured block is modelled, on a logarithmic scale, as a sum of independent normal terms: a constant, an
effect of each option alone, one of all options together, one of the round in which it was measured, and
noise. That is a Gaussian process whose covariance is the sum of those of its terms; the standard deviation of
each term is the most probable one, on a grid, under a wide prior. An additive model says which option does
what, from few trials.

    C. E. Rasmussen, C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press (2006), chapters
    2.2 and 5.4 D. Duvenaud, H. Nickisch, C. E. Rasmussen, Additive Gaussian Processes, NIPS (2011),
    https://arxiv.org/abs/1112.4394
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perjoule.tuning.space import Floats, OptionSpace, Setting

GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # standard deviations, relative
_CONSTANT = 1.0  # standard deviation about the mean of what was measured
_SWEEPS_COUNT = 3
_ROUNDING = 1e-10  # of a variance, added to keep a covariance positive definite
_Indices = NDArray[np.intp]


class Block(NamedTuple):
    """The objective of a setting, measured once: all workloads and numbers of clients."""

    setting: Setting
    round: int
    value: float  # mean logarithm, higher is better


class Prior(NamedTuple):
    """A log-normal prior of a standard deviation."""

    centre: float
    spread: float  # of its natural logarithm

    def log_density(self, deviation: float) -> float:
        """Return the logarithm of its density, but for a constant."""
        return -((log(deviation / self.centre) / self.spread) ** 2) / 2


OPTION, TOGETHER, ROUND, NOISE = Prior(0.03, 1.5), Prior(0.01, 1.0), Prior(0.003, 1.0), Prior(0.02, 1.0)


@dataclass(frozen=True)
class Effect:
    """The effects of an option's values, relative to each other: means and covariance of logarithms."""

    mean: Floats
    covariance: Floats

    def contrast(self, first: int, second: int) -> tuple[float, float]:
        """Return the difference of two values, and its standard deviation."""
        cov = self.covariance
        variance = cov[first, first] + cov[second, second] - 2 * cov[first, second]
        return float(self.mean[first] - self.mean[second]), float(np.sqrt(max(0.0, variance)))


class Surface:
    """The posterior of the objective over settings."""

    def __init__(self, space: OptionSpace, blocks: Sequence[Block]) -> None:
        """Fit it. Raises ValueError: nothing was measured."""
        if not blocks:
            raise ValueError("a surface needs at least one block")
        self._alone, self._together = space.likeness(), space.joint_likeness()
        self._x = np.array([block.setting for block in blocks], dtype=np.intp)
        rounds = np.array([block.round for block in blocks])
        values = np.array([block.value for block in blocks])
        self._offset = float(np.mean(values))
        self._y: Floats = values - self._offset
        parts = [
            *(likeness[np.ix_(self._x[:, n], self._x[:, n])] for n, likeness in enumerate(self._alone)),
            self._joint(self._x, self._x),
            (rounds[:, None] == rounds[None, :]).astype(float),
            np.eye(len(blocks)),
        ]
        self._parts: Floats = np.array(parts)
        priors = [OPTION] * len(self._alone) + [TOGETHER, ROUND, NOISE]
        self.deviations = self._most_probable(priors)
        self._lower: Floats = np.asarray(np.linalg.cholesky(self._covariance(self.deviations)), np.float64)
        self._weights: Floats = _solved(self._lower.T, _solved(self._lower, self._y))

    @property
    def blocks_count(self) -> int:
        """The number of blocks that it rests on."""
        return len(self._y)

    def mean(self, settings: Sequence[Setting]) -> Floats:
        """Return the expected value of each setting."""
        return self._offset + self._between(settings) @ self._weights

    def posterior(self, settings: Sequence[Setting]) -> tuple[Floats, Floats]:
        """Return the expected value of each setting, and the covariance of what they could be."""
        x, across = np.array(settings, dtype=np.intp), self._between(settings)
        half = self._halved(across)
        return self._offset + across @ self._weights, self._prior(x, x) - half.T @ half

    def effect(self, option: int) -> Effect:
        """Return the effects of an option's values by themselves."""
        variance, likeness = self.deviations[option] ** 2, self._alone[option]
        across = variance * likeness[:, self._x[:, option]]
        half = self._halved(across)
        return Effect(across @ self._weights, variance * likeness - half.T @ half)

    def _halved(self, across: Floats) -> Floats:
        return _solved(self._lower, across.T)

    def _between(self, settings: Sequence[Setting]) -> Floats:
        """Return the covariance of settings with the measured blocks."""
        return self._prior(np.array(settings, dtype=np.intp), self._x)

    def _prior(self, rows: _Indices, columns: _Indices) -> Floats:
        covariance = np.full((len(rows), len(columns)), _CONSTANT**2)
        for n, (deviation, likeness) in enumerate(zip(self.deviations, self._alone, strict=False)):
            covariance += deviation**2 * likeness[np.ix_(rows[:, n], columns[:, n])]
        return covariance + self.deviations[-3] ** 2 * self._joint(rows, columns)

    def _joint(self, rows: _Indices, columns: _Indices) -> Floats:
        likeness_product = np.ones((len(rows), len(columns)))
        for n, likeness in enumerate(self._together):
            likeness_product *= likeness[np.ix_(rows[:, n], columns[:, n])]
        return likeness_product

    def _covariance(self, deviations: Sequence[float]) -> Floats:
        """Return the covariance of the measured blocks."""
        return jittered(_CONSTANT**2 + np.tensordot(np.square(deviations), self._parts, 1))

    def _log_likelihood(self, deviations: Sequence[float]) -> float:
        lower = np.asarray(np.linalg.cholesky(self._covariance(deviations)), np.float64)
        scaled = _solved(lower, self._y)
        return float(-scaled @ scaled / 2 - np.sum(np.log(np.diag(lower))))

    def _most_probable(self, priors: Sequence[Prior]) -> list[float]:
        """Return the most probable deviations on the grid, one changed at a time."""
        deviations = [min(GRID, key=lambda deviation: abs(log(deviation / prior.centre))) for prior in priors]
        for _ in range(_SWEEPS_COUNT):
            before = list(deviations)
            for n, prior in enumerate(priors):
                scores = [
                    self._log_likelihood([*deviations[:n], deviation, *deviations[n + 1 :]])
                    + prior.log_density(deviation)
                    for deviation in GRID
                ]
                deviations[n] = GRID[int(np.argmax(scores))]
            if deviations == before:
                break
        return deviations


def jittered(covariance: Floats) -> Floats:
    """Return a covariance that rounding does not keep from having a root."""
    return covariance + _ROUNDING * float(np.max(np.diag(covariance))) * np.eye(len(covariance))


def _solved(matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrix, right), np.float64)
