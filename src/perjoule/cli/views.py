"""The views of `perjoule show`: each has its option, its tables, and what to say if there are none."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from perjoule.cli.display import omissions, show, show_line
from perjoule.model import Cell
from perjoule.model.errors import MachineError
from perjoule.results.events import events_table
from perjoule.results.idle import idle_table
from perjoule.results.joules import sides_table, split_table
from perjoule.results.limitations import simulated_notes
from perjoule.results.rebuild import rebuild_table, rebuilt_bytes_table
from perjoule.results.table import Table, amplification_table, winners_table
from perjoule.store import Results
from perjoule.summary import summary

# What computes is imported where it is used: that takes longer than `--help`, completion and an error should.


@dataclass(frozen=True)
class Source:
    """What views are made from: a results folder with its cells, and the folders that `--with` names."""

    results: Results
    cells: tuple[Cell, ...]
    beside: tuple[Results, ...]


@dataclass(frozen=True)
class View:
    """An option of `perjoule show`, and the tables that it shows; those without rows are left out."""

    flag: str
    help: str
    tables: Callable[[Source], Sequence[Table]]
    none: str  # why there is no table
    advice: str
    notes: Callable[[Sequence[Cell]], Sequence[str]] = lambda cells: ()  # lines below the tables

    def show(self, source: Source) -> None:
        """Print it. Raises MachineError: there is nothing to show."""
        found = [laid for laid in self.tables(source) if laid.rows]
        if not found:
            raise MachineError(self.none, where=str(source.results.folder), next=self.advice)
        for laid in found:
            show(laid, (), ())
        beside = (f"{one.folder.name}: {note}" for one in source.beside for note in simulated_notes(summary(one).cells))
        for line in (*simulated_notes(source.cells), *beside, *self.notes(source.cells)):
            show_line(line)


def _users(source: Source) -> Sequence[Table]:
    from perjoule.results.mixed_users import mixes_of, users_table

    return (users_table(mixes_of(source.results)),)


def _scaling(source: Source) -> Sequence[Table]:
    from perjoule.results.scalability import scaling_tables

    return scaling_tables(source.cells)


def _winners(source: Source) -> Sequence[Table]:
    from perjoule.statistics.winners import best

    return (winners_table(best(source.results.latest(), source.cells)),)


def _joules(source: Source) -> Sequence[Table]:
    from perjoule.results.metered import every_metered, parts_table

    return (sides_table(source.cells), split_table(source.cells), parts_table(every_metered(source.results)))


def _aged(source: Source) -> Sequence[Table]:
    from perjoule.results.ageing import ageing_table, wear_table

    records = source.results.latest()
    return (wear_table(records, source.cells), ageing_table(records))


def _events(source: Source) -> Sequence[Table]:
    return (events_table(source.cells), rebuild_table(source.cells), rebuilt_bytes_table(source.cells))


def _duty(source: Source) -> Sequence[Table]:
    from perjoule.results.proportionality import duty_tables

    return duty_tables(source.cells)


def _budget(source: Source) -> Sequence[Table]:
    from perjoule.results.metered import budget_table, every_metered, unexplained_table

    found = every_metered(source.results)
    return (budget_table(found), unexplained_table(found))


def _replacement(source: Source) -> Sequence[Table]:
    from perjoule.results.replacement import replacement_table, replacements

    return (replacement_table(replacements([source.results, *source.beside])),)


def _layouts(source: Source) -> Sequence[Table]:
    from perjoule.results.layouts import layout_tables

    return layout_tables(source.results)


VIEWS = (
    View(
        "users",
        "Throughput of several users together and alone, and fairness.",
        _users,
        "no trial here has several users at once",
        "see docs/how-to/mixed-users.md",
    ),
    View(
        "scaling",
        "Scaling with storage hosts: % of ideal, and the fitted law.",
        _scaling,
        "the number of storage hosts was the same in all trials",
        "see docs/how-to/scaling.md",
    ),
    View(
        "winners",
        "The best file system for each workload, or none.",
        _winners,
        "no two file systems here did the same work",
        "see docs/how-to/compare.md",
    ),
    View(
        "layouts",
        "Which hosts held the files of each read: every repetition has a layout of its own.",
        _layouts,
        "no trial here read files that this version laid out",
        "see docs/explanations/how-numbers-are-made.md",
    ),
    View(
        "bytes",
        "Bytes moved per user byte, next to what redundancy explains.",
        lambda source: (amplification_table(source.cells),),
        "no trial here has both counted bytes and a known redundancy",
        "see docs/explanations/how-numbers-are-made.md",
    ),
    View(
        "joules",
        "Energy of servers, of clients and of all, by device, and where the joules went.",
        _joules,
        "no energy is known here",
        "see docs/how-to/meters.md",
        omissions,
    ),
    View(
        "idle",
        "What idle file systems draw and do by themselves, by role.",
        lambda source: (idle_table(source.cells),),
        "no trial here was idle",
        "see docs/how-to/idle.md",
    ),
    View(
        "aged",
        "What file systems went through before their trials, and what that changed.",
        _aged,
        "no file system here was aged",
        "see docs/how-to/aged.md",
    ),
    View(
        "events",
        "Rate and power before, during and after events, and the cost of healing.",
        _events,
        "nothing happened to servers in the trials here",
        "see docs/how-to/events.md",
    ),
    View(
        "duty",
        "Power against load: energy proportionality, and energy per byte at each load.",
        _duty,
        "no load here was paced at several shares",
        "see docs/how-to/duty.md",
    ),
    View(
        "budget",
        "Uncertainty budget of the energies, and power that the meters do not explain.",
        _budget,
        "no energy here has an uncertainty budget: no meter states its errors",
        "see docs/explanations/uncertainty.md",
    ),
    View(
        "replacement",
        "How many low-power machines replace a server, and their power.",
        _replacement,
        "no two stand-alone machines here ran the same workload with metered power",
        "add the results of another machine: --with DIR",
    ),
)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option of each view."""
    for view in reversed(VIEWS):
        command = click.option(f"--{view.flag}", is_flag=True, help=view.help)(command)
    return command
