"""A catalogue whose watts were corrected: what tests of recalculated watts begin with."""

from dataclasses import replace

import pytest

from perjoule import catalogue
from perjoule.model.hardware import Board, Cluster, Drive, Value

CAMPAIGN = """
clients = 2
repetitions = 2
settle = "60 ms"
[testbed]
kind = "simulated"
cluster = "odroid-hc4"
[[filesystem]]
kind = "simulated"
throughput = "60 MiB/s"
[[workload]]
kind = "simulated"
size = "16 MiB"
[[meter]]
kind = "system"
rate = "50 Hz"
[[meter]]
kind = "modelled"
rate = "50 Hz"
"""
unpatched = catalogue.cluster
FORMER = catalogue.cluster("odroid-hc4")


def times(value: Value, ratio: float) -> Value:
    return replace(value, value=ratio * value.value, low=None, high=None)


def otherwise(cluster: Cluster) -> Cluster:
    """The same machine, each of its watts another."""

    def board(one: Board) -> Board:
        return replace(one, idle_w=times(one.idle_w, 1.1), dynamic_w=times(one.dynamic_w, 1.7))

    def disk(one: Drive) -> Drive:
        return replace(one, idle_w=times(one.idle_w, 0.9), active_w=times(one.active_w, 1.3))

    nodes = tuple(
        replace(node, board=board(node.board), disks=tuple(map(disk, node.disks))) for node in cluster.nodes
    )
    efficiency = times(cluster.supply_efficiency, 1.05)
    return replace(cluster, nodes=nodes, switch_w=times(cluster.switch_w, 0.8), supply_efficiency=efficiency)


CORRECTED = otherwise(FORMER)


def of_today(monkeypatch: pytest.MonkeyPatch, cluster: Cluster = CORRECTED) -> None:
    """Have the catalogue describe a cluster like this."""
    every = {name: cluster if name == cluster.name else unpatched(name) for name in catalogue.names()}
    monkeypatch.setattr(catalogue, "cluster", every.__getitem__)
