"""Readings of records and series made to order, where the window of the numbers also chooses the channels;
and points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perjoule.energy.power import Boundaries
from perjoule.model import Direction, Doubt, Number, Numbers, Point, Record, Series, Trial
from perjoule.model.metrics import ENERGY, PREFIXES
from perjoule.trial.reading import Reading


def over(record: Record, series: Sequence[Series], began_s: float = 10.0, ended_s: float = 20.0) -> Reading:
    """Read a trial whose channels this window chooses."""
    return Reading(record, series, (began_s, ended_s))


def servers_energy(record: Record, series: Sequence[Series], began_s: float, ended_s: float) -> Boundaries:
    """Return the energy of the servers in a window, by the channels that are best in it."""
    return over(record, series, began_s, ended_s).servers(began_s, ended_s)


def point_of(
    trial: Trial,
    direction: Direction,
    metrics: Mapping[str, float],
    doubts: tuple[Doubt, ...] = (),
    grade: str = "",
    omitted: Mapping[str, str] | None = None,
    shared: Mapping[str, Mapping[str, float]] | None = None,
) -> Point:
    """Make a point of values, with the grade of its servers' energy, why boundaries lack one, and what
    repetitions share.
    """
    numbers = dict(Numbers.plain(metrics).by_key)
    for boundary, why in (omitted or {}).items():
        numbers[f"{PREFIXES[boundary]}{ENERGY}"] = Number(why_not=why)
    if grade:
        numbers[ENERGY] = replace(numbers.get(ENERGY, Number()), grade=grade)
    numbers |= {key: replace(numbers[key], shared=errors) for key, errors in (shared or {}).items()}
    return Point(numbers, doubts, trial=trial, direction=direction)
