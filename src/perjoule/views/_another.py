"""Views of other packages: their errors, and what they return that can't be shown, name the package."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, TypeVar, cast

from perjoule.figures.vega import Spec
from perjoule.model.families import Member
from perjoule.results.table import Table
from perjoule.views.content import Content
from perjoule.views.now import Now
from perjoule.views.view import Flag, Live, Shown, View

T = TypeVar("T")
_NAME = re.compile(r"[a-z][a-z0-9-]*")


def held(member: Member, view: object) -> View:
    """Return a view whose functions raise PackageError, also for what they return. Raises PackageError."""
    member.require(isinstance(view, View), "it has no `VIEW = View(...)`")
    assert isinstance(view, View)
    for fault in _faults(view):
        raise member.error(fault)
    flag = view.flag and replace(view.flag, notes=_checked(member, view.flag.notes, _lines, "notes"))
    live = view.live and replace(view.live, values=_checked(member, view.live.values, _values, "live values"))
    return replace(
        view,
        tables=tuple(replace(one, lay=_checked(member, one.lay, _table, "a table")) for one in view.tables),
        figures=_checked(member, view.figures, _figures, "figures"),
        flag=flag,
        intro=_checked(member, view.intro, _text, "its intro"),
        lines=_checked(member, view.lines, _lines, "its lines"),
        live=live,
    )


def _faults(view: View) -> tuple[str, ...]:
    """Say what is wrong with the fields of a VIEW, as far as that would stop whoever shows it."""
    right = {
        "the rank of its VIEW is not a whole number": type(view.rank) is int,
        "its lead is not a whole number": view.lead is None or type(view.lead) is int,
        "its tables are not a tuple of Shown": type(view.tables) is tuple
        and all(map(_is_shown, view.tables)),
        "its flag is no Flag, or not of small letters": view.flag is None or _is_flag(view.flag),
        "its live is no Live": view.live is None or _is_live(view.live),
        "its title and its anchor are not texts": _texts((view.title, view.anchor)),
    }
    return tuple(fault for fault, is_right in right.items() if not is_right)


def _is_shown(table: object) -> bool:
    return isinstance(table, Shown) and callable(table.lay) and _texts((table.name, table.note, table.style))


def _is_flag(flag: object) -> bool:
    if not (isinstance(flag, Flag) and _texts((flag.name, flag.help, flag.none, flag.advice))):
        return False
    return bool(_NAME.fullmatch(flag.name))


def _is_live(live: object) -> bool:
    return isinstance(live, Live) and _texts((live.title, live.unit))


def _texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _checked(
    member: Member, work: Callable[..., object], take: Callable[[object], T | None], noun: str
) -> Callable[[Content | Now], T]:
    """Return the work of a view; what `take` makes nothing of is refused."""

    def checked(content: Content | Now) -> T:
        result = work(content)
        taken = take(result)
        if taken is None:
            raise TypeError(f"{noun}: {str(result)[:60]!r} can't be shown")
        return taken

    return member.guarded(checked)


def _table(table: object) -> Table | None:
    """Return a table whose headers and cells are texts, as many in each row."""
    if not isinstance(table, Table):
        return None
    lengths = {len(row) for row in table.rows} | {len(table.headers)}
    return table if len(lengths) == 1 and all(map(_texts, (table.headers, *table.rows))) else None


def _figures(figures: Any) -> Sequence[tuple[str, Spec]] | None:
    """Return pairs of a name, which is that of a file, and a figure that can be written as JSON."""
    pairs: list[Any] = [(name, spec) for name, spec in figures]
    named = all(re.fullmatch(r"[\w-]+", name) for name, _ in pairs)
    json.dumps([spec for _, spec in pairs], allow_nan=False)
    return pairs if named and all(type(spec) is dict for _, spec in pairs) else None


def _text(text: object) -> str | None:
    return text if isinstance(text, str) else None


def _lines(lines: object) -> Sequence[str] | None:
    if isinstance(lines, str):
        return None
    every = [*cast("Sequence[object]", lines)]
    return cast("list[str]", every) if _texts(every) else None


def _values(values: object) -> Mapping[str, float] | None:
    by_name = dict(cast("Mapping[str, float]", values))
    return by_name if _texts([*by_name]) and all(map(isfinite, by_name.values())) else None
