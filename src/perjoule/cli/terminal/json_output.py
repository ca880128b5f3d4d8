"""Output for scripts: `--json`. Every command prints one object; docs/reference/json.md describes it."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from perjoule.model.doubts import Doubt
from perjoule.model.errors import PerjouleError

if TYPE_CHECKING:
    from perjoule.drivers.protocols import Check

T = TypeVar("T")

VERSION = 2  # of all formats: raised when a key changes its meaning or goes; new keys may come without

PRINTED = "perjoule.json"  # in the context of a command that has printed its object
# what a terminal would obey, and halves of characters, which it could not show: JSON has other words for them
_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_flag = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Machine-readable output, in SI units; see `perjoule docs json`.",
)


def option(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command the option `--json`, with which an error that leaves nothing to print is the object."""

    @wraps(command)
    def reporting(*arguments: object, **values: object) -> T:
        try:
            return command(*arguments, **values)
        except PerjouleError as error:
            if values["as_json"] and not click.get_current_context().meta.get(PRINTED):
                print_json("error", error.data)
            raise

    return _flag(reporting)


def print_json(command: str, content: Mapping[str, object]) -> None:
    """Print what a command found as one JSON object.

    Args:
        command: as it is typed, "meters list".
        content: dataclasses, mappings, sequences and plain values. Numbers that JSON lacks, infinities and
            NaN, become null.
    """
    if context := click.get_current_context(silent=True):
        context.meta[PRINTED] = True
    document = {"format": f"perjoule {command}", "version": VERSION, **content}
    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo(_OBEYED.sub(lambda match: json.dumps(match[0])[1:-1], text))


def plain(value: object) -> Any:
    """Return a value as JSON has it: a dataclass as an object of its fields, a number that is not finite
    as null.
    """
    if isinstance(value, Doubt):
        return {**value.data}
    if isinstance(value, float):
        return value if isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple | Set):
        return [plain(item) for item in cast("Iterable[object]", value)]
    return str(value) if isinstance(value, Path) else value


def checks(all_checks: Sequence["Check"]) -> list[dict[str, object]]:
    """Return checks of this machine and of hosts, with what was found."""
    return [
        {"name": check.name, "ok": check.ok, "needed": check.needed, "detail": check.detail, "fix": check.fix}
        for check in all_checks
    ]
