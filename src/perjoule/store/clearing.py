"""Clears entries of `trials` that the journal does not list: unfinished ones go, possibly measured ones are set aside.

Everything else belongs to somebody else: it stays as it is, and is named. No link is followed.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from perjoule.machine import removal
from perjoule.model.errors import MachineError
from perjoule.store.disk import sync

ASIDE = "set-aside"
TRIAL = re.compile(r".+-\d+c-r\d+-[0-9a-f]{8}")  # as `Trial.id` makes them
ATTEMPT = re.compile(r"(attempt|partial)-([1-9]\d*)")


def refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Refuse to write through a link. Raises MachineError."""
    for path in (folder / name for name in names):
        if path.is_symlink():
            advice = "replace it with what it points to (the whole results folder may be behind a link)"
            raise MachineError(
                "this is a symbolic link; perjoule does not write through links in a results folder", where=str(path), next=advice
            )


def clear(folder: Path, kept: frozenset[Path]) -> Iterator[str]:
    """Clear the trials of a results folder; yield a sentence for each thing that was set aside or left.

    Args:
        folder: the results folder, locked.
        kept: the folders of the attempts that the journal lists.

    Raises:
        OSError: the disk fails.
        MachineError: a folder was replaced by a link.
    """
    refuse_links(folder, (ASIDE,))
    named = {attempt.parent for attempt in kept}
    for trial in sorted((folder / "trials").iterdir()):
        if not removal.is_folder(trial) or not (trial in named or TRIAL.fullmatch(trial.name)):
            if trial not in named:
                yield _left(trial)
            continue
        for attempt in sorted(trial.iterdir()):
            if attempt not in kept:
                yield from _clear_attempt(folder, attempt)
        removal.remove_empty(trial)


def _clear_attempt(folder: Path, attempt: Path) -> Iterator[str]:
    called = ATTEMPT.fullmatch(attempt.name)
    if not called or not removal.is_folder(attempt):
        yield _left(attempt)
    elif called[1] == "attempt" or (not (attempt / removal.MARK).exists() and (attempt / "record.json").exists()):
        target = _set_aside(folder, attempt)
        yield f"{attempt}: the journal does not list this attempt; set aside as {target.relative_to(folder)}"
    else:
        yield from map(_left, removal.remove_folder(attempt))


def _left(path: Path) -> str:
    return f"{path}: left alone because perjoule did not make it; move it out of the results folder"


def _set_aside(folder: Path, attempt: Path) -> Path:
    """Move an attempt out of the way without overwriting anything. Raises OSError."""
    (folder / ASIDE).mkdir(exist_ok=True)
    name = f"{attempt.parent.name}-{attempt.name}"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    target = next(path for path in (folder / ASIDE / one for one in names) if not path.exists() and not path.is_symlink())
    attempt.rename(target)
    for path in (folder / ASIDE, folder, attempt.parent):
        sync(path)
    return target


def set_aside(folder: Path) -> tuple[str, ...]:
    """Name the attempts that were set aside in a results folder."""
    there = folder / ASIDE
    return tuple(sorted(path.name for path in there.iterdir())) if removal.is_folder(there) else ()


def next_number(trial: Path, numbers: Iterable[int]) -> int:
    """Return the number of a trial's next attempt: after all that the journal lists, and all others that exist."""
    there = (ATTEMPT.fullmatch(path.name) for path in trial.glob("*-*"))
    return 1 + max((*numbers, *(int(one[2]) for one in there if one)), default=0)
