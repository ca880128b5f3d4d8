"""The JSON of a tool in a file that has other text, too: progress and warnings around it, or inside it,
and "nan" for numbers.
"""

import re
from typing import Any

from perjoule.machine.untrusted import check_size, json_at

MOST_TRIES = 100  # braces that begin no JSON; each try may read the whole file
_BEGIN = re.compile(r"^[ \t]*\{", re.MULTILINE)
_NAN = re.compile(r"(?<=[:\[,])(\s*)[-+]?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
# In JSON no line begins with a word: tools write each value after its key.
_STRAY = re.compile(r"^[ \t]*(?!(?:null|true|false)\b)[A-Za-z<].*$", re.MULTILINE)


def documents(text: str, key: str) -> tuple[dict[str, Any], ...]:
    """Find the JSON objects with a key, in order.

    Numbers that tools write as "nan" or "inf" become None.

    Raises:
        ValueError: none is complete, or one is truncated.
    """
    check_size(text)
    plain = _NAN.sub(r"\1 null", text)
    wanted_count = len(re.findall(rf'"{key}"\s*:', text))
    fault = "it has no JSON of that tool"
    for attempt in (plain, _STRAY.sub("", plain)):
        objects, complaint = _objects(attempt)
        matching = tuple(candidate for candidate in objects if key in candidate)
        if matching and len(matching) == wanted_count:
            return matching
        fault = complaint or fault
    raise ValueError(f"it is truncated or empty ({fault})")


def _objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """Return the objects of a text, and why the first brace that begins none doesn't."""
    objects: list[dict[str, Any]] = []
    at, fault, tries_count = 0, "", 0
    while tries_count < MOST_TRIES and (begin := _BEGIN.search(text, at)) is not None:
        try:
            value, at = json_at(text, begin.end() - 1)
        except ValueError as error:
            fault, at, tries_count = fault or str(error), begin.end(), tries_count + 1
        else:
            objects.append(value)
    return objects, fault
