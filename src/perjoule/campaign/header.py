"""The keys above the tables of a campaign."""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, Strict, WithJsonSchema
from pydantic.dataclasses import dataclass

from perjoule.campaign.source import is_list
from perjoule.model import LEAST_COUNT, OPTIONS, Overwrite, option_name
from perjoule.model.metrics import BY_LABEL
from perjoule.model.options import MOST_HOSTS_COUNT, HostsCount
from perjoule.model.units import SECONDS, Ratio, Seconds, seconds

if TYPE_CHECKING:
    _Label = str
else:
    _Label = Literal[tuple(BY_LABEL)]

_COUNT = {"type": "integer", "minimum": 1, "maximum": MOST_HOSTS_COUNT}
_Counts = Annotated[
    tuple[Annotated[HostsCount, Strict()], ...],
    BeforeValidator(lambda value: value if is_list(value) else [value]),
    Field(min_length=1),
    WithJsonSchema(
        {"anyOf": [_COUNT, {"type": "array", "items": _COUNT, "minItems": 1, "uniqueItems": True}]}
    ),
]
_Wait = Annotated[
    float,
    BeforeValidator(lambda text: 0.0 if repr(text) == "0" else seconds(text)),
    Field(ge=0),
    WithJsonSchema(
        {"anyOf": [{"const": 0}, {"type": "string", "pattern": rf"^\s*[0-9.eE+-]+\s*({'|'.join(SECONDS)})"}]}
    ),
]


_DEVICE = {"type": "string", "pattern": "^/dev/disk/"}
_WORDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_NAMED = {"type": "object", "properties": {"device": _DEVICE, "signature": _WORDS}, "required": ["device"]}
_Overwrites = Annotated[
    tuple[
        Annotated[
            Overwrite, BeforeValidator(lambda value: {"device": value} if isinstance(value, str) else value)
        ],
        ...,
    ],
    WithJsonSchema(
        {"type": "array", "items": {"anyOf": [_DEVICE, {**_NAMED, "additionalProperties": False}]}}
    ),
]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Until:
    """The stop rule: when to stop repeating."""

    metric: _Label
    """The metric whose interval decides."""

    interval_ratio: Annotated[Ratio, Field(gt=0)]
    """Half the width of its 95 % interval, as a share of its mean, at which repetitions end."""

    max_count: Annotated[int, Strict(), Field(ge=LEAST_COUNT, le=10_000)] = 20
    """The most repetitions of each combination; the least is `repetitions`: 5, or as few as 3, with wider
    intervals.
    """


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Header:
    """The keys at the top of a campaign file."""

    name: Annotated[str, Field(pattern=r"^\w[\w .+-]*$", max_length=80)]
    """The campaign's name; its results folder is named after it."""

    description: str = ""
    """Its purpose, in a sentence or two; the report begins with it."""

    reproduces: str = ""
    """Name of the paper whose study this repeats: the report compares its claims and numbers with the
    measurements.
    """

    clients_count: _Counts = (1,)
    """How many clients run the load at once; a list measures each number."""

    servers_count: _Counts | None = None
    """Number of storage hosts, on a testbed that can vary it; a list measures how a file system scales."""

    repetitions_count: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 3
    """How often each combination is measured; three or more give an interval worth printing."""

    until: Until | None = None
    """Repeat each combination, beyond `repetitions`, until the interval of a metric is narrow enough:
    { metric = "MiB/J", interval = "5 %", max = 20 }."""

    seed: Annotated[int, Strict(), Field(ge=0, lt=2**63)] | None = None
    """Seed of the shuffling: the same seed gives the same order. Drawn and recorded when absent."""

    order: Literal["shuffled", "interleaved", "written"] = "shuffled"
    """Shuffled within each repetition, a read right behind its own write, so that drift affects all equally;
    interleaved: file
    systems take turns too, freshly deployed for each repetition; or as written."""

    settle_s: Seconds = 1.0
    """Idle window before and after each measured window, in which the meters keep running."""

    quiet_s: _Wait = 30.0
    """How long to wait after each load, at most, until the servers have written back and the file system has
    no background work;
    0 waits only for `settle`."""

    align_s: _Wait = 0.0
    """How long to switch the servers' load on and off at known moments, at the start and end of each
    deployment, to find the
    clock offsets of meters; 30 s is enough for a meter with one sample per second, 0 does nothing."""

    shrink_ratio: Annotated[float, Field(ge=1)] = 1.0
    """Divide the sizes of all workloads by this, rounded up to whole transfers: one option scales a
    campaign down.
    """

    edp_weight: Annotated[int, Strict(), Field(ge=1, le=9)] = 1
    """w in the energy-delay product, energy × time^w: the larger it is, the more performance counts."""

    overwrite: _Overwrites = ()
    """Raw devices whose content may be lost, by stable ID: "/dev/disk/by-id/...", or with the content that
    may be lost, { device
    = "/dev/disk/by-id/...", signature = "ext4" }. A device that is not listed is never written to."""

    simulate: Annotated[bool, Strict()] = False
    """Replace hosts, file systems, workloads and meters by simulated ones, to try a campaign in seconds."""


# as people write them -> the field
TOP_KEYS = {option_name(field.name): field.name for field in fields(Header)}
