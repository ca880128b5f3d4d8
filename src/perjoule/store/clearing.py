"""Clears entries of `trials` that the journal does not list: unfinished ones go, possibly measured ones are
set aside.

Everything else belongs to somebody else: it stays as it is, and is named. No link is followed.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from perjoule.machine import removal
from perjoule.model.errors import MachineError
from perjoule.store.place import OpenFolder

ASIDE = "set-aside"
TRIAL = re.compile(r".+-\d+c-r\d+-[0-9a-f]{8}")  # as `Trial.id` makes them
ATTEMPT = re.compile(r"(attempt|partial)-([1-9]\d*)")


def refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse to write through a link. Raises MachineError."""
    for path in (folder / name for name in names):
        if path.is_symlink():
            advice = "replace it with what it points to (the whole results folder may be behind a link)"
            raise MachineError(
                "this is a symbolic link; perjoule does not write through links in a results folder",
                where=str(path),
                next=advice,
            )


def clear(results: OpenFolder, attempts: frozenset[tuple[str, str]]) -> Iterator[str]:
    """Clear the trials of a results folder; yield a sentence for each thing that was set aside or left.

    Args:
        results: the folder, locked.
        attempts: the attempts that the journal lists: names of the trial and of the attempt's folder.

    Raises:
        OSError: the disk fails, or a folder was replaced by a link.
        MachineError: a folder was replaced by a link.
    """
    refuse_links(results.path, (ASIDE,))
    trial_names = {trial for trial, _ in attempts}
    with results.made("trials") as trials:
        for path in sorted(trials.through.iterdir()):
            if not removal.is_folder(path) or not (path.name in trial_names or TRIAL.fullmatch(path.name)):
                if path.name not in trial_names:
                    yield _left(trials.user_path(path))
                continue
            with trials.below(path.name) as home:
                for attempt in sorted(home.through.iterdir()):
                    if (path.name, attempt.name) not in attempts:
                        yield from _clear_attempt(results, home, attempt)
            removal.remove_empty(path)


def _clear_attempt(results: OpenFolder, home: OpenFolder, attempt: Path) -> Iterator[str]:
    called = ATTEMPT.fullmatch(attempt.name)
    if not called or not removal.is_folder(attempt):
        yield _left(home.user_path(attempt))
    elif called[1] == "attempt" or (
        not (attempt / removal.MARK).exists() and (attempt / "record.json").exists()
    ):
        target = _set_aside(results, home, attempt.name)
        path = home.user_path(attempt)
        yield f"{path}: the journal does not list this attempt; set aside as {ASIDE}/{target}"
    else:
        yield from (_left(home.user_path(path)) for path in removal.remove_folder(attempt))


def _left(path: Path) -> str:
    return f"{path}: left alone because perjoule did not make it; move it out of the results folder"


def _set_aside(results: OpenFolder, home: OpenFolder, attempt: str) -> str:
    """Move an attempt out of the way without overwriting anything, and return its new name.

    Raises OSError.
    """
    name = f"{home.path.name}-{attempt}"
    with results.made(ASIDE) as aside:
        taken = aside.names
        names = (name if number == 1 else f"{name}-{number}" for number in count(1))
        target = next(candidate for candidate in names if candidate not in taken)
        home.rename(attempt, target, aside)
        aside.sync()
        home.sync()
    return target


def set_aside(folder: Path) -> tuple[str, ...]:
    """Name the attempts that were set aside in a results folder."""
    aside = folder / ASIDE
    return tuple(sorted(path.name for path in aside.iterdir())) if removal.is_folder(aside) else ()


def next_number(trial: Path, numbers: Iterable[int]) -> int:
    """Return the number of a trial's next attempt: after all that the journal lists, and all others that
    exist.
    """
    matches = (ATTEMPT.fullmatch(path.name) for path in trial.glob("*-*"))
    return 1 + max((*numbers, *(int(match[2]) for match in matches if match)), default=0)
