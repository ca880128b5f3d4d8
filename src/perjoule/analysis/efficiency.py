"""Figures of merit: the energy-delay product and capacity per watt, as T. L. Erxleben et al., "Green Storage", section IV."""

from collections import Counter
from dataclasses import replace

from perjoule import catalogue
from perjoule.catalogue import Cluster
from perjoule.errors import CampaignError
from perjoule.model import Record


def edp(energy_j: float, duration_s: float, weight: int = 1) -> float:
    """Give the energy-delay product E * t^w, in J s^w; it compares nothing but the same work."""
    return energy_j * duration_s**weight


def capacity_bytes_per_idle_w(cluster: Cluster) -> float:
    """Give the raw capacity of the data disks per watt that the servers draw idle, without the switch."""
    return catalogue.capacity_bytes(cluster) / catalogue.idle_w(cluster, switch=False)


def peak_bytes_per_s(record: Record) -> float | None:
    """Give the theoretical peak performance of the storage hosts that a trial had, which need not be as many as the catalogue's.

    None without a cluster of the catalogue.
    """
    try:
        cluster = catalogue.cluster(record.cluster) if record.cluster else None
    except CampaignError:  # results of a perjoule whose catalogue had more
        cluster = None
    if cluster is None:
        return None
    held = Counter(host.node for host in record.hosts if host.role == "storage")
    nodes = tuple(replace(node, count=held[node.name]) for node in cluster.nodes if node.name in held)
    return catalogue.tpp_bytes_per_s(replace(cluster, nodes=nodes) if nodes else cluster)
