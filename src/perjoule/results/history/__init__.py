"""Campaigns of one name over time: each metric of each combination, its levels, and what changed where it
has a step.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from perjoule.model import Cell, Direction, Interval
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.metrics import metric_of
from perjoule.results import sides
from perjoule.results.table import few
from perjoule.statistics.better import RELEVANT_RATIO
from perjoule.statistics.modes import summarised_by_median
from perjoule.statistics.steps import LEAST_COUNT, Step, StepLevel, levels, steps
from perjoule.store import Results
from perjoule.summary import summary
from perjoule.summary.campaign import name_of

Verdict = Literal["worse", "changed", "better", "no relevant step", "no step", "too few campaigns"]
VERDICTS: Sequence[Verdict] = get_args(Verdict)  # what asks for attention first


@dataclass(frozen=True)
class HistoryMoment:
    """A campaign in the history."""

    results: Results
    utc_s: float  # when its last trial ended
    cells: Sequence[Cell]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.results.folder.name

    @property
    def day(self) -> str:
        """When it was measured (UTC)."""
        return time.strftime("%Y-%m-%d %H:%M", time.gmtime(self.utc_s))


@dataclass(frozen=True)
class HistoryRow:
    """A metric of one combination over the campaigns that have it."""

    filesystem: str
    workload: str
    direction: Direction
    clients_count: int
    servers_count: int
    grade: str  # "simulated", or of the power; "" where the metric does not rest on any
    metric: str  # key
    moments: tuple[int, ...]  # which campaigns, in order of time
    values: tuple[Interval, ...]  # of each
    steps: tuple[Step, ...]
    levels: tuple[StepLevel, ...]
    by_median: bool = False  # whether the newest campaign's repetitions have no useful mean

    @property
    def verdict(self) -> Verdict:
        """The verdict on the newest level compared with the one before."""
        if len(self.values) < LEAST_COUNT:
            return "too few campaigns"
        if not self.steps:
            return "no step"
        ratio, better = self.steps[-1].ratio.mean, metric_of(self.metric).better
        if 1 / (1 + RELEVANT_RATIO) < ratio < 1 + RELEVANT_RATIO:
            return "no relevant step"
        if not better:
            return "changed"
        return "better" if (ratio > 1) == (better == "higher") else "worse"


@dataclass(frozen=True)
class History:
    """Campaigns of one name, and what is seen over them."""

    name: str
    moments: tuple[HistoryMoment, ...]
    rows: tuple[HistoryRow, ...]
    # number of a campaign with a step -> what differs from the campaign before
    changes: Mapping[int, tuple[str, ...]]
    left_out: tuple[str, ...] = ()  # folders without a valid trial

    @property
    def worse(self) -> tuple[HistoryRow, ...]:
        """Rows whose newest level is worse than the one before."""
        return tuple(row for row in self.rows if row.verdict == "worse")


def history(folders: Sequence[Results], metrics: Sequence[str]) -> History:
    """Look at results folders of one campaign's name in order of time.

    Args:
        folders: in any order; those without results are left out.
        metrics: keys; those that a combination has in two campaigns or more make a row.

    Raises:
        CampaignError: the campaigns have several names, or fewer than two have results.
    """
    folder_of = {name_of(results): results.folder.name for results in folders}
    if len(folder_of) > 1:
        advice = (
            "name the folders of one campaign: "
            f"{few([f'{name} ({folder})' for name, folder in folder_of.items()])}"
        )
        raise CampaignError("these are results of several campaigns", next=advice)
    moments = sorted(
        (_moment(results) for results in folders if results.done()), key=lambda moment: moment.utc_s
    )
    if len(moments) < 2:
        raise CampaignError(
            "a history needs the results of two campaigns or more",
            next="measure the campaign again, into another folder",
        )
    by_row: dict[tuple[str, str, Direction, int, int, str, str], list[tuple[int, Cell]]] = {}
    for at, moment in enumerate(moments):
        for cell in moment.cells:
            for key in metrics:
                if key in cell.metrics and cell.metrics[key].mean > 0:
                    of = metric_of(key)
                    grade = (
                        "simulated"
                        if cell.reality == "simulated"
                        else cell.grade_of(of.boundary)
                        if of.energy
                        else ""
                    )
                    row = (
                        cell.filesystem,
                        cell.workload,
                        cell.direction,
                        cell.clients_count,
                        cell.servers_count,
                        grade,
                        key,
                    )
                    by_row.setdefault(row, []).append((at, cell))
    several = {row: values for row, values in by_row.items() if len(values) > 1}
    sought_count = sum(len(values) >= LEAST_COUNT for values in several.values())
    rows = tuple(_row(row, values, sought_count) for row, values in several.items())
    stepped = sorted({row.moments[step.at] for row in rows for step in row.steps})
    return History(
        next(iter(folder_of)),
        tuple(moments),
        rows,
        {at: _changes(moments[at - 1], moments[at]) for at in stepped},
        (
            *(results.folder.name for results in folders if not results.done()),
            *(moment.name for moment in moments if not moment.cells),
        ),
    )


def _row(
    key: tuple[str, str, Direction, int, int, str, str], cells: Sequence[tuple[int, Cell]], sought_count: int
) -> HistoryRow:
    values = tuple(cell.metrics[key[-1]] for _, cell in cells)
    means = [interval.mean for interval in values]
    found_steps, by_median = steps(means, sought_count), summarised_by_median(cells[-1][1])
    return HistoryRow(
        *key, tuple(at for at, _ in cells), values, found_steps, levels(means, found_steps), by_median
    )


def _moment(results: Results) -> HistoryMoment:
    return HistoryMoment(
        results, max(record.clock.utc_s for record in results.latest()), summary(results).cells
    )


def _changes(before: HistoryMoment, after: HistoryMoment) -> tuple[str, ...]:
    """Return what differs in options, software, machine and deployment from the campaign before."""
    differences = sides.changed(sides.side(before.results), sides.side(after.results), ())
    return tuple(
        f"{change.name}: {change.before or 'nothing'} -> {change.after or 'nothing'}"
        for change in differences
    )


def folders_below(paths: Sequence[Path], opened: Callable[[Path], Results]) -> list[Results]:
    """Open results folders, each named or one of those in a folder that is named. Raises MachineError."""
    opened_results: list[Results] = []
    for path in paths:
        inside = (
            []
            if (path / "campaign.toml").exists()
            else sorted(folder.parent for folder in path.glob("*/campaign.toml"))
        )
        if not inside and not (path / "campaign.toml").exists():
            raise MachineError(
                "no results folder found here",
                where=str(path),
                next="name results folders, or a folder of them",
            )
        opened_results += [opened(folder) for folder in inside or [path]]
    return opened_results
