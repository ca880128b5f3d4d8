"""A need: how much to store and to move, for how long, and within which limits."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass

from perjoule.campaign.source import CampaignSource, is_table, read_toml, text_of
from perjoule.catalogue.quantities import Money, Price, Quantity, form, of_units
from perjoule.model import OPTIONS
from perjoule.model.errors import CampaignError
from perjoule.model.units import KG_PER_J, MIB, Bytes, BytesPerSecond, Ratio, SecondsOrZero, Watts
from perjoule.model.validation import explained, instead
from perjoule.planning.measures import GRID
from perjoule.planning.parts import TABLES, Parts, lacking, parts

DAY_S = 86400.0
YEAR_S = 365.25 * DAY_S
# by which the carbon of a country's electricity may differ from its last year's, to either side
GRID_RATIO = 0.2
_Grid = Annotated[
    str | Quantity,
    BeforeValidator(
        lambda raw: raw if isinstance(raw, str) and "/" not in raw else of_units(raw, KG_PER_J, GRID.symbol)
    ),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": "^[^/]*$"}, *form(KG_PER_J)["anyOf"]],
            "examples": ["DE", f"300 {GRID.symbol}"],
        }
    ),
]
_NAMES = Annotated[tuple[str, ...], Field(min_length=1)]


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Day:
    """For how long of a day it is read and written; for the rest it idles."""

    read_s: Annotated[SecondsOrZero, Field(le=DAY_S)] = 0.0
    """How long it is read on a day."""

    write_s: Annotated[SecondsOrZero, Field(le=DAY_S)] = 0.0
    """How long it is written on a day."""

    @model_validator(mode="after")
    def _short_enough(self) -> Self:
        if self.read_s + self.write_s > DAY_S:
            raise ValueError("reading and writing take more than 24 h of a day (shorten one of them)")
        return self


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Limits:
    """What a plan must not exceed."""

    power_w: Annotated[Watts, Field(gt=0)] | None = None
    """Power while it is read or written at the rates of the need."""

    money: Money | None = None
    """Purchase, and electricity of all years."""

    rack_units: Annotated[float, Field(gt=0)] | None = None
    """Height of all servers and switches."""

    servers_count: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 256
    """Servers that hold data."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.money is not None and not self.money.value:
            raise ValueError("money is 0 (leave it out for no limit)")
        return self


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Choose:
    """The parts to choose from, by name; all if absent."""

    servers: _NAMES | None = None
    """Names of [server] tables."""

    drives: _NAMES | None = None
    """Names of [drive] tables."""

    networks: _NAMES | None = None
    """Names of [network] tables."""

    filesystems: _NAMES | None = None
    """Names of [filesystem] tables."""


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Need:
    """What is needed, as `perjoule docs plan` describes it."""

    name: Annotated[str, Field(pattern=r"^\w[\w .+-]*$", max_length=80)]
    """The name of the need; that of its file by default."""

    capacity_bytes: Bytes
    """User data to store."""

    read_bytes_per_s: BytesPerSecond | None = None
    """Sustained rate of reading, of all clients together."""

    write_bytes_per_s: BytesPerSecond | None = None
    """Sustained rate of writing, of all clients together."""

    clients_count: Annotated[int, Strict(), Field(ge=1, le=100_000)] = 1
    """How many clients read and write."""

    client_network_bytes_per_s: BytesPerSecond = 1121 * MIB
    """TCP goodput of one client."""

    failures_count: Annotated[int, Strict(), Field(ge=0, le=8)] = 1
    """Storage hosts that may fail before data are lost."""

    durability_ratio: Annotated[Ratio, Field(gt=0, lt=1)] | None = None
    """Chance that a year passes without a loss of data by failures of whole disks."""

    years: Annotated[float, Field(gt=0, le=50)] = 5.0
    """How long it runs."""

    fill_ratio: Annotated[Ratio, Field(gt=0)] = 0.85
    """Share of the disks' capacity that may be used."""

    grid: _Grid = "world"
    """Carbon of electricity: a country of the catalogue, or a value."""

    electricity: Price | None = None
    """Price of electricity."""

    pue: Annotated[float, Field(ge=1, le=5)] = 1.0
    """Power usage effectiveness of the room; 1 leaves it out."""

    day: Day = Day()
    """For how long of a day it is read and written."""

    limits: Limits = Limits()
    """What must not be exceeded."""

    choose: Choose = Choose()
    """The parts to choose from; all by default."""

    @model_validator(mode="after")
    def _loaded(self) -> Self:
        if self.read_bytes_per_s is None and self.write_bytes_per_s is None:
            raise ValueError('neither read nor write is given (write, for example, read = "1 GiB/s")')
        for direction, rate, time_s in (
            ("read", self.read_bytes_per_s, self.day.read_s),
            ("write", self.write_bytes_per_s, self.day.write_s),
        ):
            if rate is None and time_s:
                raise ValueError(
                    f'day.{direction} needs a rate (write, for example, {direction} = "1 GiB/s")'
                )
        return self

    @property
    def read_per_day_bytes(self) -> float:
        """The bytes that are read on a day."""
        return (self.read_bytes_per_s or 0.0) * self.day.read_s

    @property
    def written_per_day_bytes(self) -> float:
        """The bytes that are written on a day."""
        return (self.write_bytes_per_s or 0.0) * self.day.write_s


@dataclass(frozen=True)
class Question:
    """A need with the parts to choose from."""

    need: Need
    parts: Parts
    grid: Quantity  # kgCO2e/J
    electricity: Quantity  # USD/J


_ADDED = 'add {} = "..."; see `perjoule docs plan`'
INNER: Mapping[str, Any] = {"day": Day, "limits": Limits, "choose": Choose}


def read(path: File) -> Question:
    """Read a need. Raises CampaignError: one sentence with the line of the error."""
    return parse(text_of(path, "need", "`perjoule new archive` writes a need"), path.name)


def parse(text: str, name: str = "need") -> Question:
    """Read a need from TOML. Raises CampaignError."""
    document, source = read_toml(text, name)
    if "testbed" in document or "workload" in document:
        raise CampaignError(
            "this is a campaign, not a need",
            where=name,
            next=f"see what it takes with `perjoule check {shlex.quote(name)}`",
        )
    part_tables = {
        key: document.pop(key) for key in TABLES if key in document and not _stated(key, document[key])
    }
    document.setdefault("name", File(name).stem)
    try:
        need = TypeAdapter(Need).validate_python(document)
    except ValidationError as error:
        explanation = explained(error, Need, "a need", add=_ADDED.format, more=TABLES)
        raise source.error(*explanation) from None
    known_parts = parts(part_tables, source)
    _check_names(need, known_parts, source)
    return Question(
        need, known_parts, _grid(need, known_parts, source), need.electricity or known_parts.electricity.price
    )


def _stated(key: str, value: object) -> bool:
    """Whether this is the need's own grid or price of electricity, and not a table of parts."""
    return key in ("grid", "electricity") and not (is_table(value) and "value" not in value)


def _check_names(need: Need, known_parts: Parts, source: CampaignSource) -> None:
    parts_by_kind = {
        "servers": known_parts.server,
        "drives": known_parts.drive,
        "networks": known_parts.network,
        "filesystems": known_parts.filesystem,
    }
    for kind, named_parts in parts_by_kind.items():
        for name in getattr(need.choose, kind) or ():
            if name in named_parts:
                continue
            table = kind.removesuffix("s")
            keys, file = lacking(table, name)
            if keys:
                fault = f'plans need {", ".join(keys)} of the {table} "{name}"'
                raise source.error(("choose", kind), fault, f"state it in {file}")
            raise source.error(("choose", kind), f'there is no {table} "{name}"', instead(name, named_parts))


def _grid(need: Need, known_parts: Parts, source: CampaignSource) -> Quantity:
    """Return the carbon of a joule: stated, or a country's of the catalogue."""
    if isinstance(need.grid, Quantity):
        return need.grid
    if need.grid not in known_parts.grid:
        fault = f'no carbon intensity of "{need.grid}" is known'
        raise source.error(
            ("grid",), fault, f'{instead(need.grid, known_parts.grid)}, or write grid = "300 {GRID.symbol}"'
        )
    kg_per_j = known_parts.grid[need.grid] * GRID.per
    low, high = kg_per_j * (1 - GRID_RATIO), kg_per_j * (1 + GRID_RATIO)
    return Quantity(
        kg_per_j,
        low,
        high,
        "datasheet",
        f"Ember, 2024: {need.grid}, CC BY-SA 4.0",
        "grid",
        GRID.symbol,
        GRID.per,
    )
