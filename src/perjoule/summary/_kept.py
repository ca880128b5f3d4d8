"""Computed numbers, kept with a digest of their inputs that shows whether they still hold.

Nothing here has to succeed: if a folder can't be written, numbers are computed again next time.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from perjoule.machine import removal
from perjoule.store import Results

FOLDER = "summary"
MEASURED = ("record.json", "series.parquet")  # of an attempt
# Of a results folder: not what numbers are computed from. What is in `trials` the journal names.
_DERIVED = frozenset({FOLDER, "trials", "report.html", "table.json", "lock", "alignment"})
MOST_BYTES = 256 * 2**20
T = TypeVar("T")


def digest(results: Results) -> str:
    """Return the digest of a results folder's inputs."""
    folder = results.folder
    own = [path for path in folder.iterdir() if path.name not in _DERIVED and not path.name.endswith(".partial")]
    inputs = [file for path in own for file in ([path] if path.is_file() else path.rglob("*"))]
    attempts = [one for trial in _folders(folder / "trials") for one in _folders(trial)]
    return digest_of(states(folder, [*sorted(inputs), *(attempt / name for attempt in sorted(attempts) for name in MEASURED)]))


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as found:
        return [Path(one.path) for one in found if one.is_dir(follow_symlinks=False)]
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
    """Return the state of the code: any change in perjoule counts, because a list of the relevant modules would be incomplete."""
    package = Path(str(files("perjoule")))
    found = sorted(path for path in package.rglob("*.*") if path.suffix in (".py", ".toml"))
    return "".join((f"numpy {np.__version__}\n", *states(package, found)))


def place(results: Results, name: str) -> Path:
    """Return the path of a kept file."""
    return results.folder / FOLDER / f"{name}.json"


@cache
def _format(cls: type[Any]) -> TypeAdapter[tuple[Any]]:
    kept: Any = tuple.__class_getitem__((cls,))  # a dataclass by itself takes no settings
    return TypeAdapter(kept, config=ConfigDict(ser_json_inf_nan="constants"))


def _seal(digest: str, body: bytes) -> bytes:
    """Return the first line of a file, which proves that neither its inputs nor its content have changed."""
    return hashlib.sha256(digest.encode() + body).hexdigest().encode()


def read(path: Path, digest: str, cls: type[T]) -> T | None:
    """Read kept numbers; None if they are missing, or they or their inputs have changed since."""
    with suppress(OSError, ValidationError):
        if path.stat().st_size <= MOST_BYTES:
            seal, _, body = path.read_bytes().partition(b"\n")
            if seal == _seal(digest, body):
                return _format(cls).validate_json(body)[0]
    return None


def write(path: Path, digest: str, found: object) -> None:
    """Keep computed numbers."""
    with suppress(OSError):
        if path.parent.is_symlink():
            return
        path.parent.mkdir(exist_ok=True)
        body = _format(type(found)).dump_json((found,))
        partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(_seal(digest, body) + b"\n" + body)
            partial.replace(path)
        except OSError:
            removal.remove_file(partial)
            raise
