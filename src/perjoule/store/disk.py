"""Files that are there whole or not at all, and a disk's refusals in words."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from pathlib import Path

from perjoule.errors import MachineError

FULL = (ENOSPC, EDQUOT)


@contextmanager
def spoken(path: Path) -> Generator[None]:
    """Turn what the disk refuses, and what it holds damaged (ValueError), into a MachineError that says where and what next."""
    try:
        yield
    except OSError as error:
        place = str(error.filename or path)
        if error.errno in FULL:
            raise MachineError("the disk is full", where=place, next="make room, then `perjoule resume`") from error
        reason = (error.strerror or str(error)).lower()
        raise MachineError(reason, where=place, next="choose a folder that you may write, on a disk that works") from error
    except ValueError as error:
        raise MachineError(
            f"the file is damaged: {error}", where=str(path), next="restore it from a copy, or move this attempt away"
        ) from error


def write(path: Path, text: str) -> None:
    """Write a file and wait until it is on the disk. Raises OSError."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, text: str) -> None:
    """Write a file so that it is there whole or as it was. Raises OSError."""
    partial = path.with_name(f"{path.name}.partial")
    write(partial, text)
    partial.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
