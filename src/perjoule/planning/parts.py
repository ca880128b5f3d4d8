"""Hardware, file systems and prices to plan with: what comes with perjoule, and what the user adds or changes
in TOML.

The data are in perjoule/catalogue: boards/, drives/ and switches/ have one file each, parts/ the rest.
docs/how-to/plan.md describes their format.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from perjoule import catalogue
from perjoule.campaign.lines import Path, key_lines
from perjoule.campaign.source import CampaignSource
from perjoule.catalogue import folder
from perjoule.catalogue.parts import (
    BoardPart,
    DrivePart,
    MeanRatios,
    Network,
    State,
    Switch,
    complaint,
    switched,
    watts,
)
from perjoule.catalogue.quantities import Bare, Mass, Money, Price, Quantity
from perjoule.model import Json
from perjoule.model.errors import CampaignError
from perjoule.model.format import percent
from perjoule.model.validation import explained, instead

_FORBID = ConfigDict(extra="forbid")
_Count = Annotated[int, Field(ge=0, le=1000)]
Blamed = Callable[..., CampaignError]  # of a path, what is wrong, and what to do
NVME, SSD = "nvme", "ssd"  # of one price and carbon by the TB


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Technology:
    """What disks of one technology cost by the terabyte."""

    price_per_tb: Money
    embodied_per_tb: Mass


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Failure:
    """How often disks fail, and how fast their data are made again elsewhere."""

    disks_per_year: Bare  # share of disks that fail in a year
    rebuild: Bare  # rate at which a lost disk's data are made again, over a disk's rate of writing


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class FileSystemPart:
    """A file system: the options of its driver for each redundancy, the work of a server's CPU, and how
    near its bound it is.
    """

    title: str = ""
    further_hosts: _Count  # beside those that hold data
    # 7-zip MIPS x seconds for each byte written to disks; that of its profile if absent
    write_cpu: Bare | None = None
    read_cpu: Bare | None = None  # for each byte read from them
    # throughput over the bound of networks, CPUs and disks; by the law of its profile if absent
    write_reached: Bare | None = None
    read_reached: Bare | None = None
    options: tuple[Mapping[str, Json], ...]
    # options of its driver for these
    counts: Mapping[str, Literal["servers", "drives"]] = field(default_factory=dict[str, Any])
    whole_groups: bool = False  # servers x drives must be a multiple of a file's parts


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Electricity:
    """The price of electricity where the need has none."""

    price: Price


@dataclass(frozen=True, kw_only=True, config=_FORBID)
class Parts:
    """All that a plan chooses from."""

    server: Mapping[str, BoardPart]
    drive: Mapping[str, DrivePart]
    technology: Mapping[str, Technology]
    mean: MeanRatios
    failure: Failure
    network: Mapping[str, Network]
    switch: Mapping[str, Switch]
    filesystem: Mapping[str, FileSystemPart]
    grid: Mapping[str, Annotated[float, Field(gt=0, le=5000)]]  # gCO2e/kWh
    electricity: Electricity


TABLES = tuple(Parts.__annotations__)


_KEYS = "see `perjoule docs plan` for each part's keys"
PLANNED = {  # what a plan needs of a part; without, it is left out, unless a need describes it
    "server": ("slots", "networks", "supply_efficiency", "price", "embodied", "rack_units", "port"),
    "drive": ("fits",),
}


def shipped() -> Parts:
    """Return the parts that come with perjoule, and those of the user's folders."""
    return _shipped(folder.places())


@cache
def _shipped(user_folders: tuple[str, ...]) -> Parts:  # the user's folders are part of the key
    return parts({}, CampaignSource("", {}))


def emulated() -> tuple[str, ...]:
    """Name what virtual hosts can emulate as the servers of a plan: clusters with storage hosts, and
    boards.
    """
    return tuple(name for name in catalogue.choices() if _stores(name))


def _stores(cluster: str) -> bool:
    return any(node.role == "storage" for node in catalogue.cluster(cluster).nodes)


def parts(user_tables: Mapping[str, Any], source: CampaignSource) -> Parts:
    """Read the parts of the catalogue, changed by the user's own tables.

    Args:
        user_tables: by name, such as {"drive": {"exos-x12": {"price": "700 USD"}}}; a new name adds a part.
        source: their origin.

    Raises:
        CampaignError: a table is wrong, with its line.
    """
    merged: dict[str, Any] = {}
    for tables in (_catalogue(), user_tables):
        folder.merge(merged, tables)
    blamed = partial(_blamed, user_tables, source)
    try:
        every = TypeAdapter(Parts).validate_python(merged)
    except ValidationError as error:
        explanation = explained(error, Parts, "a need", names="[{}]".format, add=lambda _: _KEYS)
        raise blamed(*explanation) from None
    usable = {
        table: {
            name: part
            for name, part in getattr(every, table).items()
            if _described(user_tables, table, name) or not _lacking(part, table)
        }
        for table in PLANNED
    }
    complete = replace(every, **usable)
    for path, fault, advice in _unfitting(complete):
        raise blamed(path, fault, advice)
    return complete


def lacking(table: str, name: str) -> tuple[Sequence[str], str]:
    """Return the keys that a part of the catalogue lacks for plans, and the file that should have them."""
    described = _catalogue()[table].get(name)
    if described is None:
        return (), ""
    return [key for key in PLANNED.get(table, ()) if key not in described], _file_of(table, name).origin


def _catalogue() -> Mapping[str, Mapping[str, Any]]:
    """Return the catalogue's tables as plans name them."""
    return {"server" if table == "board" else table: part for table, part in folder.tables().items()}


def _file_of(table: str, name: str) -> folder.CatalogueFile:
    return folder.file_of("board" if table == "server" else table, name)


def _described(user_tables: Mapping[str, Any], table: str, name: str) -> bool:
    """Whether a need has a table of a part."""
    return isinstance(changed := user_tables.get(table), Mapping) and name in changed


def _lacking(part: object, table: str) -> list[str]:
    return [key for key in PLANNED.get(table, ()) if getattr(part, key) in (None, (), {})]


def _blamed(
    user_tables: Mapping[str, Any], source: CampaignSource, path: Path, fault: str, next: str = ""
) -> CampaignError:
    """Return the error of a key, with its place: the need, or the file of the catalogue that has it."""
    table, name = [*map(str, path[:2]), "", ""][:2]
    if _described(user_tables, table, name) or name not in _catalogue().get(table, {}):
        return source.error(path, fault, next)
    file = _file_of(table, name)
    inside = path if table == "switch" or not file.table else path[2:]  # most files are one table
    return CampaignSource(file.origin, key_lines(file.text)).error(inside, fault, next)


def stand_in(name: str, server: BoardPart) -> str:
    """Name the cluster whose storage hosts stand for a server: the one that it names, or that the
    catalogue has; "" for none.
    """
    return server.cluster or catalogue.standing_for(name)


def of_server(server: BoardPart) -> dict[str, Quantity]:
    """Return the quantities of a server that plans rest on; its watts at the wall."""
    its = {"mips": server.mips, "supply_efficiency": server.supply_efficiency, "port": server.port}
    its |= {"price": server.price, "embodied": server.embodied}
    its |= {"supply_no_load": server.supply_no_load_at_wall}
    terms: tuple[State, ...] = ("step", "bend")
    states: tuple[State, ...] = ("idle", "dynamic", *(term for term in terms if any(watts(server, term))))
    return {state: _at_wall(server, state) for state in states} | {
        key: quantity for key, quantity in its.items() if quantity is not None
    }


def _at_wall(server: BoardPart, state: State) -> Quantity:
    at_wall, behind = watts(server, state)
    if at_wall is not None:
        return at_wall
    assert behind is not None and server.supply_efficiency is not None
    efficiency = server.supply_efficiency.value
    source = f"{behind.source}; at the wall, before a supply of {percent(efficiency)} %"
    return replace(
        behind,
        value=behind.value / efficiency,
        low=behind.low / efficiency,
        high=behind.high / efficiency,
        source=source,
    )


def of_technology(all_parts: Parts, drive: DrivePart) -> tuple[str, Technology]:
    """Return the technology by which a disk without a price or carbon has them; NVMe disks are SSDs."""
    name = SSD if drive.technology == NVME and NVME not in all_parts.technology else drive.technology
    return name, all_parts.technology[name]


def _unfitting(all_parts: Parts) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Name what makes a part impossible, and what one says of another that isn't there."""
    for table in ("server", "drive", "network"):
        for name, part in getattr(all_parts, table).items():
            if fault := complaint(table, name, part):
                yield (table, name, *filter(None, fault[:1])), *fault[1:]
            for key in _lacking(part, table):
                yield (
                    (table, name),
                    f"[{table}.{name}] needs {key}",
                    _KEYS,
                )
    for name, drive in all_parts.drive.items():
        if drive.technology not in {*all_parts.technology, NVME}:
            path = ("drive", name, "technology")
            yield path, f'no technology "{drive.technology}"', instead(drive.technology, all_parts.technology)
        for state in ("idle", "active", "step", "sustained"):
            if watts(drive, state)[0] is not None:
                key = f"{state}_at_wall"
                yield (
                    ("drive", name, key),
                    f"[drive.{name}] states {key}, and plans need it behind the supply",
                    f"write {state}_behind_supply",
                )
    for name, server in all_parts.server.items():
        for network in server.networks:
            if network not in all_parts.network:
                yield (
                    ("server", name, "networks"),
                    f'no network "{network}"',
                    instead(network, all_parts.network),
                )
        if server.cluster and not (server.cluster in catalogue.choices() and _stores(server.cluster)):
            message = f'the catalogue has no cluster "{server.cluster}" with storage hosts'
            yield ("server", name, "cluster"), message, instead(server.cluster, emulated())
    for name, switch in all_parts.switch.items():
        if switch.network not in all_parts.network:
            yield (
                ("switch", name, "network"),
                f'no network "{switch.network}"',
                instead(switch.network, all_parts.network),
            )
    for network in dict.fromkeys(
        network_name for server in all_parts.server.values() for network_name in server.networks
    ):
        switched_by = switched(network, all_parts.network[network])
        if all(switch.network != switched_by for switch in all_parts.switch.values()):
            yield (
                ("network", network),
                f"no switch has ports of network {network}",
                f'add [switch.NAME] with network = "{network}"',
            )
