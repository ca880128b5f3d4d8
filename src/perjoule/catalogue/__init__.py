"""Hardware as data: boards, disks, switches and clusters, each value with its source and status. One TOML file, one cluster."""

from perjoule.catalogue.corrected import corrected
from perjoule.catalogue.reading import cluster, names, read
from perjoule.catalogue.totals import at_speed, capacity_bytes, idle_w, peak_w, servers, tpp_bytes_per_s
from perjoule.model.hardware import Board, Cluster, Disk, Node, Role, Status, Value

__all__ = [
    "Board",
    "Cluster",
    "Disk",
    "Node",
    "Role",
    "Status",
    "Value",
    "at_speed",
    "capacity_bytes",
    "cluster",
    "corrected",
    "idle_w",
    "names",
    "peak_w",
    "read",
    "servers",
    "tpp_bytes_per_s",
]
