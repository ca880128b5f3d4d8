"""Watts of the catalogue's hardware by how much it works; `perjoule.meters.modelled` says where the model is
from.

Amounts are numbers, or arrays of them with one for each window.
"""

from collections.abc import Mapping
from math import sqrt
from typing import Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from perjoule.model.hardware import Board, Cluster, Drive, Node

Component = Literal["board", "disks", "supply", "switch"]
Amount = TypeVar("Amount", float, NDArray[np.float64])
TINY = 1e-12  # of watts and shares: what rounding leaves


def board_w(board: Board, cpu_use_ratio: Amount) -> Amount:
    """Return the power of a board at this share of its CPU capacity.

    A core at work keeps awake what cores share, and at least one works for a share of the time that is at most
    all shares together. The bend grows with the cube of the share, up to all of the capacity.
    """
    idle_w, dynamic_w = board.idle_w.value, board.dynamic_w.value
    if board.step_w is None and board.bend_w is None:
        return idle_w + dynamic_w * cpu_use_ratio
    step_w, bend_w = step_and_bend_w(board)
    awake_ratio = _at_most_all(board.cores_count * cpu_use_ratio)
    used_ratio = _at_most_all(cpu_use_ratio)
    bent_w = bend_w * (used_ratio**3 - used_ratio)
    return idle_w + step_w * awake_ratio + (dynamic_w - step_w) * cpu_use_ratio + bent_w


def board_use_ratio(board: Board, power_w: Amount) -> Amount:
    """Return the share of its CPU capacity at which a board has a power: `board_w` the other way round."""
    more_w, (step_w, bend_w) = power_w - board.idle_w.value, step_and_bend_w(board)
    each_w = board.dynamic_w.value - step_w - bend_w
    ratio = _cubic_root(max(each_w, TINY), bend_w, more_w - step_w)
    if step_w:
        ratio = np.maximum(_cubic_root(each_w + board.cores_count * step_w, bend_w, more_w), ratio)
    if bend_w:  # beyond all of the capacity a straight line
        beyond_ratio = (more_w - board.dynamic_w.value) / max(each_w + bend_w, TINY)
        ratio = np.where(beyond_ratio > 0, 1 + beyond_ratio, ratio)
    return cast("Amount", ratio)


def step_and_bend_w(board: Board) -> tuple[float, float]:
    """Return the parts of a board's dynamic power that follow no straight line; 0 if the catalogue states none."""
    return board.step_w.value if board.step_w else 0.0, board.bend_w.value if board.bend_w else 0.0


def _cubic_root(linear: float, cubic: float, value: Amount) -> Amount:
    """Return the x at which linear x + cubic x³ is the value; neither factor is negative."""
    if not cubic:
        return value / linear
    linear = max(linear, TINY)
    scale = sqrt(4 * linear / (3 * cubic))
    return cast("Amount", scale * np.sinh(np.arcsinh(3 * value / (linear * scale)) / 3))


def disks_w(disks: tuple[Drive, ...], use_ratio: Amount) -> Amount:
    """Return the power of a host's disks at this share of their throughput."""
    watts = [d.idle_w.value + (d.active_w.value - d.idle_w.value) * use_ratio for d in disks]
    for disk in disks:
        if disk.step_w is not None:
            awake = cast("Amount", np.where(np.asarray(use_ratio) > 0, 1.0, 0.0))
            watts.append(disk.step_w.value * (awake - use_ratio))
    return sum(watts[1:], start=watts[0])


def disks_use_ratio(disks: tuple[Drive, ...], power_w: Amount) -> Amount:
    """Return the share of their throughput at which disks have a power: `disks_w` the other way round."""
    more_w = power_w - sum(disk.idle_w.value for disk in disks)
    full_w = sum(disk.active_w.value - disk.idle_w.value for disk in disks)
    if not (step_w := sum(disk.step_w.value for disk in disks if disk.step_w)):
        return more_w / full_w
    working = np.maximum(TINY, (more_w - step_w) / max(full_w - step_w, TINY))
    return cast("Amount", np.where(more_w > TINY, working, 0.0))


def _at_most_all(ratio: Amount) -> Amount:
    return cast("Amount", np.minimum(1.0, ratio))


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
    ratios: dict[Component, Amount] = {"board": cpu_s / (duration_s * capacity_cores)}
    if disks := node.disks:
        moving_s = read_bytes / sum(d.read_bytes_per_s.value for d in disks)
        moving_s = moving_s + written_bytes / sum(d.write_bytes_per_s.value for d in disks)
        ratios["disks"] = moving_s / (scale * duration_s)
    return ratios


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
        if cluster.supply_no_load_w is not None:
            watts["supply"] = watts["supply"] + cluster.supply_no_load_w.value
    return watts
