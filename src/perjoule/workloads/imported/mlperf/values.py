"""YAML of others, and values out of documents of others: each is there and of its kind, or it is named."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from math import isfinite
from typing import Any

from perjoule.machine.untrusted import MOST_NAMED_BYTES, check_size


def yaml_from(text: str) -> Any:
    """Read YAML of plain values.

    Raises ValueError: it is invalid, too long or too deep, or has aliases, with which a short text becomes a large
    one.
    """
    yaml = import_module("yaml")  # only a submission has it; it has no types
    check_size(text, MOST_NAMED_BYTES)
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, yaml.SafeLoader)):
            raise ValueError("its YAML has aliases (*name): write their values out")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"its YAML is damaged: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise ValueError("its YAML is nested too deeply") from None


def is_table(value: object) -> bool:
    """Return whether a value is a table."""
    return isinstance(value, Mapping)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def table(value: Any, name: str) -> Mapping[str, Any]:
    """Return a table. Raises ValueError."""
    if not is_table(value):
        raise ValueError(f"it has no table {name}")
    return value


def tables(of: Mapping[str, Any], key: str, place: str = "") -> Sequence[Mapping[str, Any]]:
    """Return a list of tables; empty if it is absent. Raises ValueError."""
    value = of.get(key)
    if value is None:
        return ()
    if not _is_list(value):
        raise ValueError(f"{place}{key} is not a list")
    return [table(item, f"in {place}{key}") for item in value]


def number(of: Mapping[str, Any], key: str, place: str = "") -> float:
    """Return a finite number that is not negative. Raises ValueError."""
    value = of.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise ValueError(f"{place}{key} is {value!r}, and no number that is 0 or more")
    return value


def count(of: Mapping[str, Any], key: str, place: str = "") -> int:
    """Return a whole number that is not negative. Raises ValueError."""
    value = number(of, key, place)
    if value != int(value):
        raise ValueError(f"{place}{key} is {value!r}, and no whole number")
    return int(value)


def numbers(of: Mapping[str, Any], key: str) -> tuple[float, ...]:
    """Return a list of such numbers. Raises ValueError."""
    value = of.get(key)
    if not _is_list(value) or not value:
        raise ValueError(f"{key} is no list of numbers")
    return tuple(number({key: item}, key) for item in value)
