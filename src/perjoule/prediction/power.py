"""Watts of the servers from how busy their CPUs and disks are: the linear model of the meter `modelled`,
for a whole cluster.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from perjoule.catalogue.watts import step_and_bend_w
from perjoule.model.hardware import Board, Cluster, Drive
from perjoule.prediction.bounds import Demand, Floats, Number

Part = Literal["boards idle", "disks idle", "CPUs at work", "disks at work", "switch"]
PARTS: tuple[Part, ...] = ("boards idle", "disks idle", "CPUs at work", "disks at work", "switch")
IDLE: tuple[Part, ...] = PARTS[:2]


@dataclass(frozen=True)
class Plant:
    """Power of a cluster's servers at the wall, without the switch."""

    idle_w: float
    joules_per_mips_s: float  # above idle, for CPU work
    joules_per_read_byte: float  # above idle, for bytes that disks read
    joules_per_written_byte: float
    switch_w: float
    steps: "Steps | None" = None  # of hardware that states any, or a bend


@dataclass(frozen=True)
class Steps:
    """Watts of all servers from idle to the least load, and of CPUs by the cube of their work, at the wall; no
    byte or CPU work of `Plant` has them.
    """

    cpu_w: float  # as soon as a core of each works
    awake_mips: float  # 7-zip rating of one core of each: CPU work above it keeps all awake
    disks_w: float  # of the data disks, as soon as bytes move
    cpu_w_per_cubed_mips: float = 0.0  # by the work of all CPUs
    full_mips: float = 0.0  # the work beyond which the bend is a straight line


def plant(cluster: Cluster, counts: Mapping[str, int]) -> Plant:
    """Return the power of servers of these counts by node.

    CPUs of different boards do equal shares of the work.
    """
    nodes = [(node, counts.get(node.name, 0)) for node in cluster.nodes if node.role != "client"]
    supply = cluster.supply_efficiency.value
    idle_w = sum(
        count * (node.board.idle_w.value + sum(disk.idle_w.value for disk in node.disks))
        for node, count in nodes
    )
    boards = [(node.board, count) for node, count in nodes if node.role == "storage"] or [
        (n.board, c) for n, c in nodes
    ]
    hosts_count = sum(count for _, count in boards)
    storage = [disk for node, count in nodes if node.role == "storage" for disk in node.disks * count]
    disk_step_w = sum(disk.step_w.value for disk in storage if disk.step_w)
    no_load_w = cluster.supply_no_load_w.value if cluster.supply_no_load_w else 0.0
    more_w = sum(disk.active_w.value - disk.idle_w.value for disk in storage) - disk_step_w
    read, written = (
        sum(d.read_bytes_per_s.value for d in storage),
        sum(d.write_bytes_per_s.value for d in storage),
    )
    return Plant(
        idle_w=idle_w / supply + no_load_w * sum(count for _, count in nodes),
        joules_per_mips_s=sum(_each_w(b) / b.mips.value * count for b, count in boards)
        / hosts_count
        / supply,
        joules_per_read_byte=more_w / read / supply if read else 0.0,
        joules_per_written_byte=more_w / written / supply if written else 0.0,
        switch_w=cluster.switch_w.value,
        steps=_steps(boards, storage, supply),
    )


def _steps(boards: list[tuple[Board, int]], disks: list[Drive], supply: float) -> Steps | None:
    cpu_w = sum(board.step_w.value * count for board, count in boards if board.step_w)
    disks_w = sum(disk.step_w.value for disk in disks if disk.step_w)
    awake_mips = sum(board.mips.value / board.cores_count * count for board, count in boards)
    hosts_count = sum(count for _, count in boards)
    cpu_w_per_cubed_mips = sum(
        board.bend_w.value * count / (hosts_count * board.mips.value) ** 3
        for board, count in boards
        if board.bend_w
    )
    if not (cpu_w or disks_w or cpu_w_per_cubed_mips):
        return None
    full_mips = min((hosts_count * board.mips.value for board, _ in boards if board.bend_w), default=0.0)
    return Steps(cpu_w / supply, awake_mips, disks_w / supply, cpu_w_per_cubed_mips / supply, full_mips)


def _each_w(board: Board) -> float:
    """Return a board's dynamic power without its step and bend."""
    return board.dynamic_w.value - sum(step_and_bend_w(board))


def parts_w(
    cluster: Cluster, counts: Mapping[str, int], demand: Demand, throughput_bytes_per_s: float
) -> Mapping[Part, float]:
    """Return where the watts of `mean_w` go, at the wall; beside them the switch, which is not in them."""
    found = plant(cluster, counts)
    nodes = [(node, counts.get(node.name, 0)) for node in cluster.nodes if node.role != "client"]
    boards_w = sum(count * node.board.idle_w.value for node, count in nodes) / cluster.supply_efficiency.value
    if cluster.supply_no_load_w is not None:
        boards_w += cluster.supply_no_load_w.value * sum(count for _, count in nodes)
    cpus_only = replace(found, joules_per_read_byte=0.0, joules_per_written_byte=0.0)
    cpus_only = replace(cpus_only, steps=found.steps and replace(found.steps, disks_w=0.0))
    cpus_w = float(dynamic_w(cpus_only, demand, throughput_bytes_per_s))
    return {
        "boards idle": boards_w,
        "disks idle": found.idle_w - boards_w,
        "CPUs at work": cpus_w,
        "disks at work": float(dynamic_w(found, demand, throughput_bytes_per_s)) - cpus_w,
        "switch": found.switch_w,
    }


def dynamic_w(plant: Plant, demand: Demand, throughput_bytes_per_s: Number) -> Number:
    """Return the watts above idle at a throughput: the joules of each user byte, times bytes a second, and
    the steps from idle to the least load, and the bend of CPUs.
    """
    joules = (
        plant.joules_per_mips_s * demand.server_mips_s_per_byte
        + plant.joules_per_read_byte * demand.flow.disk_read_ratio
        + plant.joules_per_written_byte * demand.flow.disk_written_ratio
    )
    if (steps := plant.steps) is None:
        return joules * throughput_bytes_per_s
    rate = np.asarray(throughput_bytes_per_s, np.float64)
    mips = demand.server_mips_s_per_byte * rate
    at_disks = demand.flow.disk_read_ratio + demand.flow.disk_written_ratio
    steps_w = steps.cpu_w * np.minimum(1.0, mips / steps.awake_mips) + steps.disks_w * (at_disks * rate > 0)
    full_mips = steps.full_mips
    cubed = np.minimum(mips, full_mips) ** 3 + full_mips**2 * np.maximum(0.0, mips - full_mips)
    return joules * rate + steps_w + steps.cpu_w_per_cubed_mips * cubed


def mean_w(
    plant: Plant, demand: Demand, throughput_bytes_per_s: Number, *, switch: bool = False
) -> Number | Floats:
    """Return the mean watts of the servers at a throughput."""
    return plant.idle_w + dynamic_w(plant, demand, throughput_bytes_per_s) + switch * plant.switch_w
