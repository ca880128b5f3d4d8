"""Computed numbers, kept with a digest of their inputs that shows whether they still hold."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from perjoule.machine import kept
from perjoule.model import families
from perjoule.model.errors import MachineError
from perjoule.store import Results, progress

FOLDER = "summary"
MEASURED = ("record.json", "series.parquet")  # of an attempt
REPORT = ("report.html", "table.json")
# Of a results folder: not what numbers are computed from. What is in `trials` the journal names.
_DERIVED = frozenset({FOLDER, *REPORT, "trials", "lock", "alignment", "ageing", progress.NAME})
MOST_FILES_COUNT = 200_000  # as of a bundle
T = TypeVar("T")


def digest(results: Results) -> str:
    """Return the digest of a results folder's inputs. Raises MachineError: there are more than results have."""
    folder = results.folder
    inputs = list(islice(_inputs(folder), MOST_FILES_COUNT + 1))
    if len(inputs) > MOST_FILES_COUNT:  # as behind a link of whoever handed it over
        raise MachineError(
            f"beside its trials there are more than {MOST_FILES_COUNT} files",
            where=str(folder),
            next="move away what is not part of the results",
        )
    attempts = [attempt for trial in _folders(folder / "trials") for attempt in _folders(trial)]
    return digest_of(
        states(
            folder, [*sorted(inputs), *(attempt / name for attempt in sorted(attempts) for name in MEASURED)]
        )
    )


def _inputs(folder: Path) -> Iterator[Path]:
    """Yield the files of a results folder, but for those of its trials and what is computed, and those behind its links."""
    for path in folder.iterdir():
        if path.name in _DERIVED or path.name.endswith(".partial"):
            continue
        if path.is_file():
            yield path
        else:
            yield from path.rglob("*")


def digest_with_report(results: Results) -> str:
    """Return the digest of a report and of its inputs."""
    return digest_of((digest(results), *states(results.folder, (results.folder / name for name in REPORT))))


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []


def states(top: Path, paths: Iterable[Path]) -> Iterator[str]:
    """Return size and modification time of each file."""
    for path in paths:
        try:
            state = path.stat()
            yield f"{path.relative_to(top)} {state.st_size} {state.st_mtime_ns}\n"
        except OSError as error:
            yield f"{path.relative_to(top)}: {error.errno}\n"


def digest_of(lines: Iterable[str]) -> str:
    """Return the digest of lines and of the current code."""
    return hashlib.sha256("".join((_code(), *lines)).encode("utf-8", "surrogateescape")).hexdigest()


@cache
def _code() -> str:
    """Return the state of the code: any change in perjoule counts, because a list of the relevant modules
    would be incomplete.
    """
    below = _states_below(str(files("perjoule")))
    return "".join((f"numpy {version('numpy')}\n", *below, *_code_of_others()))


def _code_of_others() -> Iterator[str]:
    """Yield the state of the code of measures and views of other packages; what can't be used computes
    nothing.
    """
    for family in (families.MEASURES, families.VIEWS):
        for member in families.from_packages(family):
            yield f"{family} {member.name} {member.package}\n"
            with suppress(families.PackageError):
                for place in member.code:
                    yield from _states_below(str(place)) if place.is_dir() else states(place, [place])


def _states_below(folder: str, path: str = "") -> Iterator[str]:
    """Return size and modification time of each file below a folder, but for what Python compiled."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=attrgetter("name")):
            if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _states_below(entry.path, f"{path}{entry.name}/")
            elif entry.is_file():
                state = entry.stat()
                yield f"{path}{entry.name} {state.st_size} {state.st_mtime_ns}\n"


def place(results: Results, name: str) -> Path:
    """Return the path of a kept file."""
    return results.here / FOLDER / f"{name}.json"


@cache
def _format(cls: type[Any]) -> TypeAdapter[tuple[Any]]:
    only: Any = tuple.__class_getitem__((cls,))  # a dataclass by itself takes no settings
    return TypeAdapter(only, config=ConfigDict(ser_json_inf_nan="constants"))


def read(path: Path, digest: str, cls: type[T]) -> T | None:
    """Read kept numbers; None if they have to be computed."""
    with suppress(ValidationError):
        if (text := kept.read(path, digest)) is not None:
            return _format(cls).validate_json(text)[0]
    return None


def write(path: Path, digest: str, numbers: object) -> None:
    """Keep computed numbers."""
    kept.write(path, digest, _format(type(numbers)).dump_json((numbers,)))
