"""What it would take to change the ranking: the value of each quantity beyond which another design is best
at an aim.
"""

from dataclasses import dataclass

import numpy as np

from perjoule.catalogue.quantities import Quantity
from perjoule.planning.candidates import Space
from perjoule.planning.enumeration import Candidates, met, outcomes
from perjoule.planning.measures import AIMS, Measure
from perjoule.planning.need import Need
from perjoule.planning.quantities import Floats, Ints

_HALVINGS_COUNT = 24


@dataclass(frozen=True)
class Change:
    """Beyond a value of one quantity, all others as they are, another design of the front is best at an
    aim.
    """

    aim: str
    quantity: Quantity
    threshold: float  # in SI units
    above: bool
    best: str  # now
    then: str


def designs(space: Space, some: Candidates) -> tuple[Ints, list[str]]:
    """Number the designs of candidates: server, kind of disk, network, file system with its redundancy.

    Counts don't matter.
    """
    texts = [
        f"{server} with {drive}, {network}, {choice.text}"
        for (server, drive, network), choice in zip(
            (space.machines[int(n)].titles for n in some.machine),
            (space.choices[int(n)] for n in some.choice),
            strict=True,
        )
    ]
    names = list(dict.fromkeys(texts))
    return np.array([names.index(text) for text in texts]), names


def changes(space: Space, need: Need, some: Candidates) -> tuple[Change, ...]:
    """Try each end of each quantity's interval, and halve the way to where the best design changes.

    Only candidates of the front are compared, each only where it meets the need in that state of the world.
    Sorted by how near the threshold is to the value, as a share of the way to the interval's end.
    """
    numbers, names = designs(space, some)
    value = space.book.values
    ends = [
        (at, end)
        for at, quantity in enumerate(space.book.quantities)
        for end in (quantity.low, quantity.high)
        if end != quantity.value and quantity.value > 0
    ]
    place, end = np.array([at for at, _ in ends], dtype=np.intp), np.array([end for _, end in ends])
    best = _best(space, need, some, np.vstack([value, _moved(value, place, end, np.ones(len(ends)))]))
    turns: list[tuple[float, Change]] = []
    for aim, places in best.items():
        winners = numbers[places]
        turned = np.flatnonzero(winners[1:] != winners[0])
        low, high, then = np.zeros(len(turned)), np.ones(len(turned)), winners[1:][turned]
        for _ in range(_HALVINGS_COUNT if len(turned) else 0):
            middle = (low + high) / 2
            at_middle = numbers[
                _best(space, need, some, _moved(value, place[turned], end[turned], middle))[aim]
            ]
            same = at_middle == winners[0]
            low, high, then = (
                np.where(same, middle, low),
                np.where(same, high, middle),
                np.where(same, then, at_middle),
            )
        for row, share, successor in zip(turned.tolist(), high.tolist(), then.tolist(), strict=True):
            at, to = ends[row]
            quantity = space.book.quantities[at]
            threshold = quantity.value * (to / quantity.value) ** share
            turns.append(
                (
                    share,
                    Change(
                        aim.name,
                        quantity,
                        threshold,
                        to > quantity.value,
                        names[int(winners[0])],
                        names[int(successor)],
                    ),
                )
            )
    return tuple(change for _, change in sorted(turns, key=lambda pair: pair[0]))


def _moved(value: Floats, place: Ints, end: Floats, share: Floats) -> Floats:
    """Return worlds in which one quantity each has gone a share of the logarithmic way from its value to
    an end.
    """
    worlds = np.repeat(value[None, :], len(place), axis=0)
    worlds[np.arange(len(place)), place] = value[place] * (end / value[place]) ** share
    return worlds


def _best(space: Space, need: Need, some: Candidates, worlds: Floats) -> dict[Measure, Ints]:
    """Return the place of the best candidate by each aim in each world; all count where none meets the
    need.
    """
    computed = outcomes(space, need, some, worlds)
    meets = met(need, computed)
    meets |= ~np.any(meets, axis=1, keepdims=True)
    return {aim: np.argmin(np.where(meets, computed[aim], np.inf), axis=1) for aim in AIMS}
