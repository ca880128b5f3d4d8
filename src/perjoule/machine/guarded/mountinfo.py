"""What is mounted, as the kernel lists it: https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html

Any user may mount by FUSE, at a path of any bytes, of which the kernel escapes blanks, tabs, newlines and
backslashes. So only a newline ends a line, and only a blank a field: Python takes many other characters for
them.
"""

import re
from pathlib import Path
from typing import NamedTuple

_ESCAPED = re.compile(rb"\\([0-3][0-7]{2})")
_BY_USER = re.compile(r"(?<![^,])user_id=([0-9]+)(?![^,])")
_LEAST_COUNT, _LEAST_BEHIND_COUNT = 5, 2  # fields before and behind " - "


class Mount(NamedTuple):
    """A line of mountinfo."""

    number: str  # of its device, "8:16"; one of no device on btrfs and ZFS
    root: str  # what of the file system is seen there
    place: str
    kind: str
    source: str
    uid: int  # of the user who has mounted it, by FUSE; 0 of all others


def read(path: Path = Path("/proc/self/mountinfo")) -> str:
    """Read a list of this machine; bytes that are not UTF-8 stay as they are. Raises OSError."""
    return path.read_bytes().decode(errors="surrogateescape")


def parsed(text: str) -> list[Mount]:
    """Parse a list; the last one of a place is the one that is seen. Raises ValueError."""
    mounts: list[Mount] = []
    for line in filter(None, text.split("\n")):
        fields, behind = (part.split(" ") for part in line.partition(" - ")[::2])
        if len(fields) < _LEAST_COUNT or len(behind) < _LEAST_BEHIND_COUNT:
            raise ValueError(f"mountinfo is not as the kernel writes it: {line[:60]!r}")
        number, root, place, kind, source = map(unescaped, (*fields[2:5], *behind[:2]))
        by = _BY_USER.search(behind[-1])
        mounts.append(Mount(number, root, place, kind, source, int(by[1]) if by else 0))
    return mounts


def unescaped(text: str) -> str:
    """Return a path as it is, without what is written for blanks here and in /proc/swaps."""
    plain = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), text.encode(errors="surrogateescape"))
    return plain.decode(errors="surrogateescape")
