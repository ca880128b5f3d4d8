"""An open folder, into which is written by its descriptor: whoever renames it, or puts a link in its place,
leads nothing astray.

A path is resolved at each use; a descriptor is one folder, whatever becomes of its name. All that is written
into a results folder, or the folder of a tuning, goes through a `Place`.
"""

import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from errno import EEXIST, EINVAL, ELOOP, ENOTDIR
from pathlib import Path, PurePosixPath

from perjoule.machine import removal
from perjoule.machine.strangers import meddlers
from perjoule.model.errors import MachineError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OTHERS = stat.S_IWGRP | stat.S_IWOTH  # may write
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class OpenFolder:
    """An open folder. Names are of what lies directly in it, and no link is followed to them."""

    path: Path  # as the user names it, for messages
    descriptor: int

    @property
    def through(self) -> Path:
        """A path to this very folder for as long as it is open, for this process: in messages, `user_path`
        gives the user's path.
        """
        return Path("/proc/self/fd", str(self.descriptor))

    @property
    def names(self) -> frozenset[str]:
        """The names of what lies in it. Raises OSError."""
        return frozenset(path.name for path in self.through.iterdir())

    def user_path(self, path: Path) -> Path:
        """Return the user's path of something below `through`."""
        return self.path / path.relative_to(self.through)

    @contextmanager
    def below(self, name: str) -> Generator["OpenFolder"]:
        """Open a folder in it. Raises OSError: it is a link, or no folder."""
        with _entered(self.path / name, name, self.descriptor) as place:
            yield place

    @contextmanager
    def made(self, name: str, *, durably: bool = True) -> Generator["OpenFolder"]:
        """Open a folder in it, and make it first if it is not there. Raises OSError."""
        with suppress(FileExistsError):
            self.make(name, durably=durably)
        with self.below(name) as place:
            yield place

    def make(self, name: str, mode: int = 0o777, *, durably: bool = True) -> None:
        """Make a folder in it, durably unless it is synced later with all else.

        Raises FileExistsError, OSError.
        """
        os.mkdir(name, mode, dir_fd=self.descriptor)
        if durably:
            self.sync()

    @contextmanager
    def next_number(self, name: str) -> Generator["OpenFolder"]:
        """Make and open the next of the numbered folders in a folder, which is made if it is not there.

        Raises OSError.
        """
        with self.made(name) as top:
            number = 1 + max((int(number) for number in top.names if number.isdecimal()), default=0)
            top.make(str(number))
            with top.below(str(number)) as place:
                yield place

    @property
    def mode(self) -> int:
        """Its permissions."""
        return os.fstat(self.descriptor).st_mode & 0o777

    def sync(self) -> None:
        """Wait until the names in it are on the disk. Raises OSError."""
        os.fsync(self.descriptor)

    def put(self, name: str, content: str | bytes, *, durably: bool = True) -> None:
        """Write a file atomically: after a crash it is the old one or the new one, unless it is synced later
        with all else.

        Args:
            name: its own, or a path relative to this folder, whose folders are made.
            content: text in UTF-8, or bytes.
            durably: wait until it is on the disk.

        Raises:
            OSError: it can't be written, or a folder on the way is a link.
        """
        *above, file_name = PurePosixPath(name).parts
        if above:
            with self.made(above[0]) as place:
                place.put(str(PurePosixPath(*above[1:], file_name)), content)
            return
        raw = content.encode() if isinstance(content, str) else content
        partial = f"{file_name}.partial"
        removal.remove_file(self.through / partial)  # a killed writer's, or a link
        try:
            with os.fdopen(os.open(partial, _NEW, 0o666, dir_fd=self.descriptor), "wb") as file:
                file.write(raw)
                if durably:
                    file.flush()
                    os.fsync(file.fileno())
            self.rename(partial, file_name)
        except OSError:
            removal.remove_file(self.through / partial)
            raise
        if durably:
            self.sync()

    def rename(self, name: str, new: str, to: "OpenFolder | None" = None) -> None:
        """Rename what lies in it, also into another folder of the same file system. Raises OSError."""
        os.rename(name, new, src_dir_fd=self.descriptor, dst_dir_fd=(to or self).descriptor)

    def holds(self, name: str, place: "OpenFolder") -> bool:
        """Whether a name in it is that of an open folder. Raises OSError: there is no such name."""
        return os.path.samestat(
            os.stat(name, dir_fd=self.descriptor, follow_symlinks=False), os.fstat(place.descriptor)
        )

    def opened(self, name: str, flags: int) -> int:
        """Open a file of ours that has no other name.

        Raises OSError: it is a link, a pipe, a device, or can't be opened.
        """
        descriptor = os.open(
            name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.descriptor
        )
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
            os.close(descriptor)
            kind = "a pipe or a device" if state.st_nlink == 1 else "a file with a second name (hard link)"
            raise OSError(EINVAL, f"not a file of our own, but {kind}", str(self.path / name))
        return descriptor


def give(folder: OpenFolder, uid: int, gid: int, above_count: int = 0) -> None:
    """Give another user what root made in a folder, and this many of the folders above it; what has other
    names stays.

    Raises OSError.
    """
    for _, _, names, inside in os.fwalk(".", topdown=False, dir_fd=folder.descriptor, follow_symlinks=False):
        for name in (*names, "."):
            _give(name, inside, uid, gid)
    with ExitStack() as opened:
        below = folder.descriptor
        for _ in range(above_count):
            below = os.open("..", _FOLDER, dir_fd=below)
            opened.callback(os.close, below)
            _give(".", below, uid, gid)


def _give(name: str, folder: int, uid: int, gid: int) -> None:
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        state = os.fstat(descriptor)
        file = stat.S_ISREG(state.st_mode) and state.st_nlink == 1
        if state.st_uid == 0 and (file or (stat.S_ISDIR(state.st_mode) and not state.st_mode & _OTHERS)):
            os.chown(f"/proc/self/fd/{descriptor}", uid, gid)
    finally:
        os.close(descriptor)


@contextmanager
def entered(folder: Path) -> Generator[OpenFolder]:
    """Open a folder that results are written into; it may be behind a link.

    Raises:
        MachineError: we are root, and another user could replace it.
        OSError: it can't be opened.
    """
    require_ours(folder)
    with _entered(folder, folder, None) as place:
        yield place


def replace_file(path: Path, content: str) -> None:
    """Write a file that a user names atomically: after a crash it is the old one or the new one.

    Raises OSError.
    """
    with _entered(path.parent, path.parent, None) as folder:
        folder.put(path.name, content)


def require_ours(folder: Path) -> None:
    """Require, if we are root, that no other user can replace a folder, which need not exist.

    Raises MachineError, OSError.
    """
    if whose := meddlers(folder):
        raise MachineError(
            f"{whose}, so root's results could be led elsewhere",
            where=str(folder),
            next=(
                "choose a folder below one that belongs to root and that nobody else can write to, or run "
                "as its owner"
            ),
        )


def make_folders(folder: Path) -> None:
    """Make a folder and those above it, each of them durably. Raises MachineError, OSError."""
    require_ours(folder)
    absent = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(absent):
        path.mkdir(exist_ok=True)
        with _entered(path.parent, path.parent, None) as above:
            above.sync()
    if not folder.is_dir():
        raise OSError(EEXIST, os.strerror(EEXIST), str(folder))


@contextmanager
def _entered(user_path: Path, name: str | Path, above: int | None) -> Generator[OpenFolder]:
    try:
        descriptor = os.open(name, _FOLDER | (0 if above is None else os.O_NOFOLLOW), dir_fd=above)
    except OSError as error:
        if error.errno == ENOTDIR and above is not None and _is_link(str(name), above):
            error = OSError(ELOOP, os.strerror(ELOOP), str(user_path))
        error.filename = str(user_path)
        raise error from None
    try:
        yield OpenFolder(user_path, descriptor)
    finally:
        os.close(descriptor)


def _is_link(name: str, above: int) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    return False
