"""Ranks: within one kind of hosts, one boundary, one grade of power, one load and one redundancy, never
across.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.model.metrics import BOUNDARIES
from perjoule.publishing.entry import Entry, Ranked


@dataclass(frozen=True)
class RankedPlace:
    """A number with its entry and its rank; None for one that has none."""

    entry: Entry
    row: Ranked
    rank: int | None


@dataclass(frozen=True)
class RankedGroup:
    """Numbers that may be compared: equal in everything that the heading says."""

    hosts: str
    boundary: str
    grade: str
    workload: str
    direction: str
    pattern: str
    redundancy: str
    metric: str
    places: tuple[RankedPlace, ...]


def groups(entries: Sequence[Entry]) -> tuple[RankedGroup, ...]:
    """Group the numbers of all entries, and rank each group; those without a rank come last.

    A rank is one more than the count of numbers whose whole total interval, with the meter's uncertainty, is
    above this one's: equal ranks are not significantly different from the first of them.
    """
    rows_of: dict[tuple[str, ...], list[tuple[Entry, Ranked]]] = {}
    for entry in entries:
        for row in entry.rows:
            load = (row.workload, row.direction, row.pattern)
            key = (row.hosts, row.boundary, row.grade, *load, row.redundancy, row.metric)
            rows_of.setdefault(key, []).append((entry, row))
    return tuple(RankedGroup(*key, places=_ranked(rows_of[key])) for key in sorted(rows_of, key=_order))


def _order(key: tuple[str, ...]) -> tuple[object, ...]:
    """Real hosts before emulated ones; then by boundary, the headline's first, by grade and load."""
    return (key[0] != "real", [boundary.name for boundary in BOUNDARIES].index(key[1]), *key[2:])


def _ranked(those: Sequence[tuple[Entry, Ranked]]) -> tuple[RankedPlace, ...]:
    counted = [row for _, row in those if not row.objections and isfinite(row.total_low)]
    places = [
        RankedPlace(
            entry,
            row,
            1 + sum(rival.total_low > row.total_high for rival in counted) if row in counted else None,
        )
        for entry, row in those
    ]
    return tuple(
        sorted(
            places,
            key=lambda place: (
                place.rank is None,
                place.rank or 0,
                -place.row.interval.mean,
                place.entry.digest,
            ),
        )
    )
