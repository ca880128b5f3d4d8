"""Meters of the same devices: what one shows and others don't, and where they disagree by more than their
errors.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import hypot

from perjoule.energy.choosing import GRADES, REAL
from perjoule.energy.contradictions import margin_j, names
from perjoule.energy.coverage import Signed, differences, items, rivals
from perjoule.energy.power import joules
from perjoule.energy.quantities import both_quantities
from perjoule.energy.terms import budget
from perjoule.model import Channel
from perjoule.model.doubts import METERS, Doubt
from perjoule.trial.reading import Reading

SUPPLY_RATIO = 0.25  # that a supply may lose: by so much a meter behind it may show less than one at the wall


@dataclass(frozen=True)
class Unexplained:
    """The difference between a meter and others that cover the same devices, in watts; `parts` are their
    channels' names.
    """

    total: str
    parts: tuple[str, ...]
    total_w: float
    parts_w: float


def unexplained(reading: Reading, began_s: float, ended_s: float) -> tuple[Unexplained, ...]:
    """Compare every meter with others that cover the same devices, alone or together; refused energies are
    not compared.
    """
    differences_w: list[Unexplained] = []
    for total, parts, _ in _same(reading, REAL):
        total_j, parts_j = (
            joules(reading.signed(signed), began_s, ended_s) for signed in (((1, total),), parts)
        )
        if total_j is not None and parts_j is not None:
            length_s, part_names = ended_s - began_s, tuple(channel.name for _, channel in parts)
            differences_w.append(Unexplained(total.name, part_names, total_j / length_s, parts_j / length_s))
    return tuple(differences_w)


def disagreements(reading: Reading, began_s: float, ended_s: float) -> tuple[Doubt, ...]:
    """Doubt meters of the same devices whose energies differ by more than their errors, and quantities of
    one meter that do.
    """
    pairs = (
        *_same(reading, (*REAL, "simulated")),
        *((counter, ((1, power),), True) for counter, power in both_quantities(reading.powers)),
    )
    return tuple(_apart(reading, pairs, began_s, ended_s))


def _same(reading: Reading, grades: Sequence[str]) -> Iterator[tuple[Channel, Signed, bool]]:
    """List channels with others that add up to the same devices, and whether these are one meter's, which
    should agree.
    """
    metering = reading.metering
    among = items(
        [channel for channel in metering.comparable if channel.grade in grades],
        metering.roles.cluster,
        switch=True,
    )
    yield from ((total, parts, False) for total, parts in differences(among))
    yield from ((total, parts, True) for total, parts in rivals(among, GRADES))


def _apart(
    reading: Reading, pairs: Iterable[tuple[Channel, Signed, bool]], began_s: float, ended_s: float
) -> Iterator[Doubt]:
    """Doubt meters that disagree by more than their errors.

    Args:
        reading: of the trial.
        pairs: a channel, the channels that add up to the same devices, and whether they should agree; else
            these may be less.
        began_s: begin of the window, seconds.
        ended_s: its end.

    A meter of a worse grade may be behind the supply, and show less by what that loses. Of the channels of
    the same meters, the two that are farthest apart are named, and the others counted.
    """
    pairs_apart: dict[tuple[str, ...], list[tuple[float, Callable[..., Doubt]]]] = {}
    for total, parts, same in pairs:
        measured = budget(reading.series_of(total), began_s, ended_s)
        candidates = [(sign, budget(s, began_s, ended_s)) for sign, s in reading.signed(parts)]
        budgets = [(sign, energy) for sign, energy in candidates if energy is not None]
        if measured is None or len(budgets) < len(candidates):
            continue
        parts_j = sum(sign * energy.value_j for sign, energy in budgets)
        # one kind of meter errs one way
        error_j = hypot(margin_j(measured), sum(margin_j(energy) for _, energy in budgets))
        less_j = measured.value_j - parts_j
        place, places = GRADES.index(total.grade), [GRADES.index(channel.grade) for _, channel in parts]
        total_lost_j = SUPPLY_RATIO * parts_j if place > min(places) else 0.0
        parts_lost_j = SUPPLY_RATIO * measured.value_j if max(places) > place else 0.0
        if less_j < -error_j - total_lost_j or (same and less_j > error_j + parts_lost_j):
            length_s = ended_s - began_s
            power_w, others_w, error_w = (
                energy_j / length_s for energy_j in (measured.value_j, parts_j, error_j)
            )
            doubt = partial(
                METERS.apart, channel=total.name, power_w=power_w, channels=names(parts), others_w=others_w
            )
            meters = (total.meter, *sorted({channel.meter for _, channel in parts}), total.quantity)
            pairs_apart.setdefault(meters, []).append((abs(less_j), partial(doubt, error_w=error_w)))
    for apart in pairs_apart.values():
        _, farthest = max(apart, key=lambda pair: (pair[0], pair[1](more_count=0)))
        yield farthest(more_count=len(apart) - 1)
