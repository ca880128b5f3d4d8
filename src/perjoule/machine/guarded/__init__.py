"""Folders that nobody but us and root can change or lead elsewhere: opened part by part, each judged by its
descriptor. What another user has mounted is none: by FUSE they say whose all is in it.

What is judged and then used by its path is the same folder, since only its owner and root could put another
there.
"""

import errno
import os
import stat
from collections.abc import Collection
from pathlib import Path

from perjoule.machine.guarded import mountinfo

_PART = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS_COUNT = 40  # as the kernel follows
MODE = 0o711  # of folders that are made: others pass through, and can't list or lock them


def opened(path: Path, *, make: bool = False, trusted: Collection[int] = ()) -> int:
    """Open a folder. A link on the way is followed if it is ours or root's, and judged as the rest of the way
    is.

    Args:
        path: the folder.
        make: whether to make it, and what is missing above it.
        trusted: users (uid) who are as good as we are.

    Raises:
        OSError: it can't be opened or made; PermissionError if another user could write there, or rename what
            is on the way.
    """
    lent = mounted_by_others(trusted)
    missing = list(reversed(path.absolute().parts[1:]))
    descriptor, place, links_count = os.open("/", _PART), Path("/"), 0
    try:
        _judge(os.fstat(descriptor), place, trusted)
        while missing:
            part = missing.pop()
            if (step := str(place / part)) in lent:  # before it is touched: it may never answer
                raise PermissionError(errno.EPERM, "another user has mounted it", step)
            if (target := _link(part, descriptor, place / part, trusted)) is not None:
                links_count += 1
                if links_count > _MOST_LINKS_COUNT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                missing += reversed(target.parts)
                continue
            made = make and part not in ("/", "..") and _made(part, descriptor)
            below = os.open(part, _PART, dir_fd=descriptor)
            os.close(descriptor)
            descriptor, place = below, Path(os.path.normpath(place / part))
            _judge(os.fstat(descriptor), place, trusted)
            if made:
                os.fchmod(descriptor, MODE)  # whatever the umask is
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def require(path: Path, *, make: bool = False, trusted: Collection[int] = ()) -> None:
    """Require that a folder is of this kind. Raises OSError, as `opened` does."""
    os.close(opened(path, make=make, trusted=trusted))


def mounted_by_others(trusted: Collection[int] = ()) -> frozenset[str]:
    """Return where other users have mounted something, but for these (uid). Raises OSError."""
    ours = (0, os.geteuid(), *trusted)
    return frozenset(mount.place for mount in mountinfo.parsed(mountinfo.read()) if mount.uid not in ours)


def _link(part: str, above: int, place: Path, trusted: Collection[int]) -> Path | None:
    """Return where a link leads, None if this is not one. Raises PermissionError: it is another user's."""
    try:
        state = os.stat(part, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(state.st_mode):
        return None
    if state.st_uid not in (0, os.geteuid(), *trusted):
        raise PermissionError(errno.EPERM, "a link of another user", str(place))
    return Path(os.readlink(part, dir_fd=above))


def _made(part: str, above: int) -> bool:
    try:
        os.mkdir(part, 0o700, dir_fd=above)
    except FileExistsError:
        return False
    return True


def _judge(state: os.stat_result, place: Path, trusted: Collection[int]) -> None:
    """Refuse a folder that others could change.

    With the sticky bit they can't rename or remove what is ours or root's.
    """
    if state.st_uid not in (0, os.geteuid(), *trusted):
        raise PermissionError(errno.EPERM, "belongs to another user", str(place))
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX:
        raise PermissionError(errno.EPERM, "other users can write to it, and it is not sticky", str(place))
