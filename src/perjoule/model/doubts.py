"""Doubts: objections to numbers, each of a kind that says what it can do to them."""

from dataclasses import dataclass
from typing import Any, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from perjoule.model.units import spaced_percents


@dataclass(frozen=True)
class Kind:
    """Doubts with the same consequence."""

    key: str  # in stored records
    title: str
    cost: str  # what they can do to a number

    def doubt(self, text: str) -> "Doubt":
        """Return a doubt of this kind."""
        return Doubt(text, self)


CACHE = Kind(
    "cache",
    "Caches and physical bounds",
    "throughput and efficiency may be those of a cache, and too high by any factor",
)
IN_FLIGHT = Kind(
    "in flight",
    "Data still in flight",
    "the load may have ended before the disks held the data: throughput and efficiency may be too high",
)
WORK = Kind(
    "work",
    "Work that may not be what was counted",
    "after errors, in damaged or contradictory reports, throughput may be that of less work",
)
UNLIKE = Kind(
    "unlike the campaign",
    "Not as the campaign says",
    "the numbers are those of another load or layout than the campaign names",
)
MACHINE = Kind(
    "machine",
    "The machine as the limit",
    "the numbers may be those of the test machine: throughput may be too low",
)
SLOW_HOST = Kind(
    "slow host",
    "One host as the limit",
    "all hosts kept the pace of the slowest: throughput and efficiency may be too low",
)
METERS = Kind(
    "meters",
    "Energy missing or uncertain",
    "power, energy and efficiency, or counters, may be wrong or missing; throughput is not affected",
)
APART = Kind(
    "apart",
    "Clients that did not run as one",
    "the throughput of all clients together may be too low or too high",
)
TIMES = Kind(
    "times",
    "Uncertain times",
    "windows are known less exactly than they last: throughput and energy may be too low or too high",
)
DERIVED = Kind(
    "derived",
    "Computed from what a tool reports",
    "amounts, or the shares of hosts, are not measured but computed from the tool's own rounded numbers",
)
EVENTS = Kind(
    "events",
    "Failures that went otherwise",
    "times, joules and stalls of failures may be missing, or have another cause; those of the whole load stand",
)
UNDILATED = Kind(
    "undilated",
    "Time that emulation does not dilate",
    "what daemons do by their own clocks comes too early and too often: watts without a load are upper bounds",
)
TRAFFIC = Kind(
    "traffic",
    "Traffic that redundancy does not explain",
    "hosts did more than the users' work, or the layout is not as stated: energy may be too high",
)
CHANGE = Kind(
    "change",
    "Change over the campaign",
    "differences between rows may come from the time at which they were measured",
)
REPETITIONS = Kind(
    "repetitions",
    "Few or unequal repetitions",
    "means and intervals rest on fewer or other values than the row says",
)
UNSTATED = Kind("", "Other", "stored before doubts had kinds: see each")
# Those that can cost most first.
KINDS = (
    *(CACHE, IN_FLIGHT, WORK, UNLIKE, MACHINE, SLOW_HOST, METERS, APART, TIMES, DERIVED, EVENTS, UNDILATED, TRAFFIC, CHANGE),
    *(REPETITIONS, UNSTATED),
)
_BY_KEY = {kind.key: kind for kind in KINDS}


class Doubt(str):
    """A sentence with its kind, equal to any with the same words. In JSON `{"kind": "times", "text": "..."}`, or text alone.

    Percentages have a space, also where a tool or an older record wrote "5%".
    """

    kind: Kind

    def __new__(cls, text: str, kind: Kind = UNSTATED) -> Self:
        """Make one; `Kind.doubt` is shorter."""
        made = super().__new__(cls, spaced_percents(text))
        made.kind = kind
        return made

    def __getnewargs__(self) -> tuple[str, Kind]:  # pyright: ignore[reportIncompatibleMethodOverride]  # for a copy of it
        """Return what makes an equal one."""
        return str(self), self.kind

    def of(self, whose: str) -> "Doubt":
        """Return it with a name before it: "storage-1: ..."."""
        return Doubt(f"{whose}: {self}", self.kind)

    @property
    def data(self) -> dict[str, str]:
        """It as JSON data."""
        return {"kind": self.kind.key, "text": str(self)}

    @classmethod
    def read(cls, data: object) -> "Doubt":
        """Read JSON data. Raises ValueError."""
        match data:
            case Doubt():
                return data
            case str():
                return cls(data)
            case {"kind": str(key), "text": str(text)}:
                if key not in _BY_KEY:
                    raise ValueError(f'there are no doubts of the kind "{key}"')
                return cls(text, _BY_KEY[key])
            case _:
                raise ValueError("a doubt has a kind and a text")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic read and write it."""
        written = core_schema.plain_serializer_function_ser_schema(lambda one: one.data)
        return core_schema.no_info_plain_validator_function(cls.read, serialization=written)
