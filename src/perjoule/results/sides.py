"""One side of a comparison: the numbers of a results folder, or of one of its file systems, and the match on the other side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from perjoule.model import Campaign, Cell, Direction, Point, Record
from perjoule.model.errors import CampaignError
from perjoule.statistics.better import Judge
from perjoule.statistics.changes import ROOTS, Change, changes
from perjoule.store import Results
from perjoule.summary import summary
from perjoule.summary.campaign import campaign_of
from perjoule.summary.computing import points_of

Key = tuple[str, str, str, Direction, int]  # testbed, file system, workload, direction, clients
Measured = tuple[Record, Point]


@dataclass(frozen=True)
class Side:
    """A results folder, or one of its file systems."""

    name: str
    asked: Campaign | None
    records: tuple[Record, ...]  # the last attempt at each trial
    points: tuple[Point, ...]
    cells: tuple[Cell, ...]  # of the whole campaign, even where only one file system is compared
    filesystem: str = ""  # only this one of it; "" for all

    @cached_property
    def found(self) -> Mapping[Key, Sequence[Measured]]:
        """Group the points to compare by combination, in order of repetition."""
        grouped: dict[Key, list[Measured]] = {}
        of = {record.trial.id: record for record in self.records}
        for point in sorted(self.points, key=lambda p: p.trial.repetition):
            if self.filesystem in ("", point.trial.filesystem.label):
                grouped.setdefault(_key(point), []).append((of[point.trial.id], point))
        return grouped

    @cached_property
    def judge(self) -> Judge:
        """Compare by the whole campaign."""
        return Judge(self.cells)

    def cell(self, key: Key) -> Cell:
        """Return the cell of a combination."""
        testbed, filesystem, *work = key
        labels = (filesystem, f"{filesystem} on {testbed}")
        return next(c for c in self.cells if c.filesystem in labels[::-1] and [c.workload, c.direction, c.clients_count] == work)


def side(results: Results, name: str = "") -> Side:
    """Read the numbers of a results folder. Raises MachineError, CampaignError."""
    records = results.latest()
    found = points_of(results, records)
    asked = campaign_of(results)
    return Side(name or results.folder.name, asked, records, found, summary(results).cells)


def between(whole: Side, labels: tuple[str, str]) -> tuple[Side, Side]:
    """Take two file systems of one results folder. Raises CampaignError: a label is unknown."""
    there = list(dict.fromkeys(record.trial.filesystem.label for record in whole.records))
    for label in labels:
        if label not in there:
            raise CampaignError(f'no file system is called "{label}"', where=whole.name, next=f"known: {', '.join(there)}")
    one, other = (replace(whole, name=label, filesystem=label) for label in labels)
    return one, other


def changed(first: Side, second: Side, declared: Sequence[str]) -> tuple[Change, ...]:
    """List the differences between both sides. Raises CampaignError: an impossible declaration."""
    for name in declared:
        if name.split(".")[0] not in ROOTS:
            raise CampaignError(f'nothing is called "{name}"', next=f"a change starts with one of {', '.join(ROOTS)}")
    pairs = [
        (one[0], other[0])
        for here, there in matched(first, second)
        for one, other in zip(*_filled(first.found[here], second.found[there]), strict=True)
    ]
    return changes(pairs, (first.asked, second.asked), declared)


def _filled(some: Sequence[Measured], others: Sequence[Measured]) -> tuple[Sequence[Measured], Sequence[Measured]]:
    """Give both the same count by repeating the last one, so every record is compared."""
    count = max(len(some), len(others))
    return [*some, *[some[-1]] * (count - len(some))], [*others, *[others[-1]] * (count - len(others))]


def matched(first: Side, second: Side) -> tuple[tuple[Key, Key], ...]:
    """List the matching combinations: equal, except for labels that only one side has and that have a single possible partner.

    That is the only label left of its kind, or the only one left at all.
    """
    same = [_partners(_kinds(first, n), _kinds(second, n)) for n in range(3)]
    found: list[tuple[Key, Key]] = []
    for key in first.found:
        other = same[0].get(key[0]), same[1].get(key[1]), same[2].get(key[2])
        there = next((one for one in second.found if one[:3] == other and one[3:] == key[3:]), None)
        found += [(key, there)] if there is not None else []
    return tuple(sorted(found, key=lambda pair: (pair[0][2], pair[0][3], *pair[0])))


def _kinds(side: Side, part: int) -> Mapping[str, str]:
    specs = [
        (record.trial.testbed, record.trial.filesystem, record.trial.workload)[part]
        for measured in side.found.values()
        for record, _ in measured
    ]
    return {spec.label: spec.kind for spec in specs}


def _partners(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Mapping[str, str]:
    found = {label: label for label in ours if label in theirs}
    for alike in (True, False):
        for label, kind in ours.items():
            left = [name for name in ours if name not in found and (not alike or ours[name] == kind)]
            others = [name for name in theirs if name not in found.values() and (not alike or theirs[name] == kind)]
            if left == [label] and len(others) == 1:
                found[label] = others[0]
    return found


def _key(point: Point) -> Key:
    trial = point.trial
    return trial.testbed.label, trial.filesystem.label, trial.workload.label, point.direction, trial.clients_count
