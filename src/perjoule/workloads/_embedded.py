"""The JSON of a tool in a file that has other text, too: progress and warnings around it, or inside it,
"nan" for numbers, and the JSON of a program that keeps reports.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from perjoule.machine.untrusted import check_size, json_at

MOST_TRIES = 100  # braces that begin no JSON; each try may read the whole file
_BEGIN = re.compile(r"^[ \t]*(\{|\[\s*\{)", re.MULTILINE)  # an object, or a list of them
_NAN = re.compile(r"(?<=[:\[,])(\s*)[-+]?(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
# In JSON no line begins with a word: tools write each value after its key.
_STRAY = re.compile(r"^[ \t]*(?!(?:null|true|false)\b)[A-Za-z<].*$", re.MULTILINE)


def documents(text: str, key: str) -> tuple[dict[str, Any], ...]:
    """Find the JSON objects with a key, in order, alone or inside of others.

    Numbers that tools write as "nan" or "inf" become None.

    Raises:
        ValueError: none is complete, or one is truncated.
    """
    check_size(text)
    # progress that ends in no line end may stand before an object
    plain = re.sub(rf'(?=\{{\s*"{key}"\s*:)', "\n", _NAN.sub(r"\1 null", text))
    wanted_count = len(re.findall(rf'"{key}"\s*:', text))
    fault = "it has no JSON of that tool"
    for attempt in (plain, _STRAY.sub("", plain)):
        objects, complaint = _values(attempt)
        matching = tuple(_holders(objects, key))
        if matching and len(matching) == wanted_count:
            return matching
        fault = complaint or fault
    raise ValueError(f"it is truncated or empty ({fault})")


def _holders(values: Iterable[Any], key: str) -> Iterator[dict[str, Any]]:
    """Yield the objects with a key, each without those inside it."""
    tables: list[dict[str, Any] | list[Any]] = [value for value in values if isinstance(value, dict | list)]
    for table in tables:
        if isinstance(table, dict) and key in table:
            yield table
        else:
            yield from _holders(table.values() if isinstance(table, dict) else table, key)


def _values(text: str) -> tuple[list[Any], str]:
    """Return the objects and lists of objects of a text, and why the first brace that begins none doesn't."""
    objects: list[Any] = []
    at, fault, tries_count = 0, "", 0
    while tries_count < MOST_TRIES and (begin := _BEGIN.search(text, at)) is not None:
        try:
            value, at = json_at(text, begin.start(1))
        except ValueError as error:
            fault, at, tries_count = fault or str(error), begin.start(1) + 1, tries_count + 1
        else:
            objects.append(value)
    return objects, fault
