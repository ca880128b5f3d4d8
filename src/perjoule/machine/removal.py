"""The one place that removes files and folders, and the folders that are ours for as long as a block runs.

A folder is taken away only where it bears our mark: a file in it that says so, removed last, so that a removal may be killed
anywhere and goes on later. No link is followed and no mount is entered. What stays is named.
"""

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Generator
from pathlib import Path

MARK = "perjoule-made-this"
SCRATCH = (
    "perjoule-meter-",
    "perjoule-mpi-",
    "pjs-",
    "perjoule-local-",
    "perjoule-simulated-",
    "perjoule-bundle-",
)  # what names of scratch folders begin with
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SCRATCH = re.compile(f"(?:{'|'.join(SCRATCH)})[a-z0-9_]{{8}}")


def is_folder(path: Path) -> bool:
    """Say whether there is a folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def mark(folder: Path) -> None:
    """Mark a folder as ours. Raises OSError."""
    (folder / MARK).write_text("perjoule made this folder and removes it\n")


def remove_file(path: Path) -> None:
    """Remove a file or a link, if there is one. Raises OSError: it is a folder, say."""
    path.unlink(missing_ok=True)


def remove_empty(folder: Path) -> bool:
    """Remove a folder in which there is nothing; say whether it is gone."""
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def remove_folder(folder: Path, *, mark: str = MARK) -> tuple[Path, ...]:
    """Remove a folder of ours with all that is in it.

    Args:
        folder: an empty one needs no mark.
        mark: the file in it that makes it ours; "" for a folder that the caller has just made itself.

    Returns:
        What is still there: () when all of it is gone, the folder alone when it is not ours.
    """
    try:
        top = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return ()
    except OSError:
        return (folder,)
    try:
        if _mount(top) != _mount_of(folder.parent) or (mark and not _is_file(top, mark) and _names(top)):
            return (folder,)
        left = _empty(top, folder, last=mark)
    except OSError:
        return (folder,)
    finally:
        os.close(top)
    return tuple(left) or (() if remove_empty(folder) else (folder,))


def _empty(top: int, folder: Path, *, last: str = "") -> list[Path]:
    """Remove all that is in an open folder, `last` at the end and only when nothing else is left."""
    left: list[Path] = []
    for name in sorted(_names(top), key=lambda one: one == last):
        if name == last and left:
            break
        try:
            os.unlink(name, dir_fd=top)  # the kernel refuses a folder, and takes a link for itself
        except FileNotFoundError:
            continue
        except IsADirectoryError:
            left += _remove_below(top, name, folder / name)
        except OSError:
            left.append(folder / name)
    return left


def _remove_below(above: int, name: str, path: Path) -> list[Path]:
    try:
        folder = os.open(name, _FOLDER, dir_fd=above)
        try:
            left = _empty(folder, path) if _mount(folder) == _mount(above) else [path]
        finally:
            os.close(folder)
        if not left:
            os.rmdir(name, dir_fd=above)
    except (OSError, RecursionError):
        return [path]
    return left


def _names(folder: int) -> list[str]:
    return os.listdir(folder)  # of an open folder: what its path names could be another by now


def _is_file(folder: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def _mount(descriptor: int) -> str:
    """Which mount an open folder is on; its device, which does not identify a bind mount, if the kernel does not state it."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text().splitlines()
    return next((line for line in lines if line.startswith("mnt_id")), str(os.fstat(descriptor).st_dev))


def _mount_of(folder: Path) -> str:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _mount(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def scratch(prefix: str, within: Path | None = None) -> Generator[Path]:
    """A folder of ours while the block runs, in the temporary directory by default; not readable by others.

    Its lock shows `sweep` that it is in use: that of a killed perjoule is free.

    Raises:
        OSError: it can't be made.
    """
    folder, descriptor = None, -1
    while folder is None:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
        with contextlib.suppress(FileNotFoundError):  # a `sweep` came in between
            descriptor = os.open(made, _FOLDER)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            mark(made)
            folder = made
    try:
        yield folder
    finally:
        remove_folder(folder)
        os.close(descriptor)


def sweep(within: Path | None = None) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Remove the scratch folders whose perjoule was killed.

    Returns:
        What was removed, and a sentence for each folder of such a name that was left; those in use are skipped.
    """
    removed: list[Path] = []
    left: list[str] = []
    for folder in sorted((within or Path(tempfile.gettempdir())).iterdir()):
        if not _SCRATCH.fullmatch(folder.name):
            continue
        try:
            descriptor = os.open(folder, _FOLDER)
        except FileNotFoundError:
            continue
        except OSError as error:
            left.append(f"{folder}: {'a link' if folder.is_symlink() else (error.strerror or 'unreadable').lower()}")
            continue
        try:
            if os.fstat(descriptor).st_uid != os.geteuid():
                left.append(f"{folder}: belongs to another user")
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if use := _use(folder):
                left.append(f"{folder}: {use}")
                continue
            if _only_sockets(descriptor):
                _empty(descriptor, folder)
            if stays := remove_folder(folder):
                left.append(
                    f"{folder}: not marked as made by perjoule" if stays == (folder,) else f"{stays[0]}: can't be removed"
                )
            else:
                removed.append(folder)
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)
    return tuple(removed), tuple(left)


def _use(folder: Path) -> str:
    """What still goes on in a folder whose perjoule is gone; "" where nothing does. Its end may be under way."""
    uses = {
        "a loop device still has its file there": list(Path("/sys/block").glob("loop*/loop/backing_file")),
        "something is still mounted there": [Path("/proc/self/mountinfo")],
        "a process still listens there": [Path("/proc/net/unix")],
    }
    return next((use for use, paths in uses.items() if any(f"{folder.resolve()}/" in _text(path) for path in paths)), "")


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):  # a loop device that is gone by now
        return path.read_text(errors="replace")
    return ""


def _only_sockets(folder: int) -> bool:
    """Whether nothing but sockets is there, as ssh leaves them: nobody's data."""
    kinds = [os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode for name in _names(folder)]
    return all(map(stat.S_ISSOCK, kinds))
