"""What the catalogue has by name: its clusters, its boards, each of which makes a cluster of its own, and
its drives.
"""

from collections.abc import Mapping
from functools import cache

from perjoule.catalogue import folder
from perjoule.catalogue.parts import BoardPart, DrivePart, Network, Switch, switched
from perjoule.catalogue.reading import ClusterFile, Nodes, Part, part, read_all, read_file
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster, Role
from perjoule.model.validation import instead

# hosts of a board's own cluster
OF_BOARD: Mapping[Role, int] = {"storage": 4, "metadata": 1, "management": 1, "client": 2}


def names() -> tuple[str, ...]:
    """List the clusters in the catalogue."""
    return tuple(sorted(folder.clusters()))


def boards() -> tuple[str, ...]:
    """List the boards that make a cluster of their own: those that say which drives a host of them has."""
    return tuple(
        name
        for name, table in folder.tables()["board"].items()
        if isinstance(table, dict) and "drives" in table
    )


def servers_by_name() -> Mapping[str, BoardPart]:
    """Return all boards. Raises CampaignError: a file of the user's is wrong."""
    return _by_name("board", BoardPart)


def drives_by_name() -> Mapping[str, DrivePart]:
    """Return all drives. Raises CampaignError: a file of the user's is wrong."""
    return _by_name("drive", DrivePart)


def _by_name(table: str, kind: type[Part], origin: str = "") -> Mapping[str, Part]:
    """Return all parts of a table; errors name `origin`, or the file of the part."""
    return {
        name: part(table, name, written, kind, origin or folder.file_of(table, name).origin)
        for name, written in folder.tables()[table].items()
    }


def choices() -> tuple[str, ...]:
    """List all that `cluster` knows: clusters, and boards."""
    return tuple(sorted({*names(), *boards()}))


def cluster(name: str) -> Cluster:
    """Find a cluster by name, or make one of a board.

    Raises:
        CampaignError: the catalogue has no such cluster; the message suggests the nearest name.
    """
    return _cluster(name, folder.places())


@cache
def _cluster(name: str, user_folders: tuple[str, ...]) -> Cluster:  # the user's folders are part of the key
    if (file := folder.clusters().get(name)) is not None:
        return read_all(file.text, file.name, file.origin)[name]
    if name not in boards():
        raise CampaignError(f'the catalogue has no cluster "{name}"', next=instead(name, choices()))
    return _of_board(name)


def _of_board(name: str) -> Cluster:
    origin = folder.file_of("board", name).origin
    server = part("board", name, folder.tables()["board"][name], BoardPart, origin)
    title = f"{OF_BOARD['storage']} x {server.title or name}"
    network = next(reversed(server.networks), "")
    return of_hosts(name, title, name, OF_BOARD["storage"], server.drives, network)


def of_hosts(
    name: str, title: str, board: str, count: int, drives: Mapping[str, int], network: str
) -> Cluster:
    """Make a cluster of so many storage hosts of a board, its other hosts, and the switch of its network that
    draws least.

    Raises CampaignError: no switch of the network has ports for all, or the board's drives don't fit.
    """
    origin = folder.file_of("board", board).origin
    drives_of: Mapping[Role, Mapping[str, int]] = {"storage": drives, "metadata": drives}
    counts: Mapping[Role, int] = {**OF_BOARD, "storage": count}
    hosts = [
        Nodes(
            name=role,
            role=role,
            count=number,
            board=board,
            drives={**drives_of.get(role, {})},
            network=network,
        )
        for role, number in counts.items()
    ]
    hosts_count = sum(counts.values())
    links = _by_name("network", Network, origin)
    switched_by = switched(network, links[network]) if network in links else network
    fitting = {
        switch: described
        for switch, described in _by_name("switch", Switch, origin).items()
        if described.network == switched_by and described.ports >= hosts_count
    }
    if not fitting:
        message = f'[board.{board}]: no switch of network "{network}" has {hosts_count} ports'
        raise CampaignError(
            message, where=origin, next="name its networks, and describe a switch of the last"
        )
    file = ClusterFile(
        title=title,
        source=f"the catalogue's board {board}; number of hosts, disks and switch are chosen, not measured",
        switch=min(fitting, key=lambda switch: fitting[switch].watts_at_wall.value),
        node=hosts,
    )
    return read_file(file, name, origin)[name]


def standing_for(board: str) -> str:
    """Name the cluster whose storage hosts have a board: one of the catalogue's, or the board's own; ""
    for none.
    """
    for name in names():
        if any(node.role == "storage" and node.board.name == board for node in cluster(name).nodes):
            return name
    return board if board in boards() else ""
