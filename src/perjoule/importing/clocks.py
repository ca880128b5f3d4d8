"""Clients whose files use their own clocks: doubts about combining them, or keeping them separate.

Files that overlap in time are the clients of one trial. If clocks are apart, clients of one trial seem to have run one after the
other, like repetitions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perjoule.importing.runs import Load
from perjoule.model import Json, Record
from perjoule.model.doubts import APART, TIMES, Doubt
from perjoule.model.units import seconds_text

OWN = "each client's file has the time of its own clock; the offsets between the clocks are unknown"
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


def doubts(load: Load, others: Sequence[Ran | None]) -> Iterator[Doubt]:
    """Return doubts about the clocks of a load's clients, given what else ran."""
    own = of_load(load)
    if own is None:
        return
    if len({one.source.path for one in load.found}) > 1:
        yield TIMES.doubt(OWN)
    for other in others:
        if other is None or other.work != own.work or not other.clients.isdisjoint(own.clients):
            continue
        names = ", ".join(sorted(other.clients))
        gap_s = max(own.began_s - other.ended_s, other.began_s - own.ended_s)
        if gap_s < 0:
            same = f"{names} ran the same load at the same time in another trial: import the clients of one trial together again"
            yield APART.doubt(same)
        elif gap_s < NEAR_S:
            when = "before" if other.began_s < own.began_s else "after"
            apart = seconds_text(abs(own.began_s - other.began_s))
            near = f"{names} ran the same load {apart} {when}: if they ran at once, their clocks differ and this is one trial"
            yield APART.doubt(near)
