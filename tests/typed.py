"""What a test knows of a value and the type checker doesn't."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from perjoule.model import Json

T = TypeVar("T")


def present(value: T | None) -> T:
    """A value that the test expects to be there."""
    if value is None:
        raise AssertionError("nothing is there")
    return value


def table(value: Json) -> Mapping[str, Json]:
    """A table of JSON or TOML."""
    if not isinstance(value, Mapping):
        raise AssertionError(f"not a table: {value!r}")
    return value


def as_written(driver: Callable[..., T], **options: object) -> T:
    """A driver or table with options as a campaign writes them, without the unit in the name: `transfer="4
    MiB"`.
    """
    return driver(**options)
