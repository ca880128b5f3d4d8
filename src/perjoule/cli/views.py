"""The options of `perjoule show`: each prints the tables of the views on disk that have it."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from perjoule import views
from perjoule.cli.terminal.display import show, show_line
from perjoule.model.errors import MachineError
from perjoule.results.limitations import simulated_notes
from perjoule.summary import summary
from perjoule.views.content import Content
from perjoule.views.view import Flag


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option of each view."""
    for flag in reversed(views.flags()):
        command = click.option(f"--{flag.name}", is_flag=True, help=flag.help)(command)
    return command


def chosen(given: Mapping[str, bool]) -> list[Flag]:
    """Return the options that were given, of the parameters of a command with `options`."""
    return [flag for flag in views.flags() if given[flag.name.replace("-", "_")]]


def comparing() -> list[Flag]:
    """Return the options that compare several folders."""
    return [flag for flag in views.flags() if flag.beside]


def show_views(flag: Flag, content: Content, *, wide: bool = False) -> None:
    """Print the tables that have rows, with all columns if `wide`. Raises MachineError: none has."""
    folder = str(content.results.folder)
    tables = [tables.lay(content) for view in views.every() if view.flag == flag for tables in view.tables]
    if not any(laid.rows for laid in tables):
        raise MachineError(flag.none, where=folder, next=flag.advice)
    for laid in tables:
        if laid.rows:
            show(laid, (), (), wide=wide, whole="--wide")
    beside = (
        f"{results.folder.name}: {note}"
        for results in content.beside
        for note in simulated_notes(summary(results).cells)
    )
    for line in (*simulated_notes(content.cells), *beside, *flag.notes(content)):
        show_line(line)
