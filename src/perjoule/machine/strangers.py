"""Which other users could put something of theirs in the place of a file or folder that root is about to
write.

Whoever may write to a folder, without the sticky bit, may rename and replace what is in it: links included.
"""

import os
import stat
from collections.abc import Collection, Iterator
from errno import ELOOP
from pathlib import Path

from perjoule.machine import guarded

MOST_LINKS_COUNT = 40  # of one path, as in Linux


def meddlers(folder: Path) -> str:
    """Say which user could replace a folder that root uses, or what is in it: "" if none, or if we are not
    root.

    Each folder and link that its path leads through must belong to root, or to the user who called sudo, and each
    folder be closed to all others; one above it may be open to all if it is sticky. Raises OSError: the path
    can't be followed.
    """
    if os.geteuid() != 0 or not _rules_all_users():
        return ""
    trusted, lent = {0, *callers()}, guarded.mounted_by_others(callers())
    *_, last = ways = list(_way(folder.absolute(), lent))
    for step in ways:
        if str(step) in lent:
            return f"another user has mounted {step}"
        state = step.lstat()
        if state.st_uid not in trusted:
            return f"{step} belongs to another user (uid {state.st_uid})"
        if stat.S_ISLNK(state.st_mode):
            continue
        if state.st_mode & stat.S_ISVTX and (step != last or not folder.exists()):
            continue
        if state.st_mode & stat.S_IWOTH:
            return f"all users may write to {step}"
        if state.st_mode & stat.S_IWGRP and state.st_gid != 0:
            return f"all users of group {state.st_gid} may write to {step}"
    return ""


def callers() -> tuple[int, ...]:
    """Return who has called us by sudo (uid), if somebody has: to root, that is no other user."""
    uid = os.environ.get("SUDO_UID", "")
    return (int(uid),) if uid.isdecimal() else ()


def _rules_all_users() -> bool:
    """Whether root here is root of the machine: in a user namespace, files of its real root seem to be
    somebody else's.
    """
    return Path("/proc/self/uid_map").read_text().split()[:2] == ["0", "0"]


def _way(path: Path, ends: Collection[str]) -> Iterator[Path]:
    """Yield each folder that a path leads through, as far as it exists, and each link on the way with its folders.
    The first of `ends` is the last one, and not touched: it may never answer.
    """
    ahead, reached, links_count = list(reversed(path.parts[1:])), Path("/"), 0
    yield reached
    while ahead:
        step = reached / ahead.pop()
        if step.name == "..":
            reached = reached.parent
        elif str(step) in ends:
            yield step
            return
        elif step.is_symlink():
            yield step
            links_count += 1
            if links_count > MOST_LINKS_COUNT:
                raise OSError(ELOOP, os.strerror(ELOOP), str(path))
            target = step.readlink()
            reached = Path("/") if target.is_absolute() else reached
            ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        elif step.is_dir():
            reached = step
            yield reached
        else:
            return
