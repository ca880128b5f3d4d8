"""One side of a comparison: the numbers of a results folder, or of one of its file systems, and the match
on the other side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from perjoule.model import Campaign, Cell, Direction, Point, Record
from perjoule.model.errors import CampaignError
from perjoule.statistics.better import Judge
from perjoule.statistics.changes import ROOTS, Difference, changes
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
    campaign: Campaign | None
    records: tuple[Record, ...]  # the last attempt at each trial
    points: tuple[Point, ...]
    cells: tuple[Cell, ...]  # of the whole campaign, even where only one file system is compared
    filesystem: str = ""  # only this one of it; "" for all

    @cached_property
    def measured(self) -> Mapping[Key, Sequence[Measured]]:
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
        return next(
            c
            for c in self.cells
            if c.filesystem in labels[::-1] and [c.workload, c.direction, c.clients_count] == work
        )


def side(results: Results, name: str = "") -> Side:
    """Read the numbers of a results folder. Raises MachineError, CampaignError."""
    records = results.latest()
    points = points_of(results, records)
    campaign = campaign_of(results)
    return Side(name or results.folder.name, campaign, records, points, summary(results).cells)


def between(side: Side, labels: tuple[str, str]) -> tuple[Side, Side]:
    """Take two file systems of one results folder. Raises CampaignError: a label is unknown."""
    labels_known = list(dict.fromkeys(record.trial.filesystem.label for record in side.records))
    for label in labels:
        if label not in labels_known:
            raise CampaignError(
                f'no file system is called "{label}"',
                where=side.name,
                next=f"known: {', '.join(labels_known)}",
            )
    first, second = (replace(side, name=label, filesystem=label) for label in labels)
    return first, second


def changed(first: Side, second: Side, declared: Sequence[str]) -> tuple[Difference, ...]:
    """List the differences between both sides. Raises CampaignError: an impossible declaration."""
    for name in declared:
        if name.split(".")[0] not in ROOTS:
            raise CampaignError(
                f'nothing is called "{name}"', next=f"a change starts with one of {', '.join(ROOTS)}"
            )
    pairs = [
        (before[0], after[0])
        for here, there_key in matched(first, second)
        for before, after in zip(*_filled(first.measured[here], second.measured[there_key]), strict=True)
    ]
    return changes(pairs, (first.campaign, second.campaign), declared)


def _filled(
    first: Sequence[Measured], second: Sequence[Measured]
) -> tuple[Sequence[Measured], Sequence[Measured]]:
    """Give both the same count by repeating the last one, so every record is compared."""
    count = max(len(first), len(second))
    return [*first, *[first[-1]] * (count - len(first))], [*second, *[second[-1]] * (count - len(second))]


def matched(first: Side, second: Side) -> tuple[tuple[Key, Key], ...]:
    """List the matching combinations: equal, except for labels that only one side has and that have a single
    possible partner.

    That is the only label left of its kind, or the only one left at all.
    """
    same = [_partners(_kinds(first, n), _kinds(second, n)) for n in range(3)]
    pairs: list[tuple[Key, Key]] = []
    for key in first.measured:
        partner = same[0].get(key[0]), same[1].get(key[1]), same[2].get(key[2])
        match = next(
            (
                key_there
                for key_there in second.measured
                if key_there[:3] == partner and key_there[3:] == key[3:]
            ),
            None,
        )
        pairs += [(key, match)] if match is not None else []
    return tuple(sorted(pairs, key=lambda pair: (pair[0][2], pair[0][3], *pair[0])))


def _kinds(side: Side, part: int) -> Mapping[str, str]:
    specs = [
        (record.trial.testbed, record.trial.filesystem, record.trial.workload)[part]
        for measured in side.measured.values()
        for record, _ in measured
    ]
    return {spec.label: spec.kind for spec in specs}


def _partners(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Mapping[str, str]:
    partners = {label: label for label in ours if label in theirs}
    for alike in (True, False):
        for label, kind in ours.items():
            unmatched = [name for name in ours if name not in partners and (not alike or ours[name] == kind)]
            candidates = [
                name
                for name in theirs
                if name not in partners.values() and (not alike or theirs[name] == kind)
            ]
            if unmatched == [label] and len(candidates) == 1:
                partners[label] = candidates[0]
    return partners


def _key(point: Point) -> Key:
    trial = point.trial
    return (
        trial.testbed.label,
        trial.filesystem.label,
        trial.workload.label,
        point.direction,
        trial.clients_count,
    )
