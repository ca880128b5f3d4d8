"""Files that are there whole or not at all, and a disk's refusals in words."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from errno import EDQUOT, ELOOP, ENOSPC
from pathlib import Path

from perjoule.machine import removal
from perjoule.model.errors import MachineError

FULL = (ENOSPC, EDQUOT)
PATIENCE_S = 5.0  # for which a full disk is waited for; meanwhile what comes is kept in memory
MOST_WAITING_BYTES = 64 * 1024**2


class Patient:
    """A new file that only grows. While the disk is full what is written waits in memory, and goes out when there is room.

    Not thread-safe. It may be given to whatever writes into a binary file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.closed = path, False
        self._file = path.open("xb", buffering=0)
        self._waiting = bytearray()
        self._full_since_s: float | None = None  # on CLOCK_MONOTONIC

    def write(self, data: bytes) -> int:
        """Take bytes, and write as much as the disk takes now. Raises OSError where the disk has been full for too long."""
        self._waiting += data
        self.flush()
        return len(data)

    def flush(self) -> None:
        """Write what waits. Raises OSError: the disk has been full for PATIENCE_S, or fails in another way."""
        try:
            self._write()
            self._full_since_s = None
        except OSError as error:
            if error.errno not in FULL or not self._file.tell():  # a disk that is full from the start is reported at once
                raise
            now_s = time.monotonic()
            self._full_since_s = now_s if self._full_since_s is None else self._full_since_s
            if now_s - self._full_since_s > PATIENCE_S or len(self._waiting) > MOST_WAITING_BYTES:
                raise

    @property
    def waiting(self) -> bytes:
        """What is not in the file yet; after a failed `close`, what is lost."""
        return bytes(self._waiting)

    def tell(self) -> int:
        """Where the next byte goes: bytes written and waiting."""
        return self._file.tell() + len(self._waiting)

    def close(self) -> None:
        """Write what waits, and close. Raises OSError where the disk still doesn't take it: the file ends before that."""
        if self.closed:
            return
        try:
            self._write()
        finally:
            self.closed = True
            self._file.close()

    def _write(self) -> None:
        while self._waiting:
            del self._waiting[: self._file.write(self._waiting) or 0]


@contextmanager
def spoken(path: Path) -> Generator[None]:
    """Turn what the disk refuses, and what it holds damaged (ValueError), into a MachineError that says where and what next."""
    try:
        yield
    except OSError as error:
        place = str(error.filename or path)
        if error.errno in FULL:
            raise MachineError("the disk is full", where=place, next="free space, then run `perjoule resume`") from error
        reason = (
            "this is a symbolic link; perjoule does not write through links"
            if error.errno == ELOOP
            else (error.strerror or str(error)).lower()
        )
        raise MachineError(reason, where=place, next="choose a folder that you can write to, on a working disk") from error
    except ValueError as error:
        raise MachineError(
            f"the file is damaged: {error}", where=str(path), next="restore it from a copy, or move this attempt away"
        ) from error


def write(path: Path, text: str) -> None:
    """Write a file and wait until it is on the disk. Raises OSError: it is a link, say."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, text: str) -> None:
    """Write a file so that it is there whole or as it was. Raises OSError."""
    partial = path.with_name(f"{path.name}.partial")
    removal.remove_file(partial)  # a killed writer's, or a link
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
