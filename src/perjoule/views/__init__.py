"""One file, one thing that is shown of a measure: its tables, figure, words, section, chart of the live page,
option of `show`.

A view is a module with a `VIEW`, in any folder here, or in another package (`model/families.py`). Nobody
lists views: the report, its figures, the live page, the list, `perjoule show` and its help go through all. A
view imports what computes (numpy, statistics, energy) where it is used: the options of a command must be
known long before that. Numbers come from `Content`, which computes each when first needed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from perjoule.figures.vega import Spec
from perjoule.model import families
from perjoule.results.table import Table
from perjoule.views._another import held
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View


@dataclass(frozen=True)
class Section:
    """What a page has of a view: those of its tables that have a name and rows."""

    view: View
    tables: tuple[tuple[Shown, Table], ...]
    intro: str
    lines: Sequence[str]


TAKEN = (
    "others",
    "with",
    "wide",
    "doubts",
    "as-json",
    "json",
    "folder",
    "help",
)  # by other parameters of `perjoule show`


@cache
def every() -> tuple[View, ...]:
    """Return the views, in the order in which they are shown."""
    return tuple(sorted((view for _, view in members()), key=lambda view: view.rank))


@cache
def members() -> tuple[tuple[families.Member, View], ...]:
    """Return the views, each with its module: perjoule's, then usable ones of other packages."""
    pairs: list[tuple[families.Member, View]] = []
    for member, view in families.usable(
        families.VIEWS, lambda member: (member, _view(member, [view for _, view in pairs]))
    ):
        if view:
            pairs.append((member, view))
    return tuple(pairs)


def _view(member: families.Member, before: Sequence[View]) -> View | None:
    view = vars(member.load()).get("VIEW")
    if not member.package:
        return view if isinstance(view, View) else None
    view, before_flags = held(member, view), flags_of(before)
    if view.flag and (twin := next((flag for flag in before_flags if _alike(flag, view.flag)), None)):
        return replace(view, flag=twin)
    if view.flag:
        taken = view.flag.name in (*TAKEN, *(option.name for option in before_flags))
        member.require(not taken, f"`perjoule show` has an option --{view.flag.name} already")
    return view


def _alike(one: Flag, other: Flag) -> bool:
    """Whether two options are one, but for their notes."""
    return replace(one, notes=other.notes) == other


def flags() -> tuple[Flag, ...]:
    """Return the options of `perjoule show`."""
    return flags_of(every())


def flags_of(views: Sequence[View]) -> tuple[Flag, ...]:
    """Return the options of views, each once."""
    return tuple(dict.fromkeys(view.flag for view in views if view.flag))


def drawn(content: Content) -> Iterator[tuple[View, str, Spec]]:
    """Return the figures that the records allow, each with its view and its name.

    Those that another package fails to draw are left out, with a warning.
    """
    for view in every():
        for name, spec in families.spared(lambda view=view: [*view.figures(content)], []):
            yield view, name, spec


def drawings(content: Content) -> Iterator[tuple[str, Spec]]:
    """Return these figures by name."""
    return ((name, spec) for _, name, spec in drawn(content))


def sections(content: Content) -> Iterator[Section]:
    """Return the sections of a page: those that need not be opened come first.

    Those that another package fails to make are left out, with a warning.
    """
    for view in sorted(every(), key=lambda view: view.folded):
        if section := families.spared(lambda view=view: _section(view, content), None):
            yield section


def _section(view: View, content: Content) -> Section | None:
    tables = tuple(
        (view_table, laid)
        for view_table in view.tables
        if view_table.name and (laid := view_table.lay(content)).rows
    )
    return Section(view, tables, view.intro(content), view.lines(content)) if tables else None
