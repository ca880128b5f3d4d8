"""The hosts of a virtual cluster: names, roles, addresses."""

from dataclasses import dataclass

from perjoule.catalogue import Cluster, Node
from perjoule.model.errors import CampaignError
from perjoule.testbeds.virtual import cpu, network

MOST_COUNT = 128  # a host is some processes and open files; a thousand of them bring a machine to its knees


@dataclass(frozen=True)
class CatalogueHost:
    """A planned host."""

    name: str
    role: str
    node: Node
    address: str
    goodput_bytes_per_s: float
    # cores of this machine that its board is worth at this scale; None: not rated
    cpu_capacity_cores: float | None
    memory_bytes: int | None  # of its programs and their page cache; None: not capped
    disks_count: int  # of its own; 1 stands for all that its board has
    # in a second network, of servers alone; "" without
    cluster_address: str
    cluster_goodput_bytes_per_s: float


def places(
    cluster: Cluster,
    *,
    clients_count: int,
    servers_count: int | None,
    scale: float,
    machine_mips_per_core: float | None = None,
    memory_ratio: float | None = None,
    disks_apart: bool = False,
    cluster_network_ratio: float | None = None,
) -> list[CatalogueHost]:
    """List the hosts of a cluster, servers first; `servers_count` replaces the catalogue's number of storage
    hosts.

    With `cluster_network_ratio`, servers have a second network, this many times as fast as their first.
    Memory is the catalogue's times `memory_ratio`, where it has a value; None caps no host.

    Raises:
        CampaignError: the cluster has no client, or there are too many hosts.
    """
    asked_count = clients_count + (servers_count or 0)
    if asked_count > MOST_COUNT:
        raise CampaignError(
            f"{asked_count} hosts are too many for one machine", next=f"use at most {MOST_COUNT}"
        )
    nodes = [node for node in cluster.nodes if node.role != "client" for _ in range(node.count)]
    if servers_count is not None:
        storage = [node for node in nodes if node.role == "storage"]
        if not storage:
            raise CampaignError(f'cluster "{cluster.name}" has no storage hosts', next="remove `servers`")
        storage += [storage[-1]] * servers_count
        nodes = [*storage[:servers_count], *(node for node in nodes if node.role != "storage")]
    client = next((node for node in cluster.nodes if node.role == "client"), None)
    if client is None:
        raise CampaignError(
            f'cluster "{cluster.name}" has no client', next="add a node of role client to its file"
        )
    places_found: list[CatalogueHost] = []
    for node in [*nodes, *[client] * clients_count]:
        number = 1 + sum(place.role == node.role for place in places_found)
        goodput = node.board.nic_bytes_per_s.value * scale
        cores = machine_mips_per_core and cpu.cores(node.board.mips.value, scale, machine_mips_per_core)
        memory = node.board.memory_bytes if memory_ratio else None
        memory_bytes = round(memory.value * memory_ratio) if memory and memory_ratio else None
        index = len(places_found) + 1
        further = cluster_network_ratio if node.role != "client" else None
        places_found.append(
            CatalogueHost(
                f"{node.role}-{number}",
                node.role,
                node,
                network.address(index),
                goodput,
                cores,
                memory_bytes,
                max(1, len(node.disks)) if disks_apart and node.role != "client" else 1,
                network.address(index, 1) if further else "",
                goodput * further if further else 0.0,
            )
        )
    return places_found
