"""A TOML file to frozen Clusters; anything unknown in the file is refused.

A file is one cluster with its nodes, or several: `[[variant.NAME]]` are the nodes of each, made of the same boards and disks.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache, partial
from importlib.resources import files
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from perjoule.model import units
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Board, Cluster, Disk, Node, Role, Value

MOST_HOSTS_COUNT = 100_000  # of a node
_QUANTITIES = ("value", "sigma", "low", "high")
_VARIANT = re.compile(r"^\[\[variant\.([\w-]+)\]\]", re.MULTILINE)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _in_si(raw: object, allowed: dict[str, float]) -> object:
    """Convert the quantities of `{ value = "15.46 W", sigma = "1.13 W", ... }` to numbers; pydantic checks the rest."""
    if not isinstance(raw, Mapping):
        return raw
    written = cast("Mapping[str, object]", raw)
    return {**written, **{key: units.quantity(written[key], allowed) for key in _QUANTITIES if key in written}}


def _ranged(value: Value) -> Value:
    """Refuse a range that its value is not in. Raises ValueError."""
    low, high = (value.value if end is None else end for end in (value.low, value.high))
    if not low <= value.value <= high:
        raise ValueError("the value is not between low and high")
    if value.status == "bound" and None in (value.low, value.high):
        raise ValueError("a bound states low and high")
    return value


_Bytes = Annotated[Value, BeforeValidator(partial(_in_si, allowed=units.BYTES))]
_Rate = Annotated[Value, BeforeValidator(partial(_in_si, allowed=units.RATES))]
_Seconds = Annotated[Value, BeforeValidator(partial(_in_si, allowed=units.SECONDS))]
_Watts = Annotated[Value, BeforeValidator(partial(_in_si, allowed=units.WATTS)), AfterValidator(_ranged)]


class _Board(_Strict):
    cores: int = Field(gt=0)
    mips: Value
    nic: _Rate
    idle: _Watts
    dynamic: _Watts
    port_read: _Rate | None = None
    port_write: _Rate | None = None
    memory: _Bytes | None = None


class _Disk(_Strict):
    technology: Literal["hdd", "ssd", "nvme"]
    capacity: _Bytes
    read: _Rate
    write: _Rate
    idle: _Watts
    active: _Watts
    seek: _Seconds | None = None


class _Node(_Strict):
    name: str
    role: Role
    count: int = Field(gt=0, le=MOST_HOSTS_COUNT)
    board: str
    disks: list[str] = []


class _File(_Strict):
    title: str
    source: str = Field(min_length=1)
    notes: list[str] = []
    switch: _Watts
    supply_efficiency: Value
    load: _Watts | None = None
    highest: _Watts | None = None
    board: dict[str, _Board]
    disk: dict[str, _Disk]
    node: list[_Node] = []
    variant: dict[str, list[_Node]] = {}


def _rates(file: _File) -> Iterator[tuple[str, Value]]:
    """List what work is divided by, by its place in the file."""
    for key, board in file.board.items():
        yield from ((f"board.{key}.mips", board.mips), (f"board.{key}.nic", board.nic))
    for key, disk in file.disk.items():
        yield from ((f"disk.{key}.read", disk.read), (f"disk.{key}.write", disk.write))


def _complaint(error: ValidationError) -> str:
    """Choose one error to show: an unknown key first, because it often explains the missing one."""
    unknown = ("extra_forbidden", "unexpected_keyword_argument")
    faults = sorted(error.errors(), key=lambda fault: fault["type"] not in unknown)
    place = ".".join(str(part) for part in faults[0]["loc"])
    return f"{place}: {'unknown key' if faults[0]['type'] in unknown else faults[0]['msg']}"


def read(text: str, name: str) -> Cluster:
    """Read the one cluster of a TOML file. Raises CampaignError as `read_all` does, or if it has variants."""
    found = read_all(text, name)
    if name not in found:
        raise CampaignError("the file has variants", where=f"catalogue file {name}.toml", next=f"name one of {', '.join(found)}")
    return found[name]


def read_all(text: str, name: str) -> Mapping[str, Cluster]:
    """Read the clusters of a TOML file by name: the file's own, or those of its variants.

    Raises:
        CampaignError: invalid TOML, an unknown or missing key, a wrong unit, or a board or disk that the file does not describe.
    """
    where = f"catalogue file {name}.toml"
    try:
        file = _File.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise CampaignError(_complaint(error), where=where, next="see the clusters that come with perjoule") from error
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, or a number of thousands of digits
        raise CampaignError(f"not TOML: {error}", where=where) from error
    for place, value in _rates(file):
        if not value.value > 0:
            raise CampaignError(f"{place} is 0", where=where, next="write what it reaches")
    if not 0 < file.supply_efficiency.value <= 1:
        raise CampaignError("supply_efficiency is not between 0 and 1", where=where)
    if bool(file.node) == bool(file.variant):
        raise CampaignError(
            "the file has neither nodes nor variants, or both", where=where, next="write [[node]] or [[variant.NAME]]"
        )
    boards = {
        key: Board(key, b.cores, b.mips, b.nic, b.idle, b.dynamic, b.port_read, b.port_write, b.memory)
        for key, b in file.board.items()
    }
    disks = {key: Disk(key, d.technology, d.capacity, d.read, d.write, d.idle, d.active, d.seek) for key, d in file.disk.items()}
    try:
        nodes = {
            key: tuple(_node(n, boards[n.board], disks) for n in found)
            for key, found in (file.variant or {name: file.node}).items()
        }
    except KeyError as error:
        raise CampaignError(f"no board or disk is called {error}", where=where, next="describe it in the same file") from error
    return {
        key: Cluster(
            key,
            f"{file.title}, {key}" if file.variant else file.title,
            file.source,
            found,
            file.switch,
            file.supply_efficiency,
            tuple(file.notes),
            name,
            file.load,
            file.highest,
        )
        for key, found in nodes.items()
    }


def _node(written: _Node, board: Board, disks: Mapping[str, Disk]) -> Node:
    return Node(written.name, written.role, written.count, board, tuple(_behind(board, disks[name]) for name in written.disks))


def _behind(board: Board, disk: Disk) -> Disk:
    """Return a disk behind a board's port: with the lower speed of the two, and active power to match."""
    read, write = (
        min(own, port or own, key=lambda value: value.value)
        for own, port in (
            (disk.read_bytes_per_s, board.port_read_bytes_per_s),
            (disk.write_bytes_per_s, board.port_write_bytes_per_s),
        )
    )
    if (read, write) == (disk.read_bytes_per_s, disk.write_bytes_per_s):
        return disk
    use_ratio = max(read.value / disk.read_bytes_per_s.value, write.value / disk.write_bytes_per_s.value)
    active_w = disk.idle_w.value + use_ratio * (disk.active_w.value - disk.idle_w.value)
    share = f"{100 * use_ratio:.0f} % of its power above idle, the share that the port of {board.name} lets through"
    source = f"{disk.active_w.source}; {share}"
    active = replace(disk.active_w, value=active_w, source=source, low=None, high=None)
    return replace(disk, read_bytes_per_s=read, write_bytes_per_s=write, active_w=active)


@cache
def names() -> tuple[str, ...]:
    """List the clusters in the catalogue."""
    return tuple(sorted(_files()))


@cache
def _files() -> Mapping[str, str]:
    """Return the name of each cluster's file, read only up to its variants."""
    found: dict[str, str] = {}
    for path in files("perjoule.catalogue").iterdir():
        if path.name.endswith(".toml"):
            name = path.name.removesuffix(".toml")
            found |= dict.fromkeys(_VARIANT.findall(path.read_text("utf-8")) or [name], name)
    return found


@cache
def cluster(name: str) -> Cluster:
    """Find a cluster by name.

    Raises:
        CampaignError: the catalogue has no such cluster; the message suggests the nearest name.
    """
    if name not in names():
        near = get_close_matches(name.lower(), names(), n=1, cutoff=0.4)
        known = f'did you mean "{near[0]}"?' if near else f"the catalogue has {', '.join(names())}"
        raise CampaignError(f'the catalogue has no cluster "{name}"', next=known)
    file = _files()[name]
    return read_all(files("perjoule.catalogue").joinpath(f"{file}.toml").read_text("utf-8"), file)[name]
