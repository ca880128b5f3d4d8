"""Folders on this machine that stand for those of hosts: the output of their daemons is written there.

A host may be this machine, or see the same folder (a shared home). Then its keeper has made the folder, which
holds all that undoes what the run has done, and the keeper alone removes it, after that: only what we made
bears our mark.
"""

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from perjoule.machine import guarded, removal
from perjoule.model.errors import MachineError

_MARK = "perjoule-logs"


def make(folder: Path) -> None:
    """Make the folder on this machine that stands for a host's, for logs, unless its keeper has made it here.

    Raises MachineError: it can't be made, or others could change it.
    """
    root = folder.parent
    try:
        above = _locked(root)
        try:
            names = [path.name for path in root.iterdir()]
            if removal.MARK not in names:
                if names:
                    raise MachineError(f"{root} is not ours", next="set work")
                removal.mark(root)
            # the host is this machine, or both see the same folder
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder.name, guarded.MODE, dir_fd=above)
                (folder / _MARK).write_text("logs of daemons, by perjoule\n")
        finally:
            os.close(above)
    except OSError as error:
        problem = f"can't make a folder for logs: {(error.strerror or str(error)).lower()}"
        raise MachineError(problem, where=str(error.filename or folder), next="set work") from None


def remove(folder: Path) -> None:
    """Remove it if we have made it, and the folder of runs if nothing else is in it.

    What a keeper made is the keeper's.
    """
    root = folder.parent
    with contextlib.suppress(OSError):
        above = _locked(root, make=False)
        try:
            # else it is a keeper's, who has to undo what it has done
            if not (folder / removal.MARK).exists():
                removal.remove_folder(folder, mark=_MARK)
            if [path.name for path in root.iterdir()] == [removal.MARK]:
                removal.remove_file(root / removal.MARK)
                if not removal.remove_empty(root):  # a host that shares this folder has come
                    removal.mark(root)
        finally:
            os.close(above)


def _locked(root: Path, *, make: bool = True) -> int:
    """Open the folder of runs, locked against keepers on this machine until it is closed. Raises OSError."""
    while True:
        above = guarded.opened(root, make=make)
        try:
            if os.fstat(above).st_uid != os.geteuid():
                raise PermissionError(errno.EPERM, "belongs to another user", str(root))
            os.fchmod(above, guarded.MODE)  # others can't open it, so they can't lock it
            fcntl.flock(above, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(above), root.stat()):
                    return above
        except BaseException:
            os.close(above)
            raise
        os.close(above)  # removed meanwhile
