"""A cluster's TOML file to a frozen Cluster; what the file does not know to be right is refused."""

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache, partial
from importlib.resources import files
from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from perjoule import units
from perjoule.catalogue.hardware import Board, Cluster, Disk, Node, Role, Value
from perjoule.errors import CampaignError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _in_si(raw: object, allowed: dict[str, float]) -> object:
    """Turn value and sigma of `{ value = "15.46 W", sigma = "1.13 W", ... }` into numbers; all else is pydantic's to judge."""
    if not isinstance(raw, Mapping):
        return raw
    written = cast("Mapping[str, object]", raw)
    return {**written, **{key: units.quantity(written[key], allowed) for key in ("value", "sigma") if key in written}}


_Bytes = Annotated[Value, BeforeValidator(partial(_in_si, allowed=units.BYTES))]
_Rate = Annotated[Value, BeforeValidator(partial(_in_si, allowed=units.RATES))]
_Watts = Annotated[Value, BeforeValidator(partial(_in_si, allowed=units.WATTS))]


class _Board(_Strict):
    cores: int = Field(gt=0)
    mips: Value
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
    supply_efficiency: Value
    board: dict[str, _Board]
    disk: dict[str, _Disk]
    node: list[_Node]


def _complaint(error: ValidationError) -> str:
    """Choose one fault to show: an unknown key first, for it often explains the missing one."""
    unknown = ("extra_forbidden", "unexpected_keyword_argument")
    faults = sorted(error.errors(), key=lambda fault: fault["type"] not in unknown)
    place = ".".join(str(part) for part in faults[0]["loc"])
    return f"{place}: {'unknown key' if faults[0]['type'] in unknown else faults[0]['msg']}"


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
        raise CampaignError(_complaint(error), where=where, next="see the clusters that come with perjoule") from error
    if not 0 < file.supply_efficiency.value <= 1:
        raise CampaignError("supply_efficiency is not between 0 and 1", where=where)
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
