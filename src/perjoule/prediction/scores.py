"""How good predictions are, from tests on points that a fit had not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1, log
from typing import Literal

import numpy as np

from perjoule.model.format import percent
from perjoule.prediction.published import Published
from perjoule.prediction.validation import LEVELS, Level, Test, quantile_ratio
from perjoule.statistics.ranks import tau_b

BAND_RATIO = 0.9
_MODELS = {  # as `Test.others_bytes_per_s` names them
    "constant": "a constant rate of each client",
    "linear": "a straight line over clients",
    "USL": "the USL over clients",
    "bound": "a constant share of the bound",
}


@dataclass(frozen=True)
class Score:
    """Errors at one level, each |predicted / measured - 1|."""

    level: Level | Literal["published"]
    count: int
    median_ratio: float
    p90_ratio: float
    # share of points inside a 90 % band: that of the prediction (published), or that all others' errors give
    held_ratio: float
    power_skill_ratio: float | None  # 1 - squared errors of dynamic watts / those of constant power
    order_tau: float | None  # Kendall's tau-b of predicted and measured throughput
    simpler: Mapping[str, float]  # median errors of simpler models
    # of published ones: the share inside their bands without what another machine adds
    emulated_held_ratio: float | None = None


@dataclass(frozen=True)
class Rival:
    """A simpler model that erred no more than the law about points left out: medians of |predicted / measured
    - 1| over all levels.
    """

    model: str  # as `Test.others_bytes_per_s` names it
    model_ratio: float
    law_ratio: float

    @property
    def text(self) -> str:
        """Say that the law has no skill, by both errors."""
        return (
            f"of points left out the law errs by {percent(self.law_ratio, 1)} % (median), {_MODELS[self.model]} "
            f"by {percent(self.model_ratio, 1)} %"
        )


def rival(tests: Sequence[Test]) -> Rival | None:
    """Return the best of the simpler models if it erred no more than the law; None if the law was better than
    each of them.

    Args:
        tests: of one direction of one file system.
    """
    errors = {
        model: float(np.median([_off(test, model) for test in tests]))
        for model in _MODELS
        if tests and all(model in test.others_bytes_per_s for test in tests)
    }
    if not errors:
        return None
    law_ratio = float(
        np.median([abs(test.predicted_bytes_per_s / test.measured_bytes_per_s - 1) for test in tests])
    )
    best = min(errors, key=lambda model: errors[model])
    return Rival(best, errors[best], law_ratio) if errors[best] <= law_ratio else None


def scores(groups: Sequence[Sequence[Test]]) -> tuple[Score, ...]:
    """Score tests by level.

    Args:
        groups: tests of one direction of one file system each: bands come from a group's own errors.
    """
    return tuple(
        _score(level, held) for level in LEVELS if any(held := [_at(level, group) for group in groups])
    )


def _at(level: Level, group: Sequence[Test]) -> list[Test]:
    return [test for test in group if test.level == level]


def _score(level: Level, groups: Sequence[Sequence[Test]]) -> Score:
    tests = [test for group in groups for test in group]
    errors = np.array([abs(expm1(test.error)) for test in tests])
    held = [inside for group in groups for inside in _held(group)]
    said, told = [t.predicted_bytes_per_s for t in tests], [t.measured_bytes_per_s for t in tests]
    names = tests[0].others_bytes_per_s
    return Score(
        level=level,
        count=len(tests),
        median_ratio=float(np.median(errors)),
        p90_ratio=float(np.quantile(errors, 0.9)),
        held_ratio=float(np.mean(held)) if held else float("nan"),
        power_skill_ratio=skill(tests),
        order_tau=tau_b(said, told),
        simpler={name: float(np.median([_off(test, name) for test in tests])) for name in names},
    )


def published_score(found: Sequence[Published]) -> Score:
    """Score what profiles say of published clusters, by each prediction's own band.

    Papers print no watts beside these rates.
    """
    by_profile = [one for one in found if one.basis == "profile"]
    errors = [abs(expm1(one.error)) for one in by_profile if one.error is not None]
    valued = [one for one in by_profile if one.value_bytes_per_s is not None]
    return Score(
        level="published",
        count=len(by_profile),
        median_ratio=float(np.median(errors)),
        p90_ratio=float(np.quantile(errors, 0.9)),
        held_ratio=float(np.mean([one.held is True for one in by_profile])),
        power_skill_ratio=None,
        order_tau=tau_b(
            [one.value_bytes_per_s or 0.0 for one in valued], [one.printed_bytes_per_s for one in valued]
        ),
        simpler=_simpler(by_profile),
        emulated_held_ratio=float(np.mean([one.emulated_held is True for one in by_profile])),
    )


def _simpler(by_profile: Sequence[Published]) -> Mapping[str, float]:
    """Return median errors of the median rate for each server, and the median share of the bound, that the
    other clusters have in a direction.
    """
    found: dict[str, list[float]] = {"constant": [], "bound": []}
    for one in by_profile:
        others = [o for o in by_profile if o.cluster != one.cluster and o.direction == one.direction]
        pers = {"constant": _servers, "bound": _bound}
        for name, per in pers.items():
            if others:
                share = float(np.median([o.printed_bytes_per_s / per(o) for o in others]))
                found[name].append(abs(share * per(one) / one.printed_bytes_per_s - 1))
    return {name: float(np.median(own)) for name, own in found.items() if own}


def _servers(one: Published) -> float:
    return one.servers_count


def _bound(one: Published) -> float:
    return one.bound_bytes_per_s or float("nan")


def _off(test: Test, name: str) -> float:
    return abs(test.others_bytes_per_s[name] / test.measured_bytes_per_s - 1)


def _held(group: Sequence[Test]) -> list[bool]:
    """Return, for each test, whether a band made of the others' errors holds it; tests with too few others
    count for nothing.
    """
    found: list[bool] = []
    for number, test in enumerate(group):
        ratio = quantile_ratio(
            [other.error for place, other in enumerate(group) if place != number], BAND_RATIO
        )
        if np.isfinite(ratio):
            found.append(abs(test.error) <= log(ratio))
    return found


def skill(tests: Sequence[Test]) -> float | None:
    """Return 1 - (sum of squared errors of predicted dynamic power) / (that of constant power); None
    without power.
    """
    known = [(t.measured_dynamic_w, t) for t in tests if t.measured_dynamic_w is not None]
    wrong = sum((t.predicted_dynamic_w - measured_w) ** 2 for measured_w, t in known)
    constant = sum((t.constant_dynamic_w - measured_w) ** 2 for measured_w, t in known)
    return 1 - wrong / constant if constant else None
