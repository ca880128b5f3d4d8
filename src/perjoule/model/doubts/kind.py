"""What a doubt is: a sentence with the id of its words, the values in them, and the kind that says what it
can cost.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite
from types import MappingProxyType
from typing import Any, Concatenate, Generic, ParamSpec, Self, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from perjoule.model.units import spaced_percents

P = ParamSpec("P")
Value = str | int | float | Sequence[str] | None  # None: a number that is not finite
# Names of values that say whom or what a doubt is about: doubts that differ in these and in numbers alone are
# alike.
PLACES = frozenset(
    {
        "channel",
        "channels",
        "client",
        "device",
        "direction",
        "disk",
        "file",
        "host",
        "hosts",
        "meter",
        "user",
        "of",
    }
)
NO_VALUES: Mapping[str, Value] = MappingProxyType({})
_BY_KEY: "dict[str, Kind]" = {}
_NUMBER, _PLACE = re.compile(r"\d[\d.,]*(e[-+]?\d+)?"), re.compile(r"^[\w-]+( \w+)?: ")


@dataclass(frozen=True)
class Kind:
    """Doubts with the same consequence.

    A subclass has their words: each method marked with `doubt` is one.
    """

    key: str  # in stored records
    title: str
    cost: str  # what they can do to a number
    disqualifies: bool = False  # the number may be that of something else: no list ranks it
    spared: tuple[str, ...] = ()  # names of its doubts with which the number still is what it says

    def __post_init__(self) -> None:
        """Let stored records name it."""
        _BY_KEY[self.key] = self

    @property
    def prefix(self) -> str:
        """What the ids of its doubts begin with."""
        return self.key.replace(" ", "_")

    def doubt(self, text: str) -> "Doubt":
        """Return a doubt without an id: one of a driver that is not perjoule's."""
        return Doubt(text, self)

    @property
    def templates(self) -> "Iterator[Template[...]]":
        """Its doubts by id, in the order of its file."""
        members = (member for cls in reversed(type(self).__mro__) for member in vars(cls).values())
        return (member.__get__(self, type(self)) for member in members if isinstance(member, doubt))


@dataclass(frozen=True)
class Template(Generic[P]):
    """The words of a doubt, of which values make a sentence.

    The docstring says what it means, and what to do.
    """

    kind: Kind
    id: str  # "meters.undersampled"
    sentence: Callable[..., str]

    def __call__(self, *args: P.args, **values: P.kwargs) -> "Doubt":
        """Return the doubt with these values."""
        all_values = cast("Mapping[str, Value]", {**(self.sentence.__kwdefaults__ or {}), **values})
        return Doubt(self.sentence(self.kind, **values), self.kind, self.id, all_values)

    @property
    def values(self) -> tuple[str, ...]:
        """The names of its values."""
        code = self.sentence.__code__
        return code.co_varnames[1 : 1 + code.co_kwonlyargcount]


class doubt(Generic[P]):  # a decorator
    """Mark a method of a kind as the words of a doubt, whose id is the kind and the method's name.

    All values have names.
    """

    def __init__(self, sentence: Callable[Concatenate[Any, P], str]) -> None:
        self.sentence = sentence

    def __get__(self, kind: Kind, owner: type[Kind]) -> Template[P]:
        """Return the template."""
        return Template(kind, f"{kind.prefix}.{self.sentence.__name__}", self.sentence)


UNSTATED = Kind("", "Other", "stored before doubts had kinds: see each")


class Doubt(str):
    """A sentence with its kind, its id and its values; equal to any with the same words.

    In JSON `{"kind": "meters", "id": "meters.undersampled", "values": {"channel": "...", "period_s": 2.0},
    "text": "..."}`. Older records have no id and no values, or the text alone. Percentages have a space, also
    where a tool or an older record has none.
    """

    kind: Kind
    id: str  # "" where the words are not perjoule's, or are those of an older record
    values: Mapping[str, Value]

    def __new__(
        cls, text: str, kind: Kind = UNSTATED, id: str = "", values: Mapping[str, Value] = NO_VALUES
    ) -> Self:
        """Make one; `METERS.undersampled(...)` is shorter."""
        made = super().__new__(cls, spaced_percents(text))
        made.kind, made.id, made.values = kind, id, {name: _plain(value) for name, value in values.items()}
        return made

    def __getnewargs__(self) -> tuple[str, Kind, str, Mapping[str, Value]]:  # pyright: ignore[reportIncompatibleMethodOverride]  # for a copy of it
        """Return what makes an equal one."""
        return str(self), self.kind, self.id, self.values

    def about(self, whose: str) -> "Doubt":
        """Return it with a name before it: "storage-1: ..."."""
        return Doubt(f"{whose}: {self}", self.kind, self.id, {**self.values, "of": whose})

    @property
    def disqualifies(self) -> bool:
        """Whether the number may be that of something else, by which nothing can be ranked."""
        return self.kind.disqualifies and self.id.rpartition(".")[2] not in self.kind.spared

    @property
    def likeness(self) -> tuple[str, ...]:
        """What doubts that are alike have in common: the id, and values that are texts but no places; numbers
        don't count.

        Without an id: the words, but for numbers and the meter or host that they begin with.
        """
        if not self.id:
            return (self.kind.key, _NUMBER.sub("#", _PLACE.sub("", self)))
        texts = (
            value for name, value in self.values.items() if isinstance(value, str) and name not in PLACES
        )
        return (self.id, *(_NUMBER.sub("#", text) for text in texts))

    @property
    def data(self) -> dict[str, Any]:
        """It as JSON data."""
        identified = {"id": self.id, "values": {**self.values}} if self.id else {}
        return {"kind": self.kind.key, **identified, "text": str(self)}

    @classmethod
    def read(cls, stored: object) -> "Doubt":
        """Read JSON data. Raises ValueError."""
        match stored:
            case Doubt():
                return stored
            case str():
                return _older(stored, UNSTATED)
            case {"kind": str(key), "text": str(text)}:
                if key not in _BY_KEY:
                    raise ValueError(f'there are no doubts of the kind "{key}"')
                return _read(text, _BY_KEY[key], cast("Mapping[str, object]", stored))
            case _:
                raise ValueError("a doubt has a kind and a text")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read and write it."""
        written = core_schema.plain_serializer_function_ser_schema(lambda instance: instance.data)
        return core_schema.no_info_plain_validator_function(cls.read, serialization=written)


def _read(text: str, kind: Kind, stored: Mapping[str, object]) -> Doubt:
    if "id" not in stored:
        return _older(text, kind)
    id, values = str(stored["id"]), stored.get("values", {})
    prefix, _, name = id.partition(".")
    if prefix != kind.prefix or not name.isidentifier():
        raise ValueError(f'no doubt of the kind "{kind.key}" has the id {id[:60]!r}')
    if not isinstance(values, dict) or not all(map(_valued, cast("dict[str, object]", values).items())):
        raise ValueError(f"the values of the doubt {id} are not names with numbers or texts")
    if id not in _ids():  # of another release, or made up: nothing may rest on it
        return _older(text, kind)
    return Doubt(text, kind, id, cast("Mapping[str, Value]", values))


def _older(text: str, kind: Kind) -> Doubt:
    """Return the doubt of a record that has no ids: with one where its sentence is certain, because it has
    no values.
    """
    template = _certain().get(spaced_percents(text))
    return template() if template and kind in (template.kind, UNSTATED) else Doubt(text, kind)


@cache
def _ids() -> frozenset[str]:
    return frozenset(template.id for kind in _BY_KEY.values() for template in kind.templates)


@cache
def _certain() -> "Mapping[str, Template[[]]]":
    bare = [template for kind in _BY_KEY.values() for template in kind.templates if not template.values]
    return {str(template()): cast("Template[[]]", template) for template in bare}


def _valued(pair: tuple[str, object]) -> bool:
    name, value = pair
    if isinstance(value, list):
        return name.isidentifier() and all(isinstance(text, str) for text in cast("list[object]", value))
    return name.isidentifier() and (value is None or isinstance(value, str | int | float))


def _plain(value: Value) -> Value:
    """Return a value as JSON has it: null for a number that is not finite."""
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else [*value]
