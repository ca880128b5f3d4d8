"""What processes of one run of pytest have in common: folders that are made once, and what one of them
does at a time.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO

import pytest


@contextlib.contextmanager
def one_at_a_time(factory: pytest.TempPathFactory, name: str) -> Generator[IO[str]]:
    """Let one process of this run of pytest at a time into the block; yields a file of all of them."""
    base = factory.getbasetemp()
    base = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with (base / f"{name}.lock").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Have a folder of this name made, in the folders of this run of pytest; return where.

    What reads it leaves it as it is.
    """
    with one_at_a_time(factory, name) as place:
        if not (folder := place.read()):
            folder = tempfile.mkdtemp(prefix=f"{name}-", dir=Path(place.name).parent)
            make(Path(folder))
            place.write(folder)
            place.flush()
    return Path(folder)
