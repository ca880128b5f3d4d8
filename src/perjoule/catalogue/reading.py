"""The catalogue's clusters: a TOML file, with the boards, disks and switches that it names, to frozen
Clusters.

A file is one cluster with its nodes, or several: `[[variant.NAME]]` are the nodes of each. What it says of a
board or a disk (`[board.NAME]`, `[drive.NAME]`) changes the catalogue's key by key, such as by what was
measured there, or describes another.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from perjoule.catalogue import composing, folder
from perjoule.catalogue.parts import (
    BoardPart,
    Count,
    DrivePart,
    MeanRatios,
    Network,
    Switch,
    complaint,
)
from perjoule.catalogue.quantities import SOURCED, Bare, Watts
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster, Node, Role, Value
from perjoule.model.validation import explained, instead

MOST_HOSTS_COUNT = 100_000  # of a node
Part = TypeVar("Part")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Nodes(_Strict):
    """Hosts of one kind."""

    name: str
    role: Role
    count: int = Field(gt=0, le=MOST_HOSTS_COUNT)
    board: str
    drives: dict[str, Count] = {}
    network: str = ""
    behind_port: bool = True


class ClusterFile(_Strict):
    """What a cluster's file says."""

    title: str
    source: str = Field(min_length=1)
    notes: list[str] = []
    switch: str = ""
    switch_at_wall: Watts | None = None
    supply_efficiency: Bare | None = None
    supply_no_load_at_wall: Watts | None = None
    load_at_wall: Watts | None = None
    highest_at_wall: Watts | None = None
    board: dict[str, dict[str, Any]] = {}
    drive: dict[str, dict[str, Any]] = {}
    node: list[Nodes] = []
    variant: dict[str, list[Nodes]] = {}


def read(text: str, name: str, origin: str) -> Cluster:
    """Read the one cluster of a TOML file. Raises CampaignError as `read_all` does, or if it has variants."""
    clusters = read_all(text, name, origin)
    if name not in clusters:
        raise CampaignError("the file has variants", where=origin, next=f"name one of {', '.join(clusters)}")
    return clusters[name]


def read_all(text: str, name: str, origin: str) -> Mapping[str, Cluster]:
    """Read the clusters of a TOML file by name: the file's own, or those of its variants.

    Args:
        text: its text.
        name: its name without its ending.
        origin: how messages name it.

    Raises:
        CampaignError: invalid TOML, an unknown or missing key, a wrong unit, or a board, disk or switch that
            neither the file nor the catalogue describes.
    """
    try:
        file = ClusterFile.model_validate(folder.toml(text, origin), context=SOURCED)
    except ValidationError as error:
        explanation = explained(error, ClusterFile, "a cluster")
        raise CampaignError(explanation.what, where=origin, next=explanation.advice) from error
    return read_file(file, name, origin)


def read_file(file: ClusterFile, name: str, origin: str) -> Mapping[str, Cluster]:
    """Make the clusters of a file. Raises CampaignError as `read_all` does."""
    if bool(file.node) == bool(file.variant):
        raise CampaignError(
            "the file has neither nodes nor variants, or both",
            where=origin,
            next="write [[node]] or [[variant.NAME]]",
        )
    every = file.variant or {name: file.node}
    return {key: _Reader(file, origin).cluster(key, name, nodes) for key, nodes in every.items()}


class _Reader:
    """A cluster's file beside the catalogue's tables."""

    def __init__(self, file: ClusterFile, origin: str) -> None:
        self._file, self._where, self._tables = file, origin, folder.tables()
        self._mean = part("mean", "", self._tables["mean"], MeanRatios, origin)

    def cluster(self, name: str, file: str, nodes: list[Nodes]) -> Cluster:
        written = self._file
        servers = {host.board: self._part("board", host.board, written.board, BoardPart) for host in nodes}
        efficiency, no_load = self._efficiency(nodes, servers), self._no_load(nodes, servers)
        made = (self._node(host, servers[host.board], efficiency, fed=_is_fed(host, nodes)) for host in nodes)
        load, highest = (
            watts.plain if watts else None for watts in (written.load_at_wall, written.highest_at_wall)
        )
        title = f"{written.title}, {name}" if written.variant else written.title
        composed = Cluster(
            name,
            title,
            written.source,
            tuple(made),
            self._switch_w(nodes),
            efficiency,
            tuple(written.notes),
            file,
            load,
            highest,
            no_load,
        )
        return composing.alone(composing.told_apart(composed))

    def _node(self, written: Nodes, server: BoardPart, efficiency: Value, *, fed: bool) -> Node:
        alike = {name: self._part("drive", name, self._file.drive, DrivePart) for name in written.drives}
        drives = [(name, alike[name]) for name, count in written.drives.items() for _ in range(count)]
        network = written.network or next(reversed(server.networks), "")
        link = self._part("network", network, {}, Network) if network and server.nic is None else None
        host = composing.Drawer(written.board, server, drives, link, self._mean, written.behind_port)
        try:
            return composing.node(
                written.name, written.role, written.count, host, composing.Feed(efficiency, not fed)
            )
        except CampaignError as error:
            raise CampaignError(error.what, where=self._where, next=error.next) from None

    def _efficiency(self, nodes: list[Nodes], servers: Mapping[str, BoardPart]) -> Value:
        efficiency = self._file.supply_efficiency
        if efficiency is None:
            fed = sorted(
                (host for host in nodes if host.role != "client"), key=lambda host: host.role != "storage"
            )
            efficiency = next((servers[host.board].supply_efficiency for host in (*fed, *nodes)), None)
        if efficiency is None:
            raise CampaignError(
                "supply_efficiency is not stated",
                where=self._where,
                next="add it, or to the file of its board",
            )
        if not 0 < efficiency.value <= 1:
            raise CampaignError("supply_efficiency is not between 0 and 1", where=self._where)
        return efficiency.plain

    def _no_load(self, nodes: list[Nodes], servers: Mapping[str, BoardPart]) -> Value | None:
        no_load = self._file.supply_no_load_at_wall
        if no_load is None and self._file.supply_efficiency is None:
            fed = sorted(
                (host for host in nodes if host.role != "client"), key=lambda host: host.role != "storage"
            )
            no_load = next((servers[host.board].supply_no_load_at_wall for host in (*fed, *nodes)), None)
        return no_load.plain if no_load else None

    def _switch_w(self, nodes: list[Nodes]) -> Value:
        if self._file.switch_at_wall is not None:
            return self._file.switch_at_wall.plain
        if not self._file.switch:
            raise CampaignError(
                "no switch is stated", where=self._where, next='write switch = "NAME", or switch_at_wall'
            )
        return self._part("switch", self._file.switch, {}, Switch).watts_at_wall.plain

    def _part(self, table: str, name: str, described: Mapping[str, dict[str, Any]], kind: type[Part]) -> Part:
        """Return a part by its name, as the catalogue and then the file describe it."""
        tables, merged = self._tables[table], dict[str, Any]()
        if name not in tables and name not in described:
            advice = instead(name, (*tables, *described))
            raise CampaignError(f'no {table} is called "{name}"', where=self._where, next=advice)
        for keys in (tables.get(name, {}), described.get(name, {})):
            folder.merge(merged, keys)
        return part(table, name, merged, kind, self._where)


def part(table: str, name: str, written: Mapping[str, Any], kind: type[Part], origin: str) -> Part:
    """Read a part. Raises CampaignError: a key or a unit is wrong, or its numbers make no such part."""
    try:
        part_read = _adapter(kind).validate_python(written, context=SOURCED)
    except ValidationError as error:
        table_path = ".".join(filter(None, (table, name)))
        explanation = explained(error, kind, f"[{table_path}]", above=table_path, names="[{}]".format)
        raise CampaignError(
            explanation.what, where=origin, next=explanation.advice or "see `perjoule docs boards`"
        ) from error
    if fault := complaint(table, name, part_read):
        raise CampaignError(fault[1], where=origin, next=fault[2])
    return cast("Part", part_read)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _is_fed(node: Nodes, nodes: list[Nodes]) -> bool:
    """Whether the cluster's supply feeds a host: clients beside servers have their own."""
    return node.role != "client" or all(host.role == "client" for host in nodes)
