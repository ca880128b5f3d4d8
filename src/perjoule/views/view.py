"""What a view is: the file of one thing that is shown of a measure, found on disk."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from perjoule.figures.vega import Spec
from perjoule.results.table import Table
from perjoule.views.content import Content
from perjoule.views.now import Now


@dataclass(frozen=True)
class Flag:
    """An option of `perjoule show`, which prints the tables of all views that have it."""

    name: str
    help: str
    none: str  # why there is no table
    advice: str
    notes: Callable[[Content], Sequence[str]] = lambda content: ()  # lines below the tables
    beside: bool = False  # whether it compares the folders of --with


@dataclass(frozen=True)
class Shown:
    """A table of a view, which is left out if it has no rows."""

    lay: Callable[[Content], Table]
    name: str = ""  # in the report; "": only the terminal shows it
    note: str = ""  # below it in the report
    style: str = ""  # of the report: "last" wraps the last column, "prose" the words


@dataclass(frozen=True)
class Live:
    """A chart of the live page: lines over the last minutes."""

    title: str
    unit: str
    # of the lines at a moment, by name; a line without a value has a gap
    values: Callable[[Now], Mapping[str, float]]


@dataclass(frozen=True)
class View:
    """One thing that is shown: tables and figures, a section of the report, a chart of the live page, an
    option of `show`.
    """

    rank: int  # of its figures, its section and its option among those of all views, the lowest first
    tables: tuple[Shown, ...] = ()
    # by name: of the file, and in the page
    figures: Callable[[Content], Iterable[tuple[str, Spec]]] = lambda content: ()
    flag: Flag | None = None
    title: str = ""  # of its section, which has the tables that have a name
    folded: bool = False  # whether one has to open the section, which comes after all others
    anchor: str = ""  # of the section, for links
    intro: Callable[[Content], str] = lambda content: ""  # above the tables
    lines: Callable[[Content], Sequence[str]] = lambda content: ()  # a list below them
    live: Live | None = None
    lead: int | None = None  # the first screen has the figure of the view with the lowest; None: never
