"""The members of each family: files in perjoule's package of that name, and modules that other packages name
by entry points.

An entry point of the group `perjoule.<family>` has the member's name and its module. Only packages beside
perjoule count, in the site folders of its Python: neither the working directory nor PYTHONPATH, which anybody
could have filled, is searched, also as root. A module is imported when its member is used or listed, not
before. https://packaging.python.org/en/latest/specifications/entry-points/
"""

import importlib
import os
import pkgutil
import re
import site
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import ParamSpec, TypeVar

from perjoule.model.errors import PackageError, PerjouleError

P = ParamSpec("P")
T = TypeVar("T")

MEASURES, VIEWS = "measures", "views"
FAMILIES: Mapping[str, str] = {
    "testbeds": "testbed",
    "filesystems": "file system",
    "workloads": "workload",
    "meters": "meter",
    "events": "event",
    MEASURES: "measure",
    VIEWS: "view",
}
_LEFT_OUT: dict[str, None] = {}  # in this process, in order
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class LeftOut(UserWarning):
    """A member of another package that is left out of a list, and why."""


@dataclass(frozen=True)
class Member:
    """A member of a family: the name by which campaigns and tables know it, and its module."""

    family: str
    name: str
    module: str
    package: str = ""  # another's, with its version: "perjoule-tape 1.2"; "": it is perjoule's own
    wrong: str = ""  # with its entry point

    def load(self) -> ModuleType:
        """Import its module. Raises PackageError."""
        if self.wrong:
            raise self.error(self.wrong)
        return self.guarded(importlib.import_module)(self.module)

    def guarded(self, work: Callable[P, T]) -> Callable[P, T]:
        """Return the same work, with errors of another's code turned into PackageError; perjoule's own are
        bugs, and stay.
        """

        @wraps(work)
        def guarded(*arguments: P.args, **options: P.kwargs) -> T:
            try:
                return work(*arguments, **options)
            except (PerjouleError, MemoryError):
                raise
            except (Exception, SystemExit) as error:
                raise self.error(f"{type(error).__name__}: {error}") from error

        return guarded if self.package else work

    def require(self, ok: bool, lacking: str) -> None:
        """Refuse a module that is not what the family wants.

        Raises PackageError, or TypeError for perjoule's own.
        """
        if not ok:
            raise self.error(lacking) if self.package else TypeError(f"{self.module}: {lacking}")

    def error(self, reason: str) -> PackageError:
        """Return the error of a member that can't be used."""
        entry_point = f'{self.package}, entry point "{self.name} = {self.module}" of perjoule.{self.family}'
        fault = f'{FAMILIES[self.family]} "{self.name}" can\'t be used: {reason}'
        return PackageError(
            fault, where=entry_point, next=f"update {self.package.partition(' ')[0]}, or uninstall it"
        )

    @property
    def code(self) -> tuple[Path, ...]:
        """Where the code of another's loaded module is: the folders of its package, or its file."""
        self.load()
        top = vars(sys.modules[self.module.partition(".")[0]])
        return tuple(map(Path, top.get("__path__") or [top["__file__"]]))


def members(family: str) -> Mapping[str, Member]:
    """Return the members of a family by name: perjoule's own, then those of other packages."""
    files = {member.name: member for member in _on_disk(family)}
    return files | {member.name: member for member in from_packages(family) if member.name not in files}


def from_packages(family: str) -> tuple[Member, ...]:
    """Return what other packages name for a family, also what can't be used."""
    points = [member for member in _entry_points() if member.family == family]
    if not points:
        return ()
    owners = {member.name: ["perjoule"] for member in _on_disk(family)}
    for member in points:
        owners.setdefault(member.name, []).append(member.package)
    return tuple(replace(member, wrong=member.wrong or _shared(owners[member.name])) for member in points)


def usable(family: str, take: Callable[[Member], T]) -> Iterator[T]:
    """Yield what `take` makes of each member.

    Warns (LeftOut) of those of other packages for which it raises PackageError.
    """
    for member in (*_on_disk(family), *from_packages(family)):
        try:
            taken = take(member)
        except PackageError as error:
            leave_out(str(error))
        else:
            yield taken


def spared(make: Callable[[], T], without: T) -> T:
    """Return what is made; `without`, and a warning (LeftOut), if another package fails to."""
    try:
        return make()
    except PackageError as error:
        leave_out(str(error))
        return without


def left_out() -> tuple[str, ...]:
    """Return the sentences of all warnings so far."""
    return tuple(_LEFT_OUT)


def leave_out(reason: str) -> None:
    """Warn (LeftOut) of what is left out, once."""
    if reason in _LEFT_OUT:
        return
    _LEFT_OUT[reason] = None
    warnings.warn(reason, LeftOut, stacklevel=1)


def _on_disk(family: str) -> Iterator[Member]:
    package = importlib.import_module(f"perjoule.{family}")
    prefix = f"{package.__name__}."
    walk = pkgutil.walk_packages if family == VIEWS else pkgutil.iter_modules  # views have folders
    for module in sorted(module.name for module in walk(package.__path__, prefix)):
        if not (name := module.removeprefix(prefix)).startswith("_"):
            yield Member(family, name, module)


def _shared(owners: Sequence[str]) -> str:
    return f"{' and '.join(owners)} both have one of that name" if len(owners) > 1 else ""


@cache
def _entry_points() -> tuple[Member, ...]:
    """Return every entry point of our groups, in the order of their packages."""
    points: list[Member] = []
    for place in _descriptions():
        try:
            points += _points_of(place)
        except Exception as error:  # whatever is wrong with a file of another package
            leave_out(f"{place}: its entry points can't be read: {error}")
    return tuple(dict.fromkeys(points))


def _points_of(place: Path) -> Iterator[Member]:
    from importlib.metadata import Distribution  # takes long, and hardly anybody needs it

    package = Distribution.at(place)
    name_and_version = " ".join(package.metadata[key] or "?" for key in ("Name", "Version"))
    for point in package.entry_points:
        family = point.group.removeprefix("perjoule.")
        if point.group != family and family in FAMILIES:
            wrong = "" if _NAME.fullmatch(point.name) else "its name is not of small letters, digits and _"
            wrong = wrong if _MODULE.fullmatch(point.value) else "it does not name a module alone"
            yield Member(family, point.name, point.value, name_and_version, wrong)


def _descriptions() -> list[Path]:
    """Return the descriptions of packages beside perjoule that name our groups."""
    folders: list[Path] = []
    for folder in site_folders():
        with suppress(OSError), os.scandir(folder) as entries:
            folders += [Path(entry.path) for entry in entries if entry.name.endswith(".dist-info")]
    return [place for place in sorted(folders) if "[perjoule." in _text(place / "entry_points.txt")]


def site_folders() -> list[str]:
    """Return the folders of installed packages of this Python: the environment's own, and the user's where
    Python has it.
    """
    users = [site.getusersitepackages()] if site.ENABLE_USER_SITE and os.geteuid() != 0 else []
    return [*site.getsitepackages(), *users]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
