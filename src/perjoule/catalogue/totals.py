"""Totals of a cluster: theoretical peak performance, capacity, lowest and highest power; and a cluster at
another speed.
"""

from dataclasses import replace

from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster, Drive, Node, Value


def servers(cluster: Cluster) -> tuple[Node, ...]:
    """List the nodes inside the storage cluster: all except the clients."""
    return tuple(node for node in cluster.nodes if node.role != "client")


def tpp_bytes_per_s(cluster: Cluster) -> float:
    """Return the theoretical peak performance for writes: the sum over storage nodes of the smaller of
    network and disks.

    Source: T. L. Erxleben et al., "Green Storage: Parallel File Systems on ARM", section V-D and Table I.
    """
    return sum(
        node.count * min(node.board.nic_bytes_per_s.value, sum(d.write_bytes_per_s.value for d in node.disks))
        for node in cluster.nodes
        if node.role == "storage"
    )


def capacity_bytes(cluster: Cluster) -> float:
    """Return the raw capacity of the data disks, those of the storage nodes (the paper's 0.178 TiB/W
    leaves the SSDs out).
    """
    return sum(
        node.count * d.capacity_bytes.value
        for node in cluster.nodes
        if node.role == "storage"
        for d in node.disks
    )


def idle_w(cluster: Cluster, *, switch: bool) -> float:
    """Return the idle power of the servers, disks spun up, at the wall; with or without the switch."""
    load_w = sum(
        n.count * (n.board.idle_w.value + sum(d.idle_w.value for d in n.disks)) for n in servers(cluster)
    )
    return load_w / cluster.supply_efficiency.value + no_load_w(cluster) + switch * cluster.switch_w.value


def no_load_w(cluster: Cluster) -> float:
    """Return what the supplies of all servers take without load, at the wall."""
    if cluster.supply_no_load_w is None:
        return 0.0
    return cluster.supply_no_load_w.value * sum(node.count for node in servers(cluster))


def peak_w(cluster: Cluster, *, switch: bool) -> float:
    """Return the power of the servers with every CPU and disk fully used at once, at the wall: the model's
    maximum.

    No load uses everything at once; `Cluster.highest_w` is the highest sample that was measured, where one
    was.
    """
    load_w = sum(
        n.count * (n.board.idle_w.value + n.board.dynamic_w.value + sum(d.active_w.value for d in n.disks))
        for n in servers(cluster)
    )
    return load_w / cluster.supply_efficiency.value + no_load_w(cluster) + switch * cluster.switch_w.value


def sustained(cluster: Cluster) -> Cluster:
    """Return a cluster whose SSDs write in their steady state.

    Raises CampaignError: none of its disks states what it writes then, and its watts.
    """

    def disk(fresh: Drive) -> Drive:
        if fresh.sustained_write_bytes_per_s is None or fresh.sustained_w is None:
            return fresh
        return replace(fresh, write_bytes_per_s=fresh.sustained_write_bytes_per_s, active_w=fresh.sustained_w)

    nodes = tuple(replace(node, disks=tuple(map(disk, node.disks))) for node in cluster.nodes)
    if nodes == cluster.nodes:
        message = f"no disk of {cluster.name} states its sustained writes"
        advice = "add sustained_write and sustained_behind_supply to its file, or predict fresh disks"
        raise CampaignError(message, where="--sustained", next=advice)
    return replace(cluster, nodes=nodes)


def seek_s(node: Node) -> float | None:
    """Return the longest seek of a host's disks; None if none has an arm.

    Raises CampaignError: a hard disk's is unknown.
    """
    for disk in node.disks:
        if disk.technology == "hdd" and disk.seek_s is None:
            message = f"the catalogue does not know the seek time of {disk.name}"
            raise CampaignError(message, where="disk_latency", next="add seek to its file, or write a time")
    return max((disk.seek_s.value for disk in node.disks if disk.seek_s), default=None)


def with_drives(cluster: Cluster, **drives: str) -> Cluster:
    """Return a cluster whose hosts of some roles have as many disks of another kind that it has.

    Args:
        cluster: any.
        drives: the name of a disk by role; "" leaves its hosts as they are.

    Raises:
        CampaignError: the cluster has no such disk, or no host of that role has disks.
    """
    disks_by_name = {disk.name: disk for node in cluster.nodes for disk in node.disks}
    roles = {node.role for node in cluster.nodes if node.disks}
    drive_names = {role: name for role, name in drives.items() if name}
    for role, name in drive_names.items():
        if role not in roles:
            fault = f'no {role} host of cluster "{cluster.name}" has disks'
            raise CampaignError(fault, where=f"{role}_drive", next="remove it")
        if name not in disks_by_name:
            fault = f'cluster "{cluster.name}" has no disk "{name}"'
            raise CampaignError(fault, where=f"{role}_drive", next=f"choose {' or '.join(disks_by_name)}")
    nodes = (
        replace(node, disks=(disks_by_name[drive_names[node.role]],) * len(node.disks))
        if node.role in drive_names
        else node
        for node in cluster.nodes
    )
    return replace(cluster, nodes=tuple(nodes)) if drive_names else cluster


def at_speed(cluster: Cluster, *, cpu_ratio: float, network_ratio: float, disk_ratio: float) -> Cluster:
    """Return a cluster whose servers' CPUs, networks and disks have these speeds relative to its own;
    watts stay the same.
    """

    if cpu_ratio == network_ratio == disk_ratio == 1:  # planning asks for each trial
        return cluster

    def times(value: Value, ratio: float) -> Value:
        return value if ratio == 1 else replace(value, value=value.value * ratio, sigma=value.sigma * ratio)

    def disk(original: Drive) -> Drive:
        read, write = (
            times(rate, disk_ratio) for rate in (original.read_bytes_per_s, original.write_bytes_per_s)
        )
        steady = original.sustained_write_bytes_per_s and times(
            original.sustained_write_bytes_per_s, disk_ratio
        )
        return replace(
            original, read_bytes_per_s=read, write_bytes_per_s=write, sustained_write_bytes_per_s=steady
        )

    def node(original: Node) -> Node:
        mips, nic = (
            times(original.board.mips, cpu_ratio),
            times(original.board.nic_bytes_per_s, network_ratio),
        )
        return replace(
            original,
            board=replace(original.board, mips=mips, nic_bytes_per_s=nic),
            disks=tuple(map(disk, original.disks)),
        )

    return replace(
        cluster, nodes=tuple(host if host.role == "client" else node(host) for host in cluster.nodes)
    )
