"""Energy proportionality: power against load, of cells that differ only in the share of the maximum.

    ideal      power in proportion to load, through the power at 100 %: load x W(100 %)
    EP         2 - 2 x (mean over all loads of W / W(100 %)): 1 if ideal, 0 if power does not depend on load
    area       mean over all loads of W - ideal
    gap        at one load: (W - ideal) / W(100 %)

The idea is from L. A. Barroso, U. Hoelzle, The case for energy-proportional computing, IEEE Computer 40
(2007), https://doi.org/10.1109/MC.2007.443; EP from F. Ryckbosch, S. Polfliet, L. Eeckhout, Trends in server
energy proportionality, IEEE Computer 44 (2011), https://doi.org/10.1109/MC.2011.268; the gap from D. Wong, M.
Annavaram, KnightShift, MICRO 2012, https://doi.org/10.1109/MICRO.2012.20.

A load is the share that was reached, divided by that of the 100 % level. Means over loads are by the
trapezoidal rule between the levels. Each repetition is a curve of its own; intervals are over repetitions.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perjoule.model import Cell, Interval
from perjoule.model.metrics import (
    ABOVE_IDEAL,
    ASKED_LOAD,
    DURATION,
    ENERGY,
    GAP,
    IDLE_PEAK,
    PER_BYTE,
    POWER,
    PROPORTIONALITY,
    RATES,
    REACHED_LOAD,
)
from perjoule.statistics.stopping import stopped_interval, widening_of

_LOAD = re.compile(r" ?\bload \S+(?: %)?")  # what a level adds to the name of its workload


@dataclass(frozen=True)
class Level:
    """One share of the maximum."""

    cell: Cell
    asked_ratio: float
    load: Interval  # reached, over that of 100 %
    gap: Interval | None  # None without 100 %
    energy_per_byte: Interval | None  # J/B


@dataclass(frozen=True)
class Proportionality:
    """One file system's power against load."""

    filesystem: str
    workload: str
    clients_count: int
    grade: str
    levels: tuple[Level, ...]  # the lowest load first
    # "proportionality_ratio", "idle_peak_ratio", "area_w"; empty without 0 % and 100 %
    numbers: Mapping[str, Interval]
    refused: str = ""  # why they are missing


def proportionality(cells: Sequence[Cell]) -> tuple[Proportionality, ...]:
    """Join the cells of paced loads that differ only in the share; empty if no load has several shares."""
    grouped: dict[tuple[str, str, int], dict[float, Cell]] = {}
    for cell in cells:
        if {ASKED_LOAD, REACHED_LOAD, POWER} <= cell.metrics.keys():
            key = (cell.filesystem, _LOAD.sub("", cell.workload), cell.clients_count)
            grouped.setdefault(key, {})[cell.metrics[ASKED_LOAD].mean] = cell
    return tuple(
        _joined(*key, [loads[share] for share in sorted(loads)])
        for key, loads in grouped.items()
        if len(loads) > 1
    )


def with_proportionality(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Add what follows from several loads: the gap and J/B to the cell of each, and the curve's numbers to
    that of 100 %.
    """
    more: dict[int, dict[str, Interval]] = {}
    for load in proportionality(cells):
        for level in load.levels:
            at_level = {GAP: level.gap, PER_BYTE: level.energy_per_byte}
            more[id(level.cell)] = {
                key: interval for key, interval in at_level.items() if interval is not None
            }
        more[id(load.levels[-1].cell)] |= load.numbers
    return tuple(
        replace(cell, metrics={**cell.metrics, **more[id(cell)]}) if id(cell) in more else cell
        for cell in cells
    )


def _joined(filesystem: str, workload: str, clients_count: int, cells: Sequence[Cell]) -> Proportionality:
    common = frozenset[int].intersection(*(frozenset(ran.repetition for ran in cell.ran) for cell in cells))
    shares = [cell.metrics[ASKED_LOAD].mean for cell in cells]
    grades = sorted({cell.grade for cell in cells})
    refused = ""
    if shares[0] != 0 or shares[-1] != 1:
        refused = "proportionality needs a load of 0 % and one of 100 %"
    elif len(grades) > 1:
        refused = f"its power is of different grades ({', '.join(grades)})"
    elif any(
        len(cell.metrics[key].values) != len(cell.ran) for cell in cells for key in (REACHED_LOAD, POWER)
    ):
        refused = "not every repetition has power"
    elif not common:
        refused = "no repetition has all loads"
    curves = [] if refused else [_curve(cells, repetition) for repetition in sorted(common)]
    widening = widening_of(cells)

    def interval(values: Sequence[float]) -> Interval:
        return stopped_interval(values, widening)

    levels: list[Level] = []
    for number, cell in enumerate(cells):
        per_byte = _energies_per_byte(cell)
        levels.append(
            Level(
                cell,
                shares[number],
                interval([load[number] for load, _ in curves]) if curves else cell.metrics[REACHED_LOAD],
                interval([(watts[number] - load[number] * watts[-1]) / watts[-1] for load, watts in curves])
                if curves
                else None,
                interval(per_byte) if per_byte else None,
            )
        )
    numbers: dict[str, Interval] = {}
    if curves:
        means_w = [float(np.trapezoid(watts, load)) for load, watts in curves]
        peaks_w = [watts[-1] for _, watts in curves]
        both = list(zip(means_w, peaks_w, strict=True))
        numbers = {
            PROPORTIONALITY: interval([2 - 2 * mean_w / peak_w for mean_w, peak_w in both]),
            IDLE_PEAK: interval([watts[0] / watts[-1] for _, watts in curves]),
            ABOVE_IDEAL: interval([mean_w - peak_w / 2 for mean_w, peak_w in both]),
        }
    return Proportionality(
        filesystem, workload, clients_count, "+".join(grades), tuple(levels), numbers, refused
    )


def _curve(cells: Sequence[Cell], repetition: int) -> tuple[list[float], list[float]]:
    """Return loads, over that of the last cell, and watts of one repetition."""
    at = [next(n for n, ran in enumerate(cell.ran) if ran.repetition == repetition) for cell in cells]
    loads = [cell.metrics[REACHED_LOAD].values[n] for cell, n in zip(cells, at, strict=True)]
    return [load / loads[-1] for load in loads], [
        cell.metrics[POWER].values[n] for cell, n in zip(cells, at, strict=True)
    ]


def _energies_per_byte(cell: Cell) -> list[float]:
    if not {RATES[0], ENERGY, DURATION} <= cell.metrics.keys():
        return []
    each = [cell.metrics[key].values for key in (ENERGY, RATES[0], DURATION)]
    if len(set(map(len, each))) > 1:  # which repetition lacks joules is not known
        return []
    return [energy_j / (rate * time_s) for energy_j, rate, time_s in zip(*each, strict=True)]
