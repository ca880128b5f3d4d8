"""Idle power, before and after a load, and dynamic energy.

    gross     everything in the boundary, including the switch
    net       the servers without the switch
    dynamic   net without the same servers' idle power: E - P_b * T, u^2 = u^2(E) + (T * u(P_b))^2

A meter's offset is in both and cancels. A wrong factor does not, nor does what lies between the steps that it
shows: idle power and load stand on different ones. If idle power changed from before to after,
any power between counts as equally likely. One window alone would hide that change, and give one trial of a
row another definition than the next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, sqrt
from statistics import fmean

import numpy as np

from perjoule.energy.budget import LARGE_RATIO, Budget, Term, combined
from perjoule.energy.coverage import SignedSeries
from perjoule.energy.integral import Integral, integral
from perjoule.energy.noise import independent
from perjoule.energy.samples import Floats
from perjoule.energy.terms import budget
from perjoule.model import Record

OMITTED = "dynamic energy omitted: idle-power uncertainty exceeds 20 % of the added energy"
UNSETTLED = (
    "dynamic energy omitted: idle power is not known both before and after the load (a longer settle, or a "
    "faster meter)"
)
STATED = "stated number"  # that stands for a part
STEADY = ("accuracy", STATED)  # errors that are the same in all windows


@dataclass(frozen=True)
class IdlePower:
    """Idle power of a boundary, with its standard uncertainty except for what is wrong alike under load."""

    mean_w: float
    standard_w: float
    windows: tuple[tuple[float, float], ...]  # before and after the load
    step_w: float = 0.0  # standard uncertainty by a resolution, alike in both windows, beside `standard_w`


def idle_windows(record: Record) -> tuple[tuple[float, float], ...]:
    """Return the idle windows of a trial: its baseline, and as much of its tail's end (at most half of
    it), when all was idle.
    """
    phases = {
        p.name: (p.began_s, p.ended_s)
        for p in record.phases
        if p.name in ("baseline", "tail") and p.ended_s > p.began_s
    }
    if "baseline" not in phases:
        return ()
    before = phases["baseline"]
    if "tail" not in phases:
        return (before,)
    began_s, ended_s = phases["tail"]
    return before, (ended_s - min(before[1] - before[0], (ended_s - began_s) / 2), ended_s)


def idle(record: Record, parts: SignedSeries) -> IdlePower | None:
    """Return the idle power of channels with signs; None if it is not known before the load or after it."""
    windows = idle_windows(record)
    if not parts or len(windows) < 2:
        return None
    means, steps_w = list[tuple[float, float]](), list[float]()
    for began_s, ended_s in windows:
        length_s = ended_s - began_s
        budgets = [
            (sign, energy)
            for sign, series in parts
            if (energy := budget(series, began_s, ended_s)) is not None
        ]
        if len(budgets) < len(parts):
            return None
        total = combined(
            [
                (sign, replace(energy, terms=tuple(t for t in energy.terms if t.name not in STEADY)))
                for sign, energy in budgets
            ]
        )
        scatter_w = hypot(*(_scatter_w(rates(integral(series), began_s, ended_s)) for _, series in parts))
        steps_w.append(hypot(*(t.standard_j for t in total.terms if t.repeated)) / length_s)
        own_w = hypot(*(t.standard_j for t in total.terms if not t.repeated)) / length_s
        means.append((total.value_j / length_s, hypot(own_w, scatter_w)))
    watts = [mean_w for mean_w, _ in means]
    error_w = hypot(*(standard_w for _, standard_w in means)) / len(means)
    changed_w = (max(watts) - min(watts)) / sqrt(12)
    return IdlePower(fmean(watts), hypot(error_w, changed_w), windows, fmean(steps_w))


def dynamic(energy: Budget, without: IdlePower, length_s: float) -> Budget | None:
    """Subtract idle energy; None if the rest is less than five times its standard uncertainty."""
    left_j = energy.value_j - without.mean_w * length_s
    terms: list[Term] = []
    steps_j = [length_s * without.step_w]
    for term in energy.terms:
        if term.repeated:
            steps_j.append(term.standard_j)
        elif term.name == "accuracy":
            if term.factor_j:
                factor_j = term.factor_j * abs(left_j / energy.value_j)
                terms.append(replace(term, standard_j=factor_j, factor_j=factor_j))
        elif not term.source and term.name != STATED:
            # a coefficient of modelled watts means another thing to what a load adds, and a constant nothing
            terms.append(term)
    terms.append(Term("baseline", length_s * without.standard_w))
    if any(steps_j):
        meter = next((term.meter for term in energy.terms if term.meter), "")
        terms.append(Term("resolution", hypot(*steps_j), meter, repeated=True))
    difference = Budget(left_j, tuple(terms), energy.unknown)
    return difference if difference.standard_j <= LARGE_RATIO * left_j else None


def rates(curve: Integral, began_s: float, ended_s: float) -> Floats:
    """Return the rates of a series within a window: its samples, or a counter's steps."""
    if curve.channel.semantics != "counter":
        return curve.inside(began_s, ended_s)[1]
    t_s = curve.samples.t_s
    low, high = int(np.searchsorted(t_s, began_s)), int(np.searchsorted(t_s, ended_s))
    pieces = curve.pieces(np.arange(max(low, 1), min(high + 1, len(t_s))))
    return pieces.first_rate[pieces.length_s > 0]


def _scatter_w(values: Sequence[float] | Floats) -> float:
    """Return the uncertainty of the mean of correlated samples as that of all idle time."""
    if len(values) < 2:
        return 0.0
    spread, count, _ = independent(np.asarray(values))
    return spread / sqrt(count)
