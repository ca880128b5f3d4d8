"""The end of a tuning: the gain by fresh trials, and what each option does by the model of the race."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite, log1p
from typing import Literal

from perjoule.model import Cell, Interval, Json
from perjoule.model.doubts import Doubt
from perjoule.model.format import number
from perjoule.results.table import total_ends
from perjoule.statistics.better import RELEVANT_RATIO, Judge, Verdict
from perjoule.tuning.objective import POWER, Objective
from perjoule.tuning.space import OptionSpace
from perjoule.tuning.study import DEFAULT, TUNED
from perjoule.tuning.surface import Surface

Matters = Literal["matters", "does not matter", "undecided"]
_NORMAL = 1.959964  # leaves 5 % outside, half on either side


@dataclass(frozen=True)
class Importance:
    """What an option does by itself, by the model of the race: an estimate beside the final comparison,
    not a result of it.
    """

    option: str
    best: Json  # its best value
    worst: Json
    # of the metric with the best value to that with the worst, the other options being the same
    ratio: Interval
    matters: Matters
    may_lose: str = ""  # with its best value


@dataclass(frozen=True)
class TuningOutcome:
    """What a tuning found."""

    objective: Objective
    winner: str  # the setting in words, with what may be lost with it
    changes: Mapping[str, Json]  # from the campaign's own setting
    gives_up: Mapping[str, str]  # what may be lost with it, by option
    # of the winner over the default, by fresh trials; None: no final comparison was worth it
    gain: Verdict | None
    repetitions_count: int  # of each in the final comparison
    power_w: Interval | None  # of the winner where it draws most, if the power has a limit
    importance: tuple[Importance, ...]
    settings_count: int  # that were tried
    failed: Mapping[str, str]  # settings that failed, in words -> why
    trials_count: int
    ended: str  # why the race did
    doubts: tuple[Doubt, ...] = ()

    @property
    def within(self) -> bool:
        """Whether the winner's power is below the limit, its whole interval with the meter's error; True
        without a limit.
        """
        limit_w = self.objective.limit_w
        return limit_w is None or (self.power_w is not None and self.power_w.high <= limit_w)

    @property
    def better(self) -> bool:
        """Whether the winner is significantly better than the default by a relevant factor, within the
        limit.
        """
        return self.gain is not None and self.gain.word == "better" and self.within

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        label = self.objective.metric.label
        if not self.changes:
            return "no gain: the race expects no other setting to be worth changing; keep the default"
        if self.gain is None:
            return f"no result: trials of the final comparison failed with {self.winner}; keep the default"
        ratio, fresh = self.gain.ratio, f"{self.repetitions_count} fresh trials of each, in turns"
        result = (
            f"{label} {ratio.mean:.3f} times the default's (95 % interval {ratio.low:.3f} to "
            f"{ratio.high:.3f}; {fresh})"
        )
        power = "" if self.power_w is None else f", {number(self.power_w.mean)} W ({_most(self.power_w)})"
        if self.better:
            return f"{self.winner}: {result}{power}, {self.gain.sentence('the default')}"
        why = (
            self.gain.sentence("the default")
            if self.within
            else f"not surely within {self.objective.limit_w:g} W"
        )
        return f"no gain: {self.winner}: {result}{power}, {why}; keep the default"


def _most(power_w: Interval) -> str:
    return (
        f"at most {number(power_w.high)} W"
        if isfinite(power_w.high)
        else "with an error that its meter does not state"
    )


def gain(cells: Sequence[Cell], metric: str) -> Verdict | None:
    """Judge the winner against the default by the one rule for "better", over all workloads with equal
    weights.

    None if one of the two has no valid trial of a workload that the other has.
    """
    of = {
        label: {_work(c): c for c in cells if c.filesystem == label and metric in c.metrics}
        for label in (DEFAULT, TUNED)
    }
    if not of[DEFAULT] or of[DEFAULT].keys() != of[TUNED].keys():
        return None
    return Judge(cells).judged([(of[TUNED][work], of[DEFAULT][work]) for work in of[DEFAULT]], metric, 1)


def power_w(cells: Sequence[Cell]) -> Interval | None:
    """Return the winner's mean power in the workload in which it may draw most, with its total interval."""
    powers = [
        replace(cell.metrics[POWER.key], low=low, high=high)
        for cell in cells
        if cell.filesystem == TUNED and POWER.key in cell.metrics
        for low, high in [total_ends(cell, POWER.key)]
    ]
    return max(powers, key=lambda power: power.high, default=None)


def importance(space: OptionSpace, surface: Surface, *, less_is_better: bool) -> tuple[Importance, ...]:
    """Return what each option does by itself, the most important first; undecided with too few blocks to
    know the scatter.
    """
    # parameters of an additive fit, and one
    least_count = 2 + sum(len(option.values) - 1 for option in space.options)
    importances: list[Importance] = []
    sizes: dict[str, float] = {}
    for n, option in enumerate(space.options):
        effect = surface.effect(n)
        best, worst = int(effect.mean.argmax()), int(effect.mean.argmin())
        if best == worst:  # nothing tells them apart
            best, worst = option.default, (option.default + 1) % len(option.values)
        size, error = effect.contrast(best, worst)
        count = len(option.values)
        pairs = (effect.contrast(first, second) for first in range(count) for second in range(first))
        most = max(abs(value) + _NORMAL * deviation for value, deviation in pairs)
        relevant = log1p(RELEVANT_RATIO)
        sure = size - _NORMAL * error > 0 and size >= relevant
        verdict: Matters = "matters" if sure else "does not matter" if most <= relevant else "undecided"
        matters: Matters = verdict if surface.blocks_count >= least_count else "undecided"
        sign = -1 if less_is_better else 1
        low, high = sorted(exp(sign * (size + by * _NORMAL * error)) for by in (-1, 1))
        ratio = Interval(exp(sign * size), low, high, (exp(sign * size),))
        lost = option.less_durable.get(best, "")
        importances.append(
            Importance(option.name, option.values[best], option.values[worst], ratio, matters, lost)
        )
        sizes[option.name] = size
    return tuple(sorted(importances, key=lambda entry: -sizes[entry.option]))


def _work(cell: Cell) -> tuple[str, int, str]:
    return cell.workload, cell.clients_count, cell.direction
