"""Names of files that mean one file on every computer: printed as they are, and kept apart by every file
system.

https://learn.microsoft.com/windows/win32/fileio/naming-a-file,
https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
"""

import re
from collections.abc import Iterable
from unicodedata import normalize

MOST_FOLDERS = 20  # results have 5
MOST_NAME_BYTES = 255  # of ext4, XFS, NTFS and APFS
_MOST_SHOWN = 100
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])( *\..*)?", re.IGNORECASE)
_RESERVED_CHARACTERS = frozenset('<>:"|?*\\')


def fault(path: str) -> str:
    """Return why a relative path in POSIX notation does not name one file on every computer; "" if it
    does.
    """
    parts = path.split("/")
    if len(parts) > MOST_FOLDERS:
        return f"lies more than {MOST_FOLDERS} folders deep"
    return next((lack for part in parts if (lack := _fault_of_name(part))), "")


def quoted(path: str) -> str:
    """Return a path in quotes, whatever is in it: what is not printed as an escape sequence, and no more
    than a line.
    """
    text = path if path.isprintable() else ascii(path)[1:-1]
    return f'"{text}"' if len(text) <= _MOST_SHOWN else f'"{text[:_MOST_SHOWN]}..."'


def _fault_of_name(name: str) -> str:
    if name in ("", ".", ".."):
        return "leads elsewhere, or is empty"
    # control and formatting characters, which turn the direction of text, and odd blanks
    if not name.isprintable():
        return "has a character that is not printed"
    if len(name.encode()) > MOST_NAME_BYTES:
        return f"has a part of more than {MOST_NAME_BYTES} bytes"
    if name != name.strip(" ") or name.endswith("."):
        return "has a part that begins or ends with a blank, or ends with a full stop"
    if _RESERVED.fullmatch(name) or _RESERVED_CHARACTERS & set(name):
        return "is reserved on Windows"
    return ""


def clash(paths: Iterable[str]) -> tuple[str, str]:
    """Return the first path that some file system takes for an earlier one, and that one; ("", "") if all can
    lie side by side.

    Capitals and composed characters don't distinguish names everywhere, and no file is the folder of another.
    """
    # each path and folder by what file systems may make of it; whether it is a file
    spelled: dict[str, tuple[str, bool]] = {}
    for path in paths:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            part, is_file = "/".join(parts[:depth]), depth == len(parts)
            before = spelled.get(folded := normalize("NFD", normalize("NFD", part).casefold()))
            if before and (is_file or before != (part, False)):
                return path, before[0]
            spelled[folded] = part, is_file
    return "", ""
