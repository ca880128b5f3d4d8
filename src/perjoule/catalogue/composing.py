"""Hosts of a cluster from boards, disks and a network: watts all behind the cluster's supply, disks behind
their board's port.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot

from perjoule.catalogue.coefficients import EFFICIENCY, coefficients
from perjoule.catalogue.parts import BoardPart, DrivePart, MeanRatios, Network, State, of_mean, watts
from perjoule.model.errors import CampaignError
from perjoule.model.format import percent
from perjoule.model.hardware import Board, Cluster, Drive, Node, Role, Value


@dataclass(frozen=True)
class Feed:
    """What feeds a host: a supply of this efficiency, or the wall itself, for clients are outside of the
    cluster's supply.
    """

    efficiency: Value
    at_wall: bool = False


@dataclass(frozen=True)
class Drawer:
    """A board with its disks and its network, by their names in the catalogue."""

    name: str
    server: BoardPart
    drives: Sequence[tuple[str, DrivePart]]
    network: Network | None
    mean: MeanRatios
    behind_port: bool = True  # whether the port that all its disks share limits them


def node(name: str, role: Role, count: int, host: Drawer, feed: Feed) -> Node:
    """Return the hosts of a role.

    Raises CampaignError: the files lack a number that emulation needs, or have more drives than slots.
    """
    _require_slots(host)
    board, alike = _board(host, feed), tuple(_disk(host, disk, drive, feed) for disk, drive in host.drives)
    port = host.server.port.plain if host.server.port and host.behind_port else None
    return Node(name, role, count, board, tuple(_behind(board, disk, port, len(alike)) for disk in alike))


def _require_slots(host: Drawer) -> None:
    """Refuse more drives than fit, each kind and all together, where the files say what fits where."""
    slots, fitting = host.server.slots, [(name, drive) for name, drive in host.drives if drive.fits]
    every = {name: [drive for drive_name, drive in fitting if drive_name == name] for name, _ in fitting}
    for names, drives in (*every.items(), (", ".join(every), [drive for _, drive in fitting])):
        kinds = {kind for drive in drives for kind in drive.fits}
        slots_count = sum(count for kind, count in slots.items() if kind in kinds)
        if slots and len(drives) > slots_count:
            fault = (
                f"[board.{host.name}] has {slots_count} slots for {names}, and {len(drives)} drives for them"
            )
            raise CampaignError(fault, next="correct its slots or drives")


def _board(host: Drawer, feed: Feed) -> Board:
    server = host.server
    if server.cores is None:
        raise _lacking(f"[board.{host.name}]", "cores")
    idle_w, nic = _power(host, server, "idle", feed), server.nic.plain if server.nic else None
    if nic is None:
        if host.network is None:
            raise _lacking(f"[board.{host.name}]", "nic, or networks")
        nic = host.network.goodput.plain
        if card := host.network.card_behind_supply:
            idle_w = _sum(idle_w, _supplied(host, None, card.plain, feed))
    port_read, port_write, memory = (
        quantity.plain if quantity else None
        for quantity in (server.port_read, server.port_write, server.memory)
    )
    dynamic_w = _power(host, server, "dynamic", feed)
    if feed.at_wall and server.idle_behind_supply and (no_load := server.supply_no_load_at_wall):
        idle_w = _sum(idle_w, no_load.plain, "with its supply without load")
    step_w, bend_w = (_stated(host, server, state, feed) for state in ("step", "bend"))
    return Board(
        host.name,
        server.cores,
        server.mips.plain,
        nic,
        idle_w,
        dynamic_w,
        port_read,
        port_write,
        memory,
        step_w,
        bend_w,
    )


def _disk(host: Drawer, name: str, drive: DrivePart, feed: Feed) -> Drive:
    if drive.technology not in ("hdd", "ssd", "nvme", "sd"):
        fault = f'[drive.{name}]: technology "{drive.technology}" is not known'
        raise CampaignError(fault, next="write hdd, ssd, nvme or sd")
    idle_w, active_w = (_power(host, drive, state, feed) for state in ("idle", "active"))
    capacity, read, write = drive.capacity_bytes.plain, drive.read.plain, drive.write.plain
    return Drive(
        name,
        drive.technology,
        capacity,
        read,
        write,
        idle_w,
        active_w,
        drive.seek.plain if drive.seek else None,
        _stated(host, drive, "step", feed),
        drive.sustained_write.plain if drive.sustained_write else None,
        _stated(host, drive, "sustained", feed),
    )


def _stated(host: Drawer, part: BoardPart | DrivePart, state: State, feed: Feed) -> Value | None:
    return _power(host, part, state, feed) if any(watts(part, state)) else None


def _power(host: Drawer, part: BoardPart | DrivePart, state: State, feed: Feed) -> Value:
    at_wall, behind = watts(part, state)
    if at_wall is None and behind is None and isinstance(part, DrivePart):
        behind = of_mean(part, state, host.mean)
    return _supplied(host, at_wall and at_wall.plain, behind and behind.plain, feed)


def _supplied(host: Drawer, at_wall: Value | None, behind: Value | None, feed: Feed) -> Value:
    """Return watts where the cluster counts them: behind its supply, or at the wall for hosts that it does
    not feed.
    """
    if feed.at_wall:
        if at_wall is not None:
            return at_wall
        assert behind is not None
        if host.server.supply_efficiency is None:
            raise _lacking(f"[board.{host.name}]", "supply_efficiency")
        return _scaled(behind, 1 / host.server.supply_efficiency.value, "at the wall, before its supply")
    if behind is not None:
        return behind
    assert at_wall is not None
    efficiency = feed.efficiency
    if efficiency.value == 1 and not efficiency.sigma:
        return at_wall
    scaled = _scaled(at_wall, efficiency.value, f"behind a supply of {percent(efficiency.value)} %")
    return replace(scaled, follows={**scaled.follows, EFFICIENCY: at_wall.value})


def _scaled(value: Value, ratio: float, how: str) -> Value:
    low, high = (None if end is None else end * ratio for end in (value.low, value.high))
    follows = {name: by * ratio for name, by in value.follows.items()}
    return Value(
        value.value * ratio, f"{value.source}; {how}", value.status, value.sigma * ratio, low, high, follows
    )


def _sum(base: Value, card: Value, how: str = "with a network card") -> Value:
    low, high = (
        None
        if (base_end is None and its is None)
        else (base.value if base_end is None else base_end) + (card.value if its is None else its)
        for base_end, its in ((base.low, card.low), (base.high, card.high))
    )
    source, sigma = f"{base.source}; {how}: {card.source}", hypot(base.sigma, card.sigma)
    return Value(base.value + card.value, source, base.status, sigma, low, high, base.follows)


def _behind(board: Board, disk: Drive, port: Value | None, count: int) -> Drive:
    """Return a disk behind its board's ports: with the lowest speed of these, and active power to match."""
    share = _scaled(port, 1 / count, f"shared by {count} disks") if port and count > 1 else port
    read, write = (
        min((rate for rate in (disk_rate, port, share) if rate is not None), key=lambda value: value.value)
        for disk_rate, port in (
            (disk.read_bytes_per_s, board.port_read_bytes_per_s),
            (disk.write_bytes_per_s, board.port_write_bytes_per_s),
        )
    )
    if (read, write) == (disk.read_bytes_per_s, disk.write_bytes_per_s):
        return disk
    use_ratio = max(read.value / disk.read_bytes_per_s.value, write.value / disk.write_bytes_per_s.value)
    least_w = disk.idle_w.value + (disk.step_w.value if disk.step_w else 0.0)
    active_w = least_w + use_ratio * (disk.active_w.value - least_w)
    limit = (
        f"{percent(use_ratio)} % of its power above idle, the share that the port of {board.name} lets "
        "through"
    )
    active = replace(
        disk.active_w, value=active_w, source=f"{disk.active_w.source}; {limit}", low=None, high=None
    )
    steady, steady_w = disk.sustained_write_bytes_per_s, disk.sustained_w
    if steady and steady_w and steady.value > write.value:
        slower_w = least_w + write.value / steady.value * (steady_w.value - least_w)
        steady, steady_w = write, replace(steady_w, value=slower_w, low=None, high=None)
    return replace(
        disk,
        read_bytes_per_s=read,
        write_bytes_per_s=write,
        active_w=active,
        sustained_write_bytes_per_s=steady,
        sustained_w=steady_w,
    )


def told_apart(cluster: Cluster) -> Cluster:
    """Name a client's board otherwise if it has the watts at the wall that servers of the same board have
    behind a supply.
    """
    fed = {n.board.name: n.board for n in cluster.nodes if n.role != "client"}
    nodes = (
        replace(n, board=replace(n.board, name=f"{n.board.name}-client"))
        if n.role == "client" and fed.get(n.board.name, n.board) != n.board
        else n
        for n in cluster.nodes
    )
    return replace(cluster, nodes=tuple(nodes))


def alone(cluster: Cluster) -> Cluster:
    """Let values follow only what the cluster has; one that was fitted to more is as uncertain as its
    interval.
    """
    present = coefficients(cluster)

    def value(original: Value) -> Value:
        if original.follows.keys() <= present.keys() or original.low is None or original.high is None:
            return original
        follows = {name: by for name, by in original.follows.items() if name in present}
        return replace(
            original, sigma=max(original.sigma, (original.high - original.low) / 12**0.5), follows=follows
        )

    def host(original: Node) -> Node:
        board = replace(
            original.board, idle_w=value(original.board.idle_w), dynamic_w=value(original.board.dynamic_w)
        )
        disks = tuple(
            replace(disk, idle_w=value(disk.idle_w), active_w=value(disk.active_w)) for disk in original.disks
        )
        return replace(original, board=board, disks=disks)

    return replace(cluster, nodes=tuple(map(host, cluster.nodes)))


def _lacking(place: str, keys: str) -> CampaignError:
    return CampaignError(
        f"{place} lacks {keys}, which a cluster of it needs", next=f"add {keys} with its source"
    )
