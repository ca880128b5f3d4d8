"""Files that are written whole or not at all, and disk errors turned into messages."""

import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from errno import EDQUOT, EIO, ELOOP, ENODEV, ENOLCK, ENOSPC, ENOTCONN, ESTALE, ETIMEDOUT
from pathlib import Path

from perjoule.model.errors import DiskFailed, DiskFull, FileDamaged, MachineError, TooManyOpenFiles

FULL = (ENOSPC, EDQUOT)
LOST = (EIO, ESTALE, ENOTCONN, ENODEV, ETIMEDOUT)  # of a disk, of NFS, of FUSE
PATIENCE_S = 5.0  # for which a full disk is waited for; meanwhile what comes is kept in memory
MOST_WAITING_BYTES = 64 * 1024**2
_THROUGH = re.compile(r"/proc/self/fd/\d+")


class Patient:
    """A new file that only grows. While the disk is full, data wait in memory until there is space.

    Not thread-safe. Any code that writes into a binary file can use it.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.closed = path, False
        self._file = path.open("xb", buffering=0)
        self._waiting = bytearray()
        self._full_since_s: float | None = None  # on CLOCK_MONOTONIC

    def write(self, content: bytes) -> int:
        """Accept bytes, and write as many as the disk takes now.

        Raises OSError if the disk has been full for too long.
        """
        self._waiting += content
        self.flush()
        return len(content)

    def flush(self) -> None:
        """Write the waiting data.

        Raises OSError: the disk has been full for PATIENCE_S, or fails in another way.
        """
        try:
            self._write()
            self._full_since_s = None
        except OSError as error:
            # a disk that is full from the start is reported at once
            if error.errno not in FULL or not self._file.tell():
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
        """Write the waiting data, and close.

        Raises OSError if the disk still doesn't take them: the file ends before them.
        """
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


def user_paths(text: str) -> str:
    """Give open folders (`perjoule.store.place`) that a text names the paths by which people know them."""
    return _THROUGH.sub(lambda match: _path_of(match[0]), text)


def _path_of(through: str) -> str:
    try:
        return str(Path(through).readlink())
    except OSError:  # it is closed by now
        return through


@contextmanager
def spoken(path: Path) -> Generator[None]:
    """Turn a disk's error, or damaged content (ValueError), into a MachineError that says where and what
    next.
    """
    try:
        yield
    except OSError as error:
        culprit = path / str(error.filename or "")  # which may be relative to an open folder
        place = user_paths(str(culprit))
        if error.errno in FULL:
            from perjoule.machine.disks import lack_of

            next = "free space, or remove files, then run `perjoule resume`"
            raise DiskFull(lack_of(culprit), where=place, next=next) from error
        if error.errno in LOST:
            raise DiskFailed(
                f"its file system failed ({(error.strerror or str(error)).lower()})",
                where=place,
                next="check its disk, or the mount and its server, then run `perjoule resume`",
            ) from error
        if error.errno in TooManyOpenFiles.NUMBERS:
            raise TooManyOpenFiles(where=place) from error
        if error.errno == ENOLCK:
            advice = (
                "choose a folder on another file system, or mount this one with locks (NFS: start rpc-statd)"
            )
            raise MachineError("its file system has no locks", where=place, next=advice) from error
        reason = (
            "this is a symbolic link; perjoule does not write through links"
            if error.errno == ELOOP
            else (error.strerror or str(error)).lower()
        )
        raise MachineError(
            reason, where=place, next="choose a folder that you can write to, on a working disk"
        ) from error
    except ValueError as error:
        raise FileDamaged(f"the file is damaged: {error}", where=str(path)) from error


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
