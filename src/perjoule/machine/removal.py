"""The only module that removes files and folders, and scratch folders for the duration of a block.

It removes a folder only if it bears our mark: a file in it, removed last, so a removal can be killed anywhere
and continued later. It follows no link and enters no mount. It names what stays.
"""

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

from perjoule.machine import guarded
from perjoule.machine.guarded import mountinfo

MARK = "perjoule-made-this"
UNDO = "power.end"  # in a scratch folder: what is still to be put back on this machine, so the folder stays
SCRATCH = (
    "perjoule-meter-",
    "perjoule-device-",
    "perjoule-mpi-",
    "pjs-",
    "perjoule-local-",
    "perjoule-power-",
    "perjoule-simulated-",
    "perjoule-bundle-",
    "perjoule-artifact-",
    "perjoule-site-",
    "perjoule-again-",
    "pj-fanout-",
)  # what names of scratch folders begin with
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SCRATCH = re.compile(f"(?:{'|'.join(SCRATCH)})[a-z0-9_]{{8}}")


def is_folder(path: Path) -> bool:
    """Return whether there is a folder here that is not a link to one."""
    return path.is_dir() and not path.is_symlink()


def mark(folder: Path) -> None:
    """Mark a folder as ours. Raises OSError."""
    (folder / MARK).write_text("perjoule made this folder and removes it\n")


def remove_file(path: Path) -> None:
    """Remove a file or a link, if there is one. Raises OSError, for example if it is a folder."""
    path.unlink(missing_ok=True)


def remove_empty(folder: Path) -> bool:
    """Remove a folder if it is empty, and return whether it is gone."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_folder(folder: Path, *, mark: str = MARK) -> tuple[Path, ...]:
    """Remove a folder of ours with its content.

    Args:
        folder: an empty one needs no mark.
        mark: the file in it that makes it ours; "" for a folder that the caller has just made.

    Returns:
        The paths that remain: () if all of it is gone, only the folder if it is not ours.
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
        remaining = _empty(top, folder, last=mark)
    except OSError:
        return (folder,)
    finally:
        os.close(top)
    return tuple(remaining) or (() if remove_empty(folder) else (folder,))


def _empty(top: int, folder: Path, *, last: str = "") -> list[Path]:
    """Remove the content of an open folder, `last` at the end and only if nothing else is left."""
    remaining: list[Path] = []
    for name in sorted(_names(top), key=lambda entry: entry == last):
        if name == last and remaining:
            break
        try:
            os.unlink(name, dir_fd=top)  # the kernel refuses a folder, and takes a link for itself
        except FileNotFoundError:
            continue
        except IsADirectoryError:
            remaining += _remove_below(top, name, folder / name)
        except OSError:
            remaining.append(folder / name)
    return remaining


def _remove_below(above: int, name: str, path: Path) -> list[Path]:
    try:
        folder = os.open(name, _FOLDER, dir_fd=above)
        try:
            remaining = _empty(folder, path) if _mount(folder) == _mount(above) else [path]
        finally:
            os.close(folder)
        if not remaining:
            os.rmdir(name, dir_fd=above)
    except (OSError, RecursionError):
        return [path]
    return remaining


def _names(folder: int) -> list[str]:
    return os.listdir(folder)  # of an open folder: what its path names could be another by now


def _is_file(folder: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def _mount(descriptor: int) -> str:
    """Return the mount of an open folder; if the kernel does not state it, its device, which does not
    identify a bind mount.
    """
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
    """Create a folder of ours for the duration of the block, by default in the temporary directory; others
    can't read it.

    Its lock tells `sweep` that it is in use: the lock of a killed perjoule is free.

    Raises:
        OSError: it can't be made, or, as root, others could put another folder in its place.
    """
    if within is None:
        _require_guarded(Path(tempfile.gettempdir()))
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
        if not (folder / UNDO).exists():
            remove_folder(folder)
        os.close(descriptor)


def sweep(
    within: Path | None = None, *, free: Callable[[Path], str] | None = None
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Remove the scratch folders of killed runs.

    Args:
        within: where they are; by default the temporary directory.
        free: called with each such folder first, to end what is in use there; it returns why the folder has to
            stay, "" if it has not.

    Returns:
        The folders removed, and a sentence for each folder of such a name that stays; those in use are
        skipped.
    """
    removed: list[Path] = []
    reasons: list[str] = []
    try:
        _require_guarded(within or Path(tempfile.gettempdir()))
    except OSError as error:
        return (), (f"{error.filename}: {error.strerror}, so nothing is removed there",)
    lent = guarded.mounted_by_others()
    for folder in sorted((within or Path(tempfile.gettempdir())).iterdir()):
        if not _SCRATCH.fullmatch(folder.name):
            continue
        if str(folder.parent.resolve() / folder.name) in lent:  # there another user says whose it is
            reasons.append(f"{folder}: another user has mounted it")
            continue
        try:
            descriptor = os.open(folder, _FOLDER)
        except FileNotFoundError:
            continue
        except OSError as error:
            reasons.append(
                f"{folder}: {'a link' if folder.is_symlink() else (error.strerror or 'unreadable').lower()}"
            )
            continue
        try:
            if os.fstat(descriptor).st_uid != os.geteuid():
                reasons.append(f"{folder}: belongs to another user")
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            needed = free(folder) if free and _is_file(descriptor, MARK) else ""
            if use := needed or _use(folder):
                reasons.append(f"{folder}: {use}")
                continue
            if _only_sockets(descriptor):
                _empty(descriptor, folder)
            if stays := remove_folder(folder):
                reasons.append(
                    f"{folder}: not marked as made by perjoule"
                    if stays == (folder,)
                    else f"{stays[0]}: can't be removed"
                )
            else:
                removed.append(folder)
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)
    return tuple(removed), tuple(reasons)


def _require_guarded(within: Path) -> None:
    """Require, as root, that nobody else can put another folder in the place of one of ours.

    Raises OSError.
    """
    if os.geteuid() == 0:
        guarded.require(within)


def _use(folder: Path) -> str:
    """Return how a dead run's folder is still in use, "" if it is not. Its end may be under way."""
    if (folder / UNDO).exists():
        return "power states of this machine are still to be put back"
    place = f"{folder.resolve()}/"
    files = (_text(path) for path in Path("/sys/block").glob("loop*/loop/backing_file"))
    mounted = (mount.place for mount in mountinfo.parsed(mountinfo.read()))
    listening = (line.split(maxsplit=7)[-1] for line in _text(Path("/proc/net/unix")).split("\n") if line)
    # Any user has a mount, or a socket, of a longer name with ours in it, and a socket of the very name of a file of ours, in a
    # folder that they alone see in its place.
    if any(file.startswith(place) for file in files):
        return "a loop device still has its file there"
    if any(point.startswith(place) for point in mounted):
        return "something is still mounted there"
    if any(name.startswith(place) and _is_socket(name) for name in listening):
        return "a process still listens there"
    return ""


def _is_socket(path: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    return False


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):  # a loop device that is gone by now
        return path.read_text(errors="replace")
    return ""


def _only_sockets(folder: int) -> bool:
    """Return whether the folder contains only sockets, as ssh leaves them: nobody's data."""
    kinds = [os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode for name in _names(folder)]
    return all(map(stat.S_ISSOCK, kinds))
