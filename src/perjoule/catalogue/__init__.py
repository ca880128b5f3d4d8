"""Hardware as data: boards, drives, switches and clusters, one TOML file each, and each value with its
source and status.
"""

from perjoule.catalogue.corrected import corrected, moved
from perjoule.catalogue.finding import (
    boards,
    choices,
    cluster,
    drives_by_name,
    names,
    servers_by_name,
    standing_for,
)
from perjoule.catalogue.phrases import cluster_of, is_phrase
from perjoule.catalogue.reading import read
from perjoule.catalogue.totals import (
    at_speed,
    capacity_bytes,
    idle_w,
    peak_w,
    seek_s,
    servers,
    sustained,
    tpp_bytes_per_s,
    with_drives,
)
from perjoule.model.hardware import Board, Cluster, Drive, Node, Role, Status, Value

__all__ = [
    "Board",
    "Cluster",
    "Drive",
    "Node",
    "Role",
    "Status",
    "Value",
    "at_speed",
    "boards",
    "capacity_bytes",
    "choices",
    "cluster",
    "cluster_of",
    "corrected",
    "drives_by_name",
    "idle_w",
    "is_phrase",
    "moved",
    "names",
    "peak_w",
    "read",
    "seek_s",
    "servers",
    "servers_by_name",
    "standing_for",
    "sustained",
    "tpp_bytes_per_s",
    "with_drives",
]
