"""A cluster's TOML file to a frozen Cluster; what the file does not know to be right is refused."""

import tomllib
from difflib import get_close_matches
from functools import cache, partial
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from perjoule import units
from perjoule.catalogue.hardware import Board, Cluster, Disk, Node, Role, Status, Value
from perjoule.errors import CampaignError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Written(_Strict):
    value: str | float
    source: str = Field(min_length=1)
    status: Status
    sigma: str | float = 0


def _value(raw: object, allowed: dict[str, float]) -> Value:
    written = _Written.model_validate(raw)
    number = units.quantity(written.value, allowed)
    sigma = units.quantity(written.sigma, allowed, bare=written.sigma == 0)
    if number < 0 or sigma < 0:
        raise ValueError(f"{written.value} with sigma {written.sigma}: neither may be negative")
    return Value(number, written.source, written.status, sigma)


def _plain_value(raw: object) -> Value:
    written = _Written.model_validate(raw)
    if isinstance(written.value, str) or isinstance(written.sigma, str):
        raise ValueError("a plain number is wanted, without quotes and unit")
    return Value(written.value, written.source, written.status, written.sigma)


_Plain = Annotated[Value, PlainValidator(_plain_value)]
_Bytes = Annotated[Value, PlainValidator(partial(_value, allowed=units.BYTES))]
_Rate = Annotated[Value, PlainValidator(partial(_value, allowed=units.RATES))]
_Watts = Annotated[Value, PlainValidator(partial(_value, allowed=units.WATTS))]


class _Board(_Strict):
    cores: int = Field(gt=0)
    mips: _Plain
    nic: _Rate
    idle: _Watts
    dynamic: _Watts


class _Disk(_Strict):
    technology: Literal["hdd", "ssd", "nvme"]
    capacity: _Bytes
    read: _Rate
    write: _Rate
    idle: _Watts
    active: _Watts


class _Node(_Strict):
    name: str
    role: Role
    count: int = Field(gt=0)
    board: str
    disks: list[str] = []


class _File(_Strict):
    title: str
    source: str = Field(min_length=1)
    notes: list[str] = []
    switch: _Watts
    supply_efficiency: _Plain
    board: dict[str, _Board]
    disk: dict[str, _Disk]
    node: list[_Node]


def read(text: str, name: str) -> Cluster:
    """Read a cluster from the text of its TOML file.

    Raises:
        CampaignError: no TOML, an unknown or missing key, a wrong unit, or a board or disk that the file does not describe.
    """
    where = f"catalogue file {name}.toml"
    try:
        file = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise CampaignError(f"not TOML: {error}", where=where) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise CampaignError(f"{place}: {first['msg']}", where=where, next="see the clusters that come with perjoule") from error
    boards = {key: Board(key, b.cores, b.mips, b.nic, b.idle, b.dynamic) for key, b in file.board.items()}
    disks = {key: Disk(key, d.technology, d.capacity, d.read, d.write, d.idle, d.active) for key, d in file.disk.items()}
    try:
        nodes = tuple(Node(n.name, n.role, n.count, boards[n.board], tuple(disks[disk] for disk in n.disks)) for n in file.node)
    except KeyError as error:
        raise CampaignError(f"no board or disk is called {error}", where=where, next="describe it in the same file") from error
    return Cluster(name, file.title, file.source, nodes, file.switch, file.supply_efficiency, tuple(file.notes))


@cache
def names() -> tuple[str, ...]:
    """List the clusters in the catalogue."""
    found = (path.name for path in files("perjoule.catalogue").iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


@cache
def cluster(name: str) -> Cluster:
    """Find a cluster by name.

    Raises:
        CampaignError: the catalogue has no such cluster; the message names the neighbour.
    """
    if name not in names():
        near = get_close_matches(name.lower(), names(), n=1, cutoff=0.4)
        known = f'did you mean "{near[0]}"?' if near else f"the catalogue has {', '.join(names())}"
        raise CampaignError(f'there is no cluster "{name}" in the catalogue', next=known)
    return read(files("perjoule.catalogue").joinpath(f"{name}.toml").read_text("utf-8"), name)
