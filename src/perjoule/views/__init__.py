"""One file, one thing that is shown of a measure: its tables, figure, words, section, chart of the live page, option of `show`.

A view is a module with a `VIEW`, in any folder here. Nobody lists views: the report, its figures, the live page, the list,
`perjoule show` and its help go through those on disk. A view imports what computes (numpy, statistics, energy) where it is used:
the options of a command must be known long before that. Numbers come from `Content`, which computes each when first needed.
"""

import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from perjoule.figures.vega import Spec
from perjoule.results.table import Table
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View


@dataclass(frozen=True)
class Section:
    """What a page has of a view: those of its tables that have a name and rows."""

    view: View
    tables: tuple[tuple[Shown, Table], ...]
    intro: str
    lines: Sequence[str]


@cache
def every() -> tuple[View, ...]:
    """Return the views on disk, in the order in which they are shown."""
    modules = (import_module(module.name) for module in pkgutil.walk_packages(__path__, f"{__name__}."))
    views = (view for module in modules if isinstance(view := vars(module).get("VIEW"), View))
    return tuple(sorted(views, key=lambda view: view.rank))


def flags() -> tuple[Flag, ...]:
    """Return the options of `perjoule show`."""
    return tuple(dict.fromkeys(view.flag for view in every() if view.flag))


def drawings(content: Content) -> Iterator[tuple[str, Spec]]:
    """Return the figures that the records allow, each with its name."""
    for view in every():
        yield from view.figures(content)


def sections(content: Content) -> Iterator[Section]:
    """Return the sections of a page: those that need not be opened come first."""
    for view in sorted(every(), key=lambda view: view.folded):
        if tables := tuple(
            (view_table, laid) for view_table in view.tables if view_table.name and (laid := view_table.lay(content)).rows
        ):
            yield Section(view, tables, view.intro(content), view.lines(content))
