"""Results that took long to compute, each in a file with a seal: a digest of its content and of its inputs.

Nothing here has to succeed: a result that can't be kept is computed again next time.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from perjoule.machine import removal
from perjoule.machine.strangers import meddlers
from perjoule.machine.untrusted import bytes_of

MOST_BYTES = 256 * 2**20


def in_home(name: str) -> Path:
    """Return the place of a result that belongs to this user rather than to a results folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perjoule" / name


def read(path: Path, origin: str) -> bytes | None:
    """Read a kept result; None if it is missing, or it or its inputs (`origin`) have changed since."""
    with suppress(OSError, ValueError):
        seal, _, text = bytes_of(path, MOST_BYTES).partition(b"\n")
        if seal == _seal(origin, text):
            return text
    return None


def write(path: Path, origin: str, text: bytes) -> None:
    """Keep a result, whole or not at all, and never through a link."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        partial = Path("/proc/self/fd", str(folder), f"{path.name}.{os.getpid()}.partial")
        try:
            if not meddlers(path.parent):
                removal.remove_file(partial)  # a killed writer's, or a link
                with partial.open("xb") as file:
                    file.write(_seal(origin, text) + b"\n" + text)
                os.rename(partial.name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            removal.remove_file(partial)
            raise
        finally:
            os.close(folder)


def _seal(origin: str, text: bytes) -> bytes:
    """Return the first line of a file, which proves that neither its inputs nor its content have changed."""
    return hashlib.sha256(origin.encode() + text).hexdigest().encode()
