"""Files that are written whole or not at all, and disk errors turned into messages."""

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
    """A new file that only grows. While the disk is full, data wait in memory until there is space.

    Not thread-safe. Any code that writes into a binary file can use it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.closed = path, False
        self._file = path.open("xb", buffering=0)
        self._waiting = bytearray()
        self._full_since_s: float | None = None  # on CLOCK_MONOTONIC

    def write(self, data: bytes) -> int:
        """Accept bytes, and write as many as the disk takes now. Raises OSError if the disk has been full for too long."""
        self._waiting += data
        self.flush()
        return len(data)

    def flush(self) -> None:
        """Write the waiting data. Raises OSError: the disk has been full for PATIENCE_S, or fails in another way."""
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
        """The data not yet in the file; after a failed `close`, the data lost."""
        return bytes(self._waiting)

    def tell(self) -> int:
        """Return the position of the next byte: bytes written and waiting."""
        return self._file.tell() + len(self._waiting)

    def close(self) -> None:
        """Write the waiting data, and close. Raises OSError if the disk still doesn't take them: the file ends before them."""
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
    """Turn a disk's error, or damaged content (ValueError), into a MachineError that says where and what next."""
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
    """Write a file and wait until it is on the disk. Raises OSError, for example if it is a link."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, text: str) -> None:
    """Write a file atomically: after a crash it is the old one or the new one. Raises OSError."""
    partial = path.with_name(f"{path.name}.partial")
    removal.remove_file(partial)  # a killed writer's, or a link
    try:
        write(partial, text)
        partial.replace(path)
    except OSError:
        removal.remove_file(partial)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
