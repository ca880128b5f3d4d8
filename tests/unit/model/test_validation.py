"""The first error of a document, in the words of people."""

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from perjoule.model import OPTIONS
from perjoule.model.units import Seconds
from perjoule.model.validation import clauses, explained

_LISTED = BeforeValidator(lambda value: value)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Inner:
    """A table in another."""

    name: str
    wait_s: Annotated[Seconds, Field(gt=0)] = 1.0


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Outer:
    """A document."""

    count: int
    inner: Annotated[Inner | None, _LISTED] = None
    several: tuple[Inner, ...] = ()
    named: Mapping[str, Inner] | None = None
    either: str | Inner = ""


@pytest.mark.parametrize(
    ("document", "path", "said"),
    [
        ({"cuont": 1}, ("cuont",), 'a thing has no key "cuont"; did you mean "count"?'),
        ({}, (), 'a thing lacks "count"; add count = "..."'),
        ({"count": "x"}, ("count",), 'count = "x" is not a whole number; '),
        (
            {"count": 1, "inner": {"nam": "x"}},
            ("inner", "nam"),
            'inner has no key "nam"; did you mean "name"?',
        ),
        ({"count": 1, "inner": {}}, ("inner",), 'inner lacks "name"; add name = "..."'),
        (
            {"count": 1, "inner": {"name": "x", "wait": "0 s"}},
            ("inner", "wait"),
            'inner.wait = "0 s" is out of range; it must be more than 0 s',
        ),
        (
            {"count": 1, "several": [{"name": "x"}, {"name": 7}]},
            ("several", 1, "name"),
            "several (number 2).name = 7 is not text in quotes; ",
        ),
        (
            {"count": 1, "named": {"a": {"name": "x", "wiat": "1 s"}}},
            ("named", "a", "wiat"),
            'named.a has no key "wiat"; did you mean "wait"?',
        ),
    ],
)
def test_an_error_says_what_is_wrong_where_and_what_to_do(
    document: dict[str, Any], path: tuple[object, ...], said: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Outer).validate_python(document)
    fault = explained(caught.value, Outer, "a thing")
    assert (fault.path, f"{fault.what}; {fault.advice}") == (path, said)


def test_pydantics_names_of_the_members_of_a_union_are_no_keys() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Outer).validate_python({"count": 1, "either": {"name": "x", "wiat": "1 s"}})
    assert explained(caught.value, Outer, "a thing").path == ("either", "wiat")


def test_a_document_in_another_is_named_by_its_path() -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Outer).validate_python({"count": 1, "inner": {}})
    fault = explained(caught.value, Outer, "[board.x]", above="board.x", names="[{}]".format)
    assert (fault.path, fault.what) == (("inner",), '[board.x.inner] lacks "name"')


def test_keys_that_begin_with_the_written_one_are_all_advised() -> None:
    @dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
    class Sides:
        idle_at_wall: str = ""
        idle_behind_supply: str = ""

    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Sides).validate_python({"idle": "1 W"})
    assert explained(caught.value, Sides, "x").advice == "write idle_at_wall or idle_behind_supply"


@pytest.mark.timeout(20)
def test_a_message_with_a_long_text_of_the_users_is_split_at_once() -> None:
    message = "x (" * 100_000
    assert clauses(message) == (message, "")
    assert clauses("it is wrong (write 4 (or 5))") == ("it is wrong", "write 4 (or 5)")
