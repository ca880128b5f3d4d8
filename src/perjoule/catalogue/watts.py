"""Watts of the catalogue's hardware by how much it works; `perjoule.meters.modelled` says where the model is
from.

Amounts are numbers, or arrays of them with one for each window.
"""

from collections.abc import Mapping
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from perjoule.model.hardware import Board, Cluster, Disk, Node

Component = Literal["board", "disks", "supply", "switch"]
Amount = TypeVar("Amount", float, NDArray[np.float64])


def board_w(board: Board, cpu_use_ratio: Amount) -> Amount:
    """Return the power of a board at this share of its CPU capacity."""
    return board.idle_w.value + board.dynamic_w.value * cpu_use_ratio


def disks_w(disks: tuple[Disk, ...], use_ratio: Amount) -> Amount:
    """Return the power of a host's disks at this share of their throughput."""
    watts = [d.idle_w.value + (d.active_w.value - d.idle_w.value) * use_ratio for d in disks]
    return sum(watts[1:], start=watts[0])


def use_ratios(
    node: Node,
    cpu_s: Amount,
    read_bytes: Amount,
    written_bytes: Amount,
    duration_s: Amount,
    *,
    capacity_cores: float,
    scale: float,
) -> dict[Component, Amount]:
    """Return the work of a host's board and disks in a time, over what they can do in it; `scale` slows
    disks.
    """
    found: dict[Component, Amount] = {"board": cpu_s / (duration_s * capacity_cores)}
    if disks := node.disks:
        moving_s = read_bytes / sum(d.read_bytes_per_s.value for d in disks)
        moving_s = moving_s + written_bytes / sum(d.write_bytes_per_s.value for d in disks)
        found["disks"] = moving_s / (scale * duration_s)
    return found


def host_w(
    node: Node, cluster: Cluster, used: Mapping[Component, Amount], *, supplied: bool = True
) -> dict[Component, Amount]:
    """Return a host's mean watts by component, at these shares of what it can do; none if they are unknown.

    `supplied` says whether the cluster's supply feeds it.
    """
    if not used:
        return {}
    watts: dict[Component, Amount] = {"board": board_w(node.board, used["board"])}
    if node.disks:
        watts["disks"] = disks_w(node.disks, used["disks"])
    if supplied:
        load_w = watts["board"] + watts["disks"] if node.disks else watts["board"]
        watts["supply"] = load_w * (1 / cluster.supply_efficiency.value - 1)
    return watts
