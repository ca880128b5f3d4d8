"""Figures of merit: the energy-delay product and capacity per watt, as T. L. Erxleben et al., "Green Storage", section IV."""

from perjoule import catalogue
from perjoule.catalogue import Cluster


def edp(energy_j: float, duration_s: float, weight: int = 1) -> float:
    """Give the energy-delay product E * t^w, in J s^w; it compares nothing but the same work."""
    return energy_j * duration_s**weight


def capacity_bytes_per_idle_w(cluster: Cluster) -> float:
    """Give the raw capacity of the data disks per watt that the servers draw idle, without the switch."""
    return catalogue.capacity_bytes(cluster) / catalogue.idle_w(cluster, switch=False)
