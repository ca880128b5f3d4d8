"""Files that are put on a host: written by descriptor, because daemons' users own folders among ours and
may put links there.
"""

import os
import pwd
import secrets
from pathlib import Path

from perjoule.machine.removal import remove_file
from perjoule.model.errors import WorkloadError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FOLDER_MODE = 0o755
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(content: str | bytes, path: Path, *, inside: Path, where: str, mode: int, owner: str) -> None:
    """Write a file, as `Host.put` promises. It replaces what has its name: a link, too.

    Args:
        content: of the file.
        path: of the file.
        inside: the host's folder. No link is followed below it; a path elsewhere is the user's, and so are
            its links.
        where: the host's name.
        mode: permissions, which it has from the first byte on.
        owner: a user's name; "" for ours.

    Raises:
        WorkloadError: it can't be written, or a folder on the way is a link.
    """
    base = inside if path.is_relative_to(inside) else path.parent
    try:
        user = pwd.getpwnam(owner) if owner else None
        if base != inside:
            base.mkdir(parents=True, exist_ok=True)
        folder = os.open(base, _FOLDER)
        try:
            for part in path.parent.relative_to(base).parts:
                made = _made(part, folder)
                below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = below
                # Daemons have to pass, whatever the umask is. Who owns the folder above may have put another
                # one there.
                if (
                    made
                    and os.fstat(folder).st_uid == os.geteuid()
                    and not any(Path("/proc/self/fd", str(folder)).iterdir())
                ):
                    os.fchmod(folder, _FOLDER_MODE)
            _replace(path.name, content.encode() if isinstance(content, str) else content, folder, mode, user)
        finally:
            os.close(folder)
    except (OSError, LookupError) as error:
        raise WorkloadError(f"can't write {path} ({error})", where=where) from None


def _made(name: str, within: int) -> bool:
    """Make a folder in an open one; return False if something of that name is there."""
    try:
        os.mkdir(name, _FOLDER_MODE, dir_fd=within)
    except FileExistsError:
        return False
    return True


def _replace(name: str, content: bytes, folder: int, mode: int, user: pwd.struct_passwd | None) -> None:
    """Write a file of a name that nobody can foresee, and give it its own."""
    new = f".{secrets.token_hex(8)}"
    descriptor = os.open(new, _NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if user:
                os.fchown(descriptor, user.pw_uid, user.pw_gid)
            os.fchmod(descriptor, mode)
        os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove_file(Path("/proc/self/fd", str(folder), new))
        raise
