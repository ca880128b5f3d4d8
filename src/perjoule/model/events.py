"""What happens to hosts or the file system while the load of a trial runs: as the campaign asks for it,
and as it came about.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from perjoule.model.options import Json
from perjoule.model.units import exact_text, units_of

# Options that records of each kind have, without effect where the kind has no such option: they had no others
# at first.
AT_FIRST: Final[Mapping[str, float]] = {"factor": 1.0, "loss_ratio": 0.0}
NAMED = re.compile(r"[a-z][a-z0-9_]{0,63}")  # kinds and their options


@dataclass(frozen=True)
class TrialEvent:
    """Something that is done to a server, or to the file system, while the load runs."""

    at_s: float  # after the beginning of the phase "measure"
    kind: str  # a driver of `perjoule.events`
    host: str = ""  # "": it is done to the file system as a whole
    # of its kind, by field: {"factor": 10.0}
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def text(self) -> str:
        """Its name in tables and figures: "kill storage-2", "slow storage-2 10 times", "scrub"."""
        return " ".join(
            filter(
                None, (self.kind, self.host, *(_text(name, value) for name, value in self.options.items()))
            )
        )

    def identity(self) -> Mapping[str, Json]:
        """What makes two of them equal; a loss only where there is one, so that trials keep their names."""
        return {
            "at_s": self.at_s,
            "kind": self.kind,
            "host": self.host,
            "factor": AT_FIRST["factor"],
            **self.options,
        }

    @property
    def data(self) -> Mapping[str, Json]:
        """It as a record keeps it, its options beside the rest."""
        return {"at_s": self.at_s, "kind": self.kind, "host": self.host, **AT_FIRST, **self.options}

    @classmethod
    def read(cls, stored: object) -> "TrialEvent":
        """Read `data`. Raises ValueError."""
        if isinstance(stored, TrialEvent):
            return stored
        fields = dict(cast("Mapping[str, Any]", stored)) if isinstance(stored, Mapping) else {}
        at_s, kind, host = fields.pop("at_s", None), fields.pop("kind", None), fields.pop("host", "")
        if not _is_number(at_s) or not isinstance(kind, str) or not isinstance(host, str):
            raise ValueError("an event has a time, a kind and a host")
        if strange := next((name for name in (kind, *fields) if not NAMED.fullmatch(name)), None):
            raise ValueError(f'"{strange[:60]}" is not the name of a kind of event or of an option')
        if strange := next(
            (
                name
                for name, value in fields.items()
                if not (isinstance(value, str | bool) or _is_number(value))
            ),
            None,
        ):
            raise ValueError(f"{strange} of an event is neither text nor a number")
        return cls(
            float(at_s),
            kind,
            host,
            {name: value for name, value in fields.items() if value != AT_FIRST.get(name)},
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read and write it."""
        written = core_schema.plain_serializer_function_ser_schema(lambda event: event.data)
        return core_schema.no_info_plain_validator_function(cls.read, serialization=written)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def option_text(name: str, value: Json) -> Json:
    """Write an option as a campaign has it, a size or a time with its unit."""
    units = units_of(name)
    return (
        exact_text(value, units)
        if units and isinstance(value, int | float) and not isinstance(value, bool)
        else value
    )


def _text(name: str, value: Json) -> str:
    """Return an option in a name; a number without a unit is a factor."""
    written = option_text(name, value)
    if not isinstance(written, float):
        return str(written)
    return f"{written * 100:g} %" if name.endswith("_ratio") else f"{written:g} times"


@dataclass(frozen=True)
class Happened:
    """An event that came about."""

    event: TrialEvent
    planned_s: float
    began_s: float
    # When it was done: the last daemon had ended or was started, the link was down or up, a command was
    # given, a host had begun to join.
    ended_s: float
    lost_bytes: int | None = None  # of the file system's data, that a failed disk held shortly before
    gained_bytes: int | None = None  # the same, that a host which joined held at the end of the tail

    @property
    def late_s(self) -> float:
        """By how much it was done later than planned."""
        return self.ended_s - self.planned_s


# answers in a row that it is healthy: after the loss of an OSD, Ceph reports healthy PGs for some seconds
SURE_COUNT = 5


@dataclass(frozen=True)
class Health:
    """One answer of a file system to whether it is healthy, after an event."""

    asked_s: float
    answered_s: float
    words: str = ""  # what it lacks, or is still doing: "healing", "scrub of 3 PGs"; "": nothing


def healthy_since(happened: Sequence[Happened], health: Sequence[Health]) -> float | None:
    """Return the first of the healthy answers with which the row of answers ends, all asked after the last
    event.

    None if there are fewer than `SURE_COUNT`, or nothing happened.
    """
    row: list[Health] = []
    for answer in reversed(health):
        if answer.words or not happened or answer.asked_s < happened[-1].ended_s:
            break
        row.append(answer)
    return row[-1].answered_s if len(row) >= SURE_COUNT else None
