"""Hardware, file systems and prices to plan with: what comes with perjoule, and what the user adds or changes in TOML.

The data are in perjoule/catalogue/parts, one table for each part; their format is described in docs/how-to/plan.md.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from perjoule import catalogue
from perjoule.campaign.messages import clauses, fault, instead
from perjoule.campaign.source import Source
from perjoule.model import OPTIONS, Json, option_name
from perjoule.model.errors import CampaignError
from perjoule.model.units import Bytes
from perjoule.planning.quantities import Bare, Mass, Money, Price, Rate, Watts

_FORBID = ConfigDict(extra="forbid")
_Count = Annotated[int, Field(ge=0, le=1000)]
_RackUnits = Annotated[float, Field(ge=0, le=100)]


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Server:
    """A server without data disks; watts at the wall."""

    title: str
    mips: Bare  # 7-zip rating of all cores
    idle: Watts
    dynamic: Watts  # added at full CPU use
    supply_efficiency: Bare  # for disks and cards, whose watts are behind the supply
    price: Money
    embodied: Mass
    rack_units: _RackUnits
    slots: Mapping[str, Annotated[int, Field(ge=1, le=200)]]  # of each kind of slot
    port: Rate  # that all disks together get through
    networks: tuple[str, ...]
    cluster: str = ""  # of the catalogue, with this board as its storage host: virtual hosts can emulate it


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Drive:
    """A disk; watts behind the server's supply. Without idle and active power it has those of its mean."""

    title: str
    technology: str
    fits: tuple[str, ...]  # kinds of slots
    capacity_bytes: Bytes
    read: Rate
    write: Rate
    idle: Watts | None = None
    active: Watts | None = None
    mean: Watts | None = None
    price: Money | None = None
    embodied: Mass | None = None


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Technology:
    """What disks of one technology cost by the terabyte."""

    price_per_tb: Money
    embodied_per_tb: Mass


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Mean:
    """Idle and full power of a disk over its mean power."""

    idle: Bare
    active: Bare


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Failure:
    """How often disks fail, and how fast their data are made again elsewhere."""

    disks_per_year: Bare  # share of disks that fail in a year
    rebuild: Bare  # rate at which a lost disk's data are made again, over a disk's rate of writing


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Network:
    """A network speed, and the card that gives it to a server; no card where it is on board."""

    goodput: Rate
    card: Watts | None = None
    card_price: Money | None = None
    card_embodied: Mass | None = None


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Switch:
    """A switch; watts at the wall."""

    network: str
    ports: Annotated[int, Field(ge=2, le=1024)]
    watts: Watts
    price: Money
    embodied: Mass
    rack_units: _RackUnits


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class FileSystem:
    """A file system: the options of its driver for each redundancy, the work of a server's CPU, and how near its bound it is."""

    further_hosts: _Count  # beside those that hold data
    write_cpu: Bare | None = None  # 7-zip MIPS x seconds for each byte written to disks; that of its profile if absent
    read_cpu: Bare | None = None  # for each byte read from them
    write_reached: Bare | None = (
        None  # throughput over the bound of networks, CPUs and disks; by the law of its profile if absent
    )
    read_reached: Bare | None = None
    options: tuple[Mapping[str, Json], ...]
    counts: Mapping[str, Literal["servers", "drives"]] = field(default_factory=dict[str, Any])  # options of its driver for these
    whole_groups: bool = False  # servers x drives must be a multiple of a file's parts


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Electricity:
    """The price of electricity where the need has none."""

    price: Price


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Parts:
    """All that a plan chooses from."""

    server: Mapping[str, Server]
    drive: Mapping[str, Drive]
    technology: Mapping[str, Technology]
    mean: Mean
    failure: Failure
    network: Mapping[str, Network]
    switch: Mapping[str, Switch]
    filesystem: Mapping[str, FileSystem]
    grid: Mapping[str, Annotated[float, Field(gt=0, le=5000)]]  # gCO2e/kWh
    electricity: Electricity


TABLES = tuple(Parts.__annotations__)


@cache
def shipped() -> Parts:
    """Return the parts that come with perjoule."""
    return parts({}, Source("", {}))


@cache
def _tables() -> tuple[Mapping[str, Any], ...]:
    folder = files("perjoule.catalogue") / "parts"
    return tuple(
        tomllib.loads(one.read_text("utf-8"))
        for one in sorted(folder.iterdir(), key=lambda one: one.name)
        if one.name.endswith(".toml")
    )


def emulated() -> tuple[str, ...]:
    """Name the clusters of the catalogue that virtual hosts can emulate as the servers of a plan: those with storage hosts."""
    return tuple(name for name in catalogue.names() if _stores(name))


def _stores(cluster: str) -> bool:
    return any(node.role == "storage" for node in catalogue.cluster(cluster).nodes)


def parts(own: Mapping[str, Any], source: Source) -> Parts:
    """Read the parts that come with perjoule, changed by the user's own tables.

    Args:
        own: tables by name, such as {"drive": {"exos-x12": {"price": "700 USD"}}}; a new name adds a part.
        source: their origin.

    Raises:
        CampaignError: a table is wrong, with its line.
    """
    merged: dict[str, Any] = {}
    for one in (*_tables(), own):
        _merge(merged, one)
    try:
        found = TypeAdapter(Parts).validate_python(merged)
    except ValidationError as error:
        raise _wrong(error, source) from None
    for path, what, advice in _unfitting(found):
        raise source.error(path, what, advice)
    return found


def _merge(into: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Change tables key by key. A quantity replaces the one before: an interval does not outlive its value."""
    for key, value in new.items():
        table: object = into.get(key)
        if isinstance(table, dict) and isinstance(value, Mapping) and "value" not in table and "value" not in value:
            _merge(cast("dict[str, Any]", table), cast("Mapping[str, Any]", value))
        elif isinstance(value, Mapping):
            into[key] = {}
            _merge(into[key], cast("Mapping[str, Any]", value))
        else:
            into[key] = value


def _wrong(error: ValidationError, source: Source) -> CampaignError:
    found = sorted(error.errors(), key=lambda one: one["type"] not in ("extra_forbidden", "unexpected_keyword_argument"))[0]
    path = tuple(found["loc"])
    name = ".".join(map(str, path[:-1]))
    if found["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return source.error(path[:-1], f"[{name}] needs {path[-1]}", "see docs/how-to/plan.md for each part's keys")
    if found["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        kinds = {key: one for key, one in _KINDS.items() if path and key == path[0]}
        known = [option_name(key) for kind in kinds.values() for key in kind.__annotations__]
        return source.error(path, f'[{name}] has no key "{path[-1]}"', instead(str(path[-1]), known))
    if found["type"] in ("value_error", "assertion_error"):
        what, advice = clauses(str(found.get("ctx", {}).get("error", found["msg"])))
        return source.error(path, f"{name}.{path[-1]}: {what}", advice)
    return source.error(path, *fault(found, ".".join(map(str, path)), str(path[-1])))


_KINDS: Mapping[str, Any] = {
    "server": Server,
    "drive": Drive,
    "technology": Technology,
    "mean": Mean,
    "failure": Failure,
    "electricity": Electricity,
    "network": Network,
    "switch": Switch,
    "filesystem": FileSystem,
}


# What work is divided by
_RATES = {"server": ("mips", "port"), "drive": ("read", "write"), "network": ("goodput",)}


def _unfitting(found: Parts) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Name what one part says of another that isn't there."""
    for table, keys in _RATES.items():
        for name, part in getattr(found, table).items():
            for key in keys:
                if not getattr(part, key).value > 0:
                    yield (table, name, key), f"{table}.{name}.{key} is 0", "write what it reaches"
    for name, drive in found.drive.items():
        path = ("drive", name)
        if drive.technology not in found.technology:
            yield (*path, "technology"), f'no technology "{drive.technology}"', instead(drive.technology, found.technology)
        if drive.mean is None and (drive.idle is None or drive.active is None):
            yield path, f"[drive.{name}] needs idle and active, or mean", "write its watts"
    for name, server in found.server.items():
        for network in server.networks:
            if network not in found.network:
                yield ("server", name, "networks"), f'no network "{network}"', instead(network, found.network)
        if not 0 < server.supply_efficiency.value <= server.supply_efficiency.high <= 1:
            yield ("server", name, "supply_efficiency"), f"[server.{name}]: supply_efficiency is not between 0 and 1", ""
        if server.cluster and not (server.cluster in catalogue.names() and _stores(server.cluster)):
            what = f'the catalogue has no cluster "{server.cluster}" with storage hosts'
            yield ("server", name, "cluster"), what, instead(server.cluster, emulated())
        if not server.networks or not server.slots:
            yield ("server", name), f"[server.{name}] has no networks or no slots", "name at least one of each"
    for name, switch in found.switch.items():
        if switch.network not in found.network:
            yield ("switch", name, "network"), f'no network "{switch.network}"', instead(switch.network, found.network)
    for network in dict.fromkeys(one for server in found.server.values() for one in server.networks):
        if all(switch.network != network for switch in found.switch.values()):
            yield (
                ("network", network),
                f"no switch has ports of network {network}",
                f'add [switch.NAME] with network = "{network}"',
            )
