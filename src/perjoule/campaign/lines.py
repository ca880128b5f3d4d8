"""The line of each key in a TOML text, which tomllib, having accepted the text, does not report.

It looks at statements (a header or `key = value`, which may run over several lines) and at the tables of a
list, but not at the inside of other values: an error inside one has the line of its key.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

Path = tuple[str | int, ...]  # ("filesystem", 0, "goal"): the key `goal` of the first [[filesystem]]

_PART = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_STATEMENT = re.compile(rf"\s*(?:(?P<brackets>\[\[?)\s*(?P<table>{_KEY})|(?P<key>{_KEY})\s*=)")
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""{1}"{0,2}'
    + r"|'''.*?''''{0,2}"
    + r'|"(?:\\.|[^"\\\n])*"'
    + r"|'[^'\n]*'|\#[^\n]*|[\[\]{}]|\n",
    re.DOTALL,
)


def key_lines(text: str) -> Mapping[Path, int]:
    """Find the line (from 1) of every table and key of a valid TOML text."""
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}  # how many [[...]] of that name there are so far
    table: Path = ()
    for line, statement in _statements(text):
        match = _STATEMENT.match(statement)
        if match is None:
            continue
        if match["key"]:
            path = (*table, *_parts(match["key"]))
            lines.setdefault(path, line)
            lines |= {(*path, n): inner for n, inner in enumerate(_table_lines(statement, line))}
            continue
        table = _indexed(_parts(match["table"]), counts, new=match["brackets"] == "[[")
        for path in (table, _parts(match["table"])):  # the name alone stands for the first of several
            lines.setdefault(path, line)
    return lines


def line_of(path: Path, lines: Mapping[Path, int]) -> int | None:
    """Return the line of a key, or of the innermost table around it that has one."""
    return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)


def _statements(text: str) -> list[tuple[int, str]]:
    """Split the text into statements, each with the number of its first line."""
    statements: list[tuple[int, str]] = []
    start, first, line, depth = 0, 1, 1, 0
    for token in _TOKEN.finditer(text):
        lexeme = token.group()
        depth += (lexeme in ("[", "{")) - (lexeme in ("]", "}"))
        line += lexeme.count("\n")
        if lexeme == "\n" and depth == 0:
            statements.append((first, text[start : token.start()]))
            start, first = token.end(), line
    return [*statements, (first, text[start:])]


def _table_lines(statement: str, line: int) -> list[int]:
    """Return the lines of the tables in `key = [{...}, {...}]`; a table in braces is on one line."""
    table_lines: list[int] = []
    inside = ""
    for token in _TOKEN.finditer(statement):
        lexeme = token.group()
        table_lines += [line] if (inside, lexeme) == ("[", "{") else []
        inside = inside + lexeme if lexeme in ("[", "{") else inside[:-1] if lexeme in ("]", "}") else inside
        line += lexeme.count("\n")
    return table_lines


def _parts(key: str) -> tuple[str, ...]:
    """Split a dotted key as TOML does: `a."b.c"` is ("a", "b.c")."""
    value: Any = tomllib.loads(f"{key} = 0")
    parts: list[str] = []
    while value != 0:
        parts += value
        value = value[parts[-1]]
    return tuple(parts)


def _indexed(names: tuple[str, ...], counts: dict[Path, int], *, new: bool) -> Path:
    """Return which of the tables of that name is meant: the last one so far, or the next one."""
    path: Path = ()
    for n, name in enumerate(names, start=1):
        path = (*path, name)
        if new and n == len(names):
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path
