"""The limitations of the numbers: doubts by kind, those that can cost most first, each in one line with
the rows it touches.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perjoule.model import Cell, Point, Record
from perjoule.model.doubts import KINDS, METERS, REPETITIONS, Doubt, Kind
from perjoule.model.units import clients_text
from perjoule.results.table import load_text

PLACES_COUNT = 4  # named in a line; further ones are counted
_PERCENT = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?= %)")
_SHARE = re.compile(r"(?<![\w.-])(\d+) of (\d+)\b")
THE_CAMPAIGN = "the campaign"
SIMULATED = "simulated, not measured"


@dataclass(frozen=True)
class DoubtLine:
    """One doubt: those that differ only in numbers, meters or hosts are one line."""

    id: str  # "" where it has none
    text: str
    rows: str
    similar: tuple[str, ...] = ()  # the same with other numbers
    rows_count: int = 0  # 0: of the campaign as a whole
    likeness: tuple[str, ...] = ()  # what all of them have in common

    def counted(self, all_count: int) -> str:
        """Say in how many rows it is: "all rows", "2 of 8 rows"."""
        return "all rows" if self.rows_count == all_count else f"{self.rows_count} of {all_count} rows"

    @property
    def more(self) -> str:
        """How many others it stands for: "; and 5 more like it"."""
        return f"; and {len(self.similar)} more like it" if self.similar else ""


@dataclass(frozen=True)
class DoubtGroup:
    """The doubts of one kind."""

    kind: Kind
    lines: tuple[DoubtLine, ...]


def limitations(
    cells: Sequence[Cell], campaign_doubts: Sequence[Doubt], *, omitted: bool = False
) -> tuple[DoubtGroup, ...]:
    """Group doubts.

    Args:
        cells: with their doubts.
        whole: doubts of the campaign as a whole.
        omitted: whether to group what cells omit, which are energies, instead of what they doubt.
    """
    about: dict[Doubt, list[int]] = {doubt: [] for doubt in campaign_doubts}  # numbers of cells
    for number, cell in enumerate(cells):
        for doubt in map(METERS.doubt, cell.omitted) if omitted else cell.doubts:
            about.setdefault(doubt, []).append(number)
    alike: dict[tuple[str, ...], list[Doubt]] = {}
    for doubt in about:
        alike.setdefault(doubt.likeness, []).append(doubt)
    lines: dict[Kind, list[tuple[int, DoubtLine]]] = {}
    for texts in alike.values():
        touched = [cells[number] for number in sorted({number for doubt in texts for number in about[doubt]})]
        first, *similar = sorted(texts, key=lambda doubt: (-len(about[doubt]), -_severity(doubt)))
        rows = rows_text(touched, len(cells)) if touched else THE_CAMPAIGN
        line = DoubtLine(
            first.id, _with_ranges(_brief(first), similar), rows, tuple(similar), len(touched), first.likeness
        )
        lines.setdefault(first.kind, []).append((len(touched) or len(cells), line))
    ranked = {kind: sorted(kind_lines, key=lambda pair: -pair[0]) for kind, kind_lines in lines.items()}
    return tuple(
        DoubtGroup(kind, tuple(line for _, line in ranked[kind])) for kind in KINDS if kind in ranked
    )


def doubted_trials(points: Sequence[Point], line: DoubtLine) -> Mapping[str, Sequence[str]]:
    """Return what each trial that has a doubt says of it, by trial ID; nothing of one that only rows of several
    trials have.
    """
    by_trial: dict[str, dict[str, None]] = {}
    for point in points:
        for doubt in point.doubts:
            if doubt.likeness == line.likeness:
                by_trial.setdefault(point.trial.id, {})[doubt] = None
    return {trial: tuple(texts) for trial, texts in by_trial.items()}


def lines(cells: Sequence[Cell], *, omitted: bool = False) -> list[DoubtLine]:
    """Give the lines of all groups of cells' doubts, or of what they omit."""
    return [line for group in limitations(cells, (), omitted=omitted) for line in group.lines]


def omissions(cells: Sequence[Cell]) -> list[str]:
    """List the numbers that rows lack, with the reasons."""
    return in_rows("in", cells, omitted=True)


def in_rows(before: str, cells: Sequence[Cell], *, omitted: bool) -> list[str]:
    """List texts that differ in numbers alone once, with the number of their rows."""
    return [
        f"{before} {line.counted(len(cells))}: {line.text}{line.more}"
        for line in lines(cells, omitted=omitted)
    ]


def simulated_notes(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the note below every table and figure of simulated numbers; none if all were measured."""
    having = [cell for cell in cells if cell.metrics]
    which = [cell for cell in having if cell.reality == "simulated"]
    rows = "" if len(which) == len(having) else f": {rows_text(which, len(having))}"
    return (f"{SIMULATED}{rows}",) if which else ()


def _severity(text: str) -> float:
    """Return the largest share that a doubt states, "12 of 77" or "15 %"; 0 without one."""
    shares = [int(part) / int(whole) for part, whole in _SHARE.findall(text) if int(whole)]
    return max([*shares, *(float(percent) / 100 for percent in _PERCENT.findall(text))], default=0.0)


def _brief(doubt: Doubt) -> str:
    """Leave out the uncertainties of numbers that a doubt says are missing: they are missing with them."""
    if doubt.id != REPETITIONS.incomplete(metrics="").id:
        return doubt
    labels = str(doubt.values["metrics"]).split(", ")
    stems = {label: label.removesuffix(" uncertainty").removesuffix(" shared") for label in labels}
    lacking = [label for label, stem in stems.items() if stem == label or stem not in labels]
    return REPETITIONS.incomplete(metrics=", ".join(lacking))


def _with_ranges(first: str, similar: Sequence[str]) -> str:
    """Print a doubt with the range of each percentage among those like it: the most frequent one need not
    be the worst.
    """
    percents = [_PERCENT.findall(doubt) for doubt in (first, *similar)]
    if len(set(map(len, percents))) > 1:
        return first
    spans = iter([sorted(set(column), key=float) for column in zip(*percents, strict=True)])
    return _PERCENT.sub(
        lambda _: " to ".join(dict.fromkeys((span := next(spans))[:: max(1, len(span) - 1)])), first
    )


def rows_text(cells: Sequence[Cell], all_count: int) -> str:
    """Name rows: "all rows", "CephFS read, 1 and 2 clients"."""
    if len(cells) == all_count:
        return "all rows" if all_count > 1 else "the only row"
    places: dict[str, list[int]] = {}
    for cell in cells:
        places.setdefault(f"{cell.filesystem}, {load_text(cell.workload, cell.direction)}", []).append(
            cell.clients_count
        )
    texts = [f"{place}, {_counts(sorted(set(counts)))}" for place, counts in places.items()]
    more = sum(map(len, list(places.values())[PLACES_COUNT:]))
    return "; ".join(texts[:PLACES_COUNT]) + (
        f"; and {more} more row{'s' if more > 1 else ''}" if more else ""
    )


def _counts(counts: Sequence[int]) -> str:
    if len(counts) == 1:
        return clients_text(counts[0])
    return f"{', '.join(map(str, counts[:-1]))} and {clients_text(counts[-1])}"


def graded(records: Sequence[Record]) -> str:
    """Return how these numbers were obtained, unless real hosts were measured."""
    from perjoule.trial.reading import emulated_scales

    labels = [
        *(["simulated"] if any(r.traits.reality == "simulated" for r in records) else []),
        *(f"emulated at scale {scale:g}" for scale in emulated_scales(records)),
    ]
    return ", ".join(labels)
