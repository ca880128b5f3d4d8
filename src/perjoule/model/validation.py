"""What pydantic finds wrong with a document, as sentences: what is wrong, and what was probably meant."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from perjoule.model.units import BYTES, MEANT_BYTES, exact_text, units_of

_KINDS = {  # how pydantic's kinds of value are called by people
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text in quotes",
    "path": "text in quotes",
    "list": "a list",
    "tuple": "a list",
    "dict": "a table",
    "mapping": "a table",
    "dataclass": "a table",
}
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})  # pydantic's kinds of errors
_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_BOUNDS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


class InputFault(NamedTuple):
    """One error of a document."""

    path: tuple[str | int, ...]  # of the key, or of the table that lacks one
    what: str
    advice: str


def explained(
    error: ValidationError,
    kind: object,
    document_name: str,
    *,
    noun: str = "key",
    above: str = "",
    names: Callable[[str], str] = lambda table: table,
    add: Callable[[str], str] = lambda key: f'add {key} = "..."',
    more: Iterable[str] = (),
) -> InputFault:
    """Explain one error: an unknown key first, because it often is a missing one.

    Args:
        error: pydantic's.
        kind: the class that was read: a dataclass or a model of pydantic.
        document_name: what a document of it is called, "a need".
        noun: what its keys are called.
        above: the path of the document in another, "board.rock-5b".
        names: calls a table inside of it, "day", by another name.
        add: advises what to write for a missing key.
        more: keys of the document that the class does not have.
    """
    details = sorted(error.errors(include_url=False), key=lambda detail: detail["type"] not in _UNKNOWN)[0]
    path, fields, field = _walked(kind, details["loc"])
    table = names(_dotted(path[:-1], above)) if path[:-1] else document_name
    if details["type"] in _UNKNOWN:
        known_keys = (*fields, *more) if not path[:-1] else fields
        return InputFault(
            path, f'{table} has no {noun} "{path[-1]}"', instead(str(path[-1]), dict.fromkeys(known_keys))
        )
    if details["type"] in _MISSING:
        lacking = [
            str(keys[-1])
            for detail in error.errors(include_url=False)
            if detail["type"] in _MISSING and (keys := _walked(kind, detail["loc"])[0])[:-1] == path[:-1]
        ]
        quoted = ", ".join(f'"{key}"' for key in dict.fromkeys(lacking))
        return InputFault(path[:-1], f"{table} lacks {quoted}", "; ".join(dict.fromkeys(map(add, lacking))))
    if not path:
        fault, advice = clauses(str(details.get("ctx", {}).get("error", details["msg"])))
        return InputFault(path, f"{document_name}: {fault}" if document_name else fault, advice)
    return InputFault(path, *_fault(details, _dotted(path, above), field))


def _dotted(path: Iterable[str | int], above: str) -> str:
    """Return a path as people write it: "hosts (number 2).name"."""
    text = above
    for part in path:
        text += f" (number {part + 1})" if isinstance(part, int) else f".{part}" if text else part
    return text


def _walked(kind: object, loc: Iterable[str | int]) -> tuple[tuple[str | int, ...], Mapping[str, Any], str]:
    """Follow an error's place through the classes that were read.

    Returns its keys and numbers, without pydantic's names for members of a union; the fields around the last
    key, by their names in the document; and the name of its own field, which ends in the unit.
    """
    path: list[str | int] = []
    fields, field, inside, tagged = dict[str, Any](), "", [kind], False
    for part in loc:
        if (
            isinstance(part, str)
            and not tagged
            and len([member for member in inside if member is not NoneType]) > 1
        ):
            tagged = True
            continue
        tagged = False
        tables = [table for table in map(_fields, inside) if table is not None]
        if tables or isinstance(part, int) or any(_is_mapping(member) for member in inside):
            path.append(part)
            fields = {name: annotation for table in tables for name, annotation in table.items()}
            field, annotation = fields.get(str(part), (str(part), None))
            inside = _parts(annotation) if tables else [item for kind in inside for item in _items(kind)]
    return tuple(path), fields, field


def neighbour(unknown: str, choices: Iterable[str]) -> str | None:
    """Return the word in `choices` that was probably meant, or None."""
    by_lower = {w.lower(): w for w in choices}
    lower = unknown.lower()
    starts = [w for w in by_lower if len(lower) > 2 and (w.startswith(lower) or lower.startswith(w))]
    close = get_close_matches(lower, by_lower, n=1, cutoff=0.6) or starts
    return by_lower[close[0]] if close else None


def instead(unknown: str, choices: Iterable[str]) -> str:
    """Return the suggestion for an unknown word: its neighbour, or else the list of known words."""
    known_names = list(choices)
    longer = [name for name in known_names if name.startswith(f"{unknown}_")]
    close = get_close_matches(unknown, known_names, n=1, cutoff=0.9)  # "servers" for "server"
    if len(longer) > 1 and not close:
        return f"write {' or '.join(longer)}"
    near = neighbour(unknown, known_names)
    if near is not None:
        return f'did you mean "{near}"?'
    return f"known: {', '.join(known_names)}" if known_names else "none are known"


def line(template: str, value: object) -> str:
    """Return the line to write for an option as another tool calls it.

    Args:
        template: the line, with {value}, {bytes}, {seconds} or {percent} for the value, which other tools
            write without a unit, or with a letter.
        value: the value as it stands.
    """
    text = str(value).strip().lower()
    size, time = re.fullmatch(r"(\d+)([kmgtp]?)(?:i?b)?", text), re.fullmatch(r"(\d+)([smhd]?)", text)
    return template.format(
        value=written(value),
        bytes=f'"{exact_text(int(size[1]) * BYTES[MEANT_BYTES.get(size[2], "B")], BYTES)}"'
        if size
        else written(value),
        seconds=f'"{time[1]} {"min" if time[2] == "m" else time[2] or "s"}"' if time else written(value),
        percent=f'"{text} %"' if text.isdecimal() else written(value),
    )


def written(value: object) -> str:
    """Return a value as the file has it, shortened if it is long."""
    text = (
        json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, bool | str | list | dict)
        else str(value)
    )
    return text if len(text) <= 60 else f"{text[:56]} ..."


def _fault(error: ErrorDetails, option: str, field: str) -> tuple[str, str]:
    """Return what is wrong with an option's value, and what to do: two clauses, the second may be empty.

    Args:
        error: pydantic's error.
        option: its name in the campaign.
        field: its name in the driver, which ends in the unit.
    """
    context: Mapping[str, Any] = error.get("ctx", {})
    setting = f"{option} = {written(error['input'])}"
    kind = error["type"]
    if kind == "value_error":
        fault, advice = clauses(str(context["error"]))
        return f"{option}: {fault}", advice
    if kind in ("literal_error", "enum"):
        choices = [c.strip(" '\"") for c in context["expected"].replace(" or ", ", ").split(",")]
        return f"{setting} is not a valid value", instead(str(error["input"]), choices)
    if kind == "string_pattern_mismatch":
        return f"{setting} is not a valid value", f"write what matches {context['pattern']}"
    if 1 in (context.get("le"), context.get("lt")) and (meant := _meant_percent(error["input"])):
        return f"{setting} is out of range", f'write {option.rpartition(".")[2]} = "{meant} %"'
    for bound, relation in _BOUNDS.items():
        if bound in context:
            return f"{setting} is out of range", f"it must be {relation} {_quantity(context[bound], field)}"
    if kind.endswith(("too_short", "too_long")):
        bound = (
            f"at least {context['min_length']}"
            if "min_length" in context
            else f"at most {context['max_length']}"
        )
        return f"{setting} has the wrong length", f"it needs {bound}"
    if kind in ("tuple_type", "list_type") and isinstance(error["input"], str):
        return f"{setting} is not a list", f"write {option.rpartition('.')[2]} = [{written(error['input'])}]"
    noun = next((noun for name, noun in _KINDS.items() if kind.startswith(f"{name}_")), None)
    if noun is not None:
        return f"{setting} is not {noun}", ""
    return f"{setting}: {error['msg'][:1].lower()}{error['msg'][1:]}", ""


def _meant_percent(value: object) -> str:
    """Return the percentage that was meant by a number of 1 or more where a share belongs; "" if none is
    likely.
    """
    return f"{value:g}" if isinstance(value, int | float) and 1 <= value <= 100 else ""


def clauses(message: str) -> tuple[str, str]:
    """Split a driver's or a unit's message, "what is wrong (what to do)", in two."""
    head, opening, inside = (
        message.removesuffix(")").partition(" (") if message.endswith(")") else (message, "", "")
    )
    return (head[:-1] if head.endswith((";", ",")) else head, inside) if opening else (message, "")


def _quantity(bound: float, field: str) -> str:
    units = units_of(field)
    return exact_text(bound, units) if units else f"{bound:g}"


def _fields(kind: object) -> Mapping[str, tuple[str, object]] | None:
    """Return the fields of a class and their types, by their names in documents; None if it has none."""
    fields = vars(kind).get("__pydantic_fields__") if isinstance(kind, type) else None
    if fields is None:
        return None
    return {info.alias or name: (name, info.annotation) for name, info in fields.items()}


def _parts(annotation: object) -> list[object]:
    """Return the members of a union, or the type itself, without what is annotated."""
    arguments = get_args(annotation)
    if get_origin(annotation) not in (Annotated, Union, UnionType):
        return [annotation]
    members = arguments[:1] if get_origin(annotation) is Annotated else arguments
    return [part for member in members for part in _parts(member)]


def _is_mapping(kind: object) -> bool:
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _items(kind: object) -> list[object]:
    """Return the types of what a list or a mapping holds."""
    arguments = [argument for argument in get_args(kind) if argument is not Ellipsis]
    return [part for argument in arguments[-1:] for part in _parts(argument)]
