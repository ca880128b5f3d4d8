"""What servers could do at most, and capacity per watt, as T. L.

Erxleben et al., "Green Storage", section IV.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from perjoule.energy.hosts import data_hosts, hardware, loading, served_outside
from perjoule.model import Record
from perjoule.model.hardware import Cluster


def capacity_bytes_per_idle_w(cluster: Cluster) -> float:
    """Return the raw capacity of the data disks per watt of the servers' idle power, without the switch."""
    from perjoule import catalogue

    return catalogue.capacity_bytes(cluster) / catalogue.idle_w(cluster, switch=False)


def peak_bytes_per_s(record: Record) -> float | None:
    """Return the theoretical peak performance of a trial: the least of what servers with data and the clients
    that load can do.

    Servers are those that held data, including metadata hosts with data. Clients bound it by their networks,
    if the catalogue knows them all and none of the load is on servers. Without data hosts, servers are the
    storage hosts, and those of the catalogue if none of these has a node. None without a cluster of the
    catalogue, if a node is unknown, if the servers are outside the testbed, or if clients held their own
    data: no network lies between.
    """
    cluster = hardware(record)
    if cluster is None or served_outside(record):
        return None
    holders = data_hosts(record)
    counts = Counter(h.node for h in record.hosts if h.role != "client" and h.name in holders)
    nodes = tuple(
        replace(node, role="storage", count=counts[node.name])
        for node in cluster.nodes
        if node.name in counts
    )
    if record.data_hosts and len(nodes) < max(1, len(counts)):
        return None
    from perjoule.catalogue import tpp_bytes_per_s

    servers_bytes_per_s = tpp_bytes_per_s(replace(cluster, nodes=nodes) if nodes else cluster)
    clients_bytes_per_s = network_bytes_per_s(record, loaded) if (loaded := sorted(loading(record))) else None
    return (
        servers_bytes_per_s if clients_bytes_per_s is None else min(servers_bytes_per_s, clients_bytes_per_s)
    )


def network_bytes_per_s(record: Record, hosts: Sequence[str]) -> float | None:
    """Return the combined network throughput of these clients, in one direction.

    None if the catalogue lacks one of them, or one is a server or holds its own data: no network lies
    between.
    """
    clients, holders = set(hosts), data_hosts(record)
    if any(h.role != "client" or h.name in holders for h in record.hosts if h.name in clients):
        return None
    cluster = hardware(record)
    node_of = {host.name: host.node for host in record.hosts}
    nics = {node.name: node.board.nic_bytes_per_s.value for node in cluster.nodes} if cluster else {}
    rates_bytes_per_s = [nics[node] for host in hosts if (node := node_of.get(host)) in nics]
    return sum(rates_bytes_per_s) if len(rates_bytes_per_s) == len(hosts) else None
