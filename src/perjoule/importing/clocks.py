"""Clients whose files use their own clocks: doubts about combining them, or keeping them separate.

Files that overlap in time are the clients of one trial. If clocks are apart, clients of one trial seem to
have run one after the other, like repetitions.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perjoule.importing.runs import ImportedLoad, ran_at_once
from perjoule.model import Json, Record
from perjoule.model.doubts import APART, TIMES, Doubt

NEAREST_COUNT = 1  # of loads before and after, that a doubt names
NAMED_COUNT = 5  # of a load's clients
NEAR_S = 86400.0  # clocks are wrong by seconds, or by the hours of a time zone


@dataclass(frozen=True)
class RanLoad:
    """A load: its clients, and its time (UTC)."""

    format: str
    work: Json
    clients: frozenset[str]
    began_s: float
    ended_s: float


def of_load(load: ImportedLoad) -> RanLoad | None:
    """Return a load's clients and time; None if it failed."""
    outcomes = [part.run.outcome for part in load.source_runs if part.run.outcome]
    if not outcomes:
        return None
    began_s, ended_s = min(o.began_s for o in outcomes), max(o.ended_s for o in outcomes)
    return RanLoad(
        load.source_runs[0].source.format,
        [dict(load.options), load.filesystem],
        frozenset(load.clients),
        began_s,
        ended_s,
    )


def of_record(record: Record) -> RanLoad | None:
    """Return an imported trial's clients and time; None if it failed."""
    if (outcome := record.outcome) is None:
        return None
    work: Json = [dict(record.trial.workload.options), record.trial.filesystem.label]
    clients = frozenset(result.host for result in outcome.results)
    format = str(record.trial.workload.options.get("format", ""))
    return RanLoad(format, work, clients, outcome.began_s, outcome.ended_s)


class Others:
    """What ran, by load and time, to find the same load of other clients."""

    def __init__(self, ran: Sequence[RanLoad | None]) -> None:
        self._by_work: dict[str, list[RanLoad]] = {}
        for ran_load in ran:
            if ran_load is not None:
                self._by_work.setdefault(_key(ran_load.work), []).append(ran_load)
        for alike in self._by_work.values():
            alike.sort(key=lambda ran_load: ran_load.began_s)
        self._longest_s = {
            work: max(ran_load.ended_s - ran_load.began_s for ran_load in alike)
            for work, alike in self._by_work.items()
        }

    def near(self, ran: RanLoad) -> list[RanLoad]:
        """Return the same load of other clients within a day, or at once of these, in order of time: at most the
        nearest few before and after.
        """
        work = _key(ran.work)
        alike = self._by_work.get(work, [])
        reach_s = NEAR_S + self._longest_s.get(work, 0.0)
        at = bisect_left(alike, ran.began_s, key=lambda ran_load: ran_load.began_s)
        alike_near: list[RanLoad] = []
        for steps in (range(at - 1, -1, -1), range(at, len(alike))):
            count = 0
            for index in steps:
                candidate = alike[index]
                if count == NEAREST_COUNT or abs(candidate.began_s - ran.began_s) > reach_s:
                    break
                is_other = candidate.clients.isdisjoint(ran.clients)
                if _gap_s(ran, candidate) < NEAR_S if is_other else _at_once(ran, candidate):
                    alike_near.append(candidate)
                    count += 1
        return sorted(alike_near, key=lambda ran_load: ran_load.began_s)


def doubts(load: ImportedLoad, ran_loads: Others) -> Iterator[Doubt]:
    """Return doubts about the clocks of a load's clients, given what else ran: about the nearest loads,
    which stand for all.
    """
    ran = of_load(load)
    if ran is None:
        return
    if len(load.source_runs) > 1:
        yield TIMES.own_clocks()
    for near_ran in ran_loads.near(ran):
        names = ", ".join(sorted(near_ran.clients)[:NAMED_COUNT]) + (
            ", ..." if len(near_ran.clients) > NAMED_COUNT else ""
        )
        if _gap_s(ran, near_ran) < 0:
            yield APART.same_load_elsewhere(clients=names)
        else:
            before, apart_s = near_ran.began_s < ran.began_s, abs(ran.began_s - near_ran.began_s)
            yield APART.same_load_near(clients=names, apart_s=apart_s, before=before)


def _at_once(first: RanLoad, second: RanLoad) -> bool:
    """Return whether two loads, of which one client can only run one after the other, ran at once."""
    windows_s = ((ran_load.began_s, ran_load.ended_s) for ran_load in (first, second))
    return first != second and ran_at_once(first.format, *windows_s)


def _gap_s(first: RanLoad, second: RanLoad) -> float:
    """Return the time between two loads; negative if they overlap."""
    return max(first.began_s - second.ended_s, second.began_s - first.ended_s)


def _key(work: Json) -> str:
    return json.dumps(work, sort_keys=True)
