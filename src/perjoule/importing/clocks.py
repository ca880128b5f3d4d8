"""Clients whose files use their own clocks: doubts about combining them, or keeping them separate.

Files that overlap in time are the clients of one trial. If clocks are apart, clients of one trial seem to have run one after the
other, like repetitions.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perjoule.importing.runs import Load
from perjoule.model import Json, Record
from perjoule.model.doubts import APART, TIMES, Doubt
from perjoule.model.units import seconds_text

OWN = "each client's file has the time of its own clock; the offsets between the clocks are unknown"
NEAREST_COUNT = 1  # of loads before and after, that a doubt names
NAMED_COUNT = 5  # of a load's clients
NEAR_S = 86400.0  # clocks are wrong by seconds, or by the hours of a time zone


@dataclass(frozen=True)
class Ran:
    """A load: its clients, and its time (UTC)."""

    work: Json
    clients: frozenset[str]
    began_s: float
    ended_s: float


def of_load(load: Load) -> Ran | None:
    """Return a load's clients and time; None if it failed."""
    outcomes = [one.run.outcome for one in load.found if one.run.outcome]
    if not outcomes:
        return None
    began_s, ended_s = min(o.began_s for o in outcomes), max(o.ended_s for o in outcomes)
    return Ran([dict(load.options), load.filesystem], frozenset(load.clients), began_s, ended_s)


def of_record(record: Record) -> Ran | None:
    """Return an imported trial's clients and time; None if it failed."""
    if (outcome := record.outcome) is None:
        return None
    work: Json = [dict(record.trial.workload.options), record.trial.filesystem.label]
    return Ran(work, frozenset(r.host for r in outcome.results), outcome.began_s, outcome.ended_s)


class Others:
    """What ran, by load and time, to find the same load of other clients."""

    def __init__(self, ran: Sequence[Ran | None]) -> None:
        self._by_work: dict[str, list[Ran]] = {}
        for one in ran:
            if one is not None:
                self._by_work.setdefault(_key(one.work), []).append(one)
        for alike in self._by_work.values():
            alike.sort(key=lambda one: one.began_s)
        self._longest_s = {work: max(one.ended_s - one.began_s for one in alike) for work, alike in self._by_work.items()}

    def near(self, own: Ran) -> list[Ran]:
        """Return the same load of other clients within a day, in order of time: at most the nearest few before and after."""
        work = _key(own.work)
        alike = self._by_work.get(work, [])
        reach_s = NEAR_S + self._longest_s.get(work, 0.0)
        at = bisect_left(alike, own.began_s, key=lambda one: one.began_s)
        found: list[Ran] = []
        for steps in (range(at - 1, -1, -1), range(at, len(alike))):
            count = 0
            for index in steps:
                other = alike[index]
                if count == NEAREST_COUNT or abs(other.began_s - own.began_s) > reach_s:
                    break
                if other.clients.isdisjoint(own.clients) and _gap_s(own, other) < NEAR_S:
                    found.append(other)
                    count += 1
        return sorted(found, key=lambda one: one.began_s)


def doubts(load: Load, others: Others) -> Iterator[Doubt]:
    """Return doubts about the clocks of a load's clients, given what else ran: about the nearest loads, which stand for all."""
    own = of_load(load)
    if own is None:
        return
    if len({one.source.path for one in load.found}) > 1:
        yield TIMES.doubt(OWN)
    for other in others.near(own):
        names = ", ".join(sorted(other.clients)[:NAMED_COUNT]) + (", ..." if len(other.clients) > NAMED_COUNT else "")
        if _gap_s(own, other) < 0:
            same = f"{names} ran the same load at the same time in another trial: import the clients of one trial together again"
            yield APART.doubt(same)
        else:
            when = "before" if other.began_s < own.began_s else "after"
            apart = seconds_text(abs(own.began_s - other.began_s))
            near = f"{names} ran the same load {apart} {when}: if they ran at once, their clocks differ and this is one trial"
            yield APART.doubt(near)


def _gap_s(own: Ran, other: Ran) -> float:
    """Return the time between two loads; negative if they overlap."""
    return max(own.began_s - other.ended_s, other.began_s - own.ended_s)


def _key(work: Json) -> str:
    return json.dumps(work, sort_keys=True)
