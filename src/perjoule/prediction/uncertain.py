"""A cluster whose uncertain values are off."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from perjoule.catalogue.coefficients import NO_LOAD
from perjoule.model.hardware import Board, Cluster, Drive, Value


def moved(cluster: Cluster) -> Mapping[str, Cluster]:
    """Return the cluster with each uncertain value off by its standard uncertainty, and what was fitted to
    it moved along.
    """
    sigmas: dict[str, float] = {}

    def collect(name: str, value: Value) -> Value:
        if value.sigma:
            sigmas[name] = value.sigma
        return value

    each_value(cluster, collect)

    def off(which: str) -> Cluster:
        def moved(name: str, value: Value) -> Value:
            by = (value.sigma if name == which else 0.0) + value.follows.get(which, 0.0) * sigmas[which]
            return replace(value, value=max(0.0, value.value + by)) if by else value

        return each_value(cluster, moved)

    return {name: off(name) for name in sigmas}


def each_value(cluster: Cluster, change: Callable[[str, Value], Value]) -> Cluster:
    """Return the cluster with every value changed, by the names that `Value.follows` uses."""

    def disk(one: Drive) -> Drive:
        return replace(
            one,
            read_bytes_per_s=change(f"read rate of disk {one.name}", one.read_bytes_per_s),
            write_bytes_per_s=change(f"write rate of disk {one.name}", one.write_bytes_per_s),
            idle_w=change(f"idle of disk {one.name}", one.idle_w),
            active_w=change(f"active of disk {one.name}", one.active_w),
            step_w=one.step_w and change(f"step of disk {one.name}", one.step_w),
        )

    def board(one: Board) -> Board:
        return replace(
            one,
            mips=change(f"7-zip rating of board {one.name}", one.mips),
            nic_bytes_per_s=change(f"network of board {one.name}", one.nic_bytes_per_s),
            idle_w=change(f"idle of board {one.name}", one.idle_w),
            dynamic_w=change(f"dynamic of board {one.name}", one.dynamic_w),
            step_w=one.step_w and change(f"step of board {one.name}", one.step_w),
            bend_w=one.bend_w and change(f"bend of board {one.name}", one.bend_w),
        )

    nodes = (
        replace(node, board=board(node.board), disks=tuple(map(disk, node.disks))) for node in cluster.nodes
    )
    return replace(
        cluster,
        nodes=tuple(nodes),
        switch_w=change("switch", cluster.switch_w),
        supply_efficiency=change("supply efficiency", cluster.supply_efficiency),
        load_w=change("load", cluster.load_w) if cluster.load_w else None,
        supply_no_load_w=cluster.supply_no_load_w and change(NO_LOAD, cluster.supply_no_load_w),
    )
