"""Errors as sentences: what is wrong, and what was probably meant."""

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

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
_BOUNDS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


def neighbour(word: str, words: Iterable[str]) -> str | None:
    """Return the word in `words` that was probably meant, or None."""
    by_lower = {w.lower(): w for w in words}
    lower = word.lower()
    starts = [w for w in by_lower if len(lower) > 2 and (w.startswith(lower) or lower.startswith(w))]
    close = get_close_matches(lower, by_lower, n=1, cutoff=0.6) or starts
    return by_lower[close[0]] if close else None


def instead(word: str, words: Iterable[str]) -> str:
    """Return the suggestion for an unknown word: its neighbour, or else the list of known words."""
    known = list(words)
    near = neighbour(word, known)
    if near is not None:
        return f'did you mean "{near}"?'
    return f"known: {', '.join(known)}" if known else "none are known"


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


def fault(error: ErrorDetails, option: str, field: str) -> tuple[str, str]:
    """Return what is wrong with an option's value, and what to do: two clauses, the second may be empty.

    Args:
        error: pydantic's error.
        option: its name in the campaign.
        field: its name in the driver, which ends in the unit.
    """
    context: Mapping[str, Any] = error.get("ctx", {})
    said = f"{option} = {written(error['input'])}"
    kind = error["type"]
    if kind == "value_error":
        what, advice = clauses(str(context["error"]))
        return f"{option}: {what}", advice
    if kind in ("literal_error", "enum"):
        choices = [c.strip(" '\"") for c in context["expected"].replace(" or ", ", ").split(",")]
        return f"{said} is not a valid value", instead(str(error["input"]), choices)
    if kind == "string_pattern_mismatch":
        return f"{said} is not a valid value", f"write what matches {context['pattern']}"
    if context.get("le") == 1 and (meant := _meant_percent(error["input"])):
        return f"{said} is out of range", f'write {option.rpartition(".")[2]} = "{meant} %"'
    for bound, words in _BOUNDS.items():
        if bound in context:
            return f"{said} is out of range", f"it must be {words} {_quantity(context[bound], field)}"
    if kind.endswith(("too_short", "too_long")):
        bound = (
            f"at least {context['min_length']}"
            if "min_length" in context
            else f"at most {context['max_length']}"
        )
        return f"{said} has the wrong length", f"it needs {bound}"
    if kind in ("tuple_type", "list_type") and isinstance(error["input"], str):
        return f"{said} is not a list", f"write {option.rpartition('.')[2]} = [{written(error['input'])}]"
    noun = next((noun for name, noun in _KINDS.items() if kind.startswith(f"{name}_")), None)
    if noun is not None:
        return f"{said} is not {noun}", ""
    return f"{said}: {error['msg'][:1].lower()}{error['msg'][1:]}", ""


def _meant_percent(value: object) -> str:
    """Return the percentage that was meant by a number above 1 where a share belongs; "" if none is
    likely.
    """
    return f"{value:g}" if isinstance(value, int | float) and 1 < value <= 100 else ""


def clauses(said: str) -> tuple[str, str]:
    """Split a driver's or a unit's message, "what is wrong (what to do)", in two."""
    match = re.fullmatch(r"(.*?)[;,]? \((.*)\)", said, re.DOTALL)
    return (match[1], match[2]) if match else (said, "")


def _quantity(bound: float, field: str) -> str:
    units = units_of(field)
    return exact_text(bound, units) if units else f"{bound:g}"
