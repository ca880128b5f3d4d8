"""Watts of a whole cluster, against the sum over its hosts worked out from the catalogue's values."""

from dataclasses import replace

import pytest

from perjoule import catalogue
from perjoule.model import Flow
from perjoule.model.hardware import Value
from perjoule.prediction.bounds import Demand
from perjoule.prediction.power import PARTS, mean_w, parts_w, plant

MIB = 1024**2


def test_idle_watts_are_the_catalogues() -> None:
    cluster = catalogue.cluster("odroid-hc4")
    assert plant(cluster, {"A": 4, "C": 1, "B": 1}).idle_w == pytest.approx(
        catalogue.idle_w(cluster, switch=False)
    )


def test_a_byte_costs_by_the_rate_of_its_direction() -> None:
    """Disks that write at half their rate, and read as before: a written byte costs twice as much."""
    cluster = catalogue.cluster("odroid-hc4")
    slow = catalogue.at_speed(cluster, cpu_ratio=1, network_ratio=1, disk_ratio=0.5)
    rate = Value(140.09 * MIB, "as before", "measured")
    nodes = tuple(
        replace(node, disks=tuple(replace(disk, read_bytes_per_s=rate) for disk in node.disks))
        for node in slow.nodes
    )
    counts = {"A": 4}
    mixed, whole = plant(replace(slow, nodes=nodes), counts), plant(cluster, counts)
    assert mixed.joules_per_written_byte == pytest.approx(2 * whole.joules_per_written_byte)
    assert mixed.joules_per_read_byte == pytest.approx(whole.joules_per_read_byte)


def test_watts_under_load_are_the_sum_over_hosts() -> None:
    """280 MiB/s written to 8 disks of 140.09 MiB/s by 4 boards that each use half of their CPU."""
    cluster = catalogue.cluster("odroid-hc4")
    found = plant(cluster, {"A": 4, "C": 1, "B": 1})
    rate = 280 * MIB
    demand = Demand(Flow(disk_written_ratio=1), server_mips_s_per_byte=4 * 4911 / 2 / rate)
    boards_w, disks_w = 4 * 0.5 * 3.61, 280 / (8 * 140.09) * 8 * (2.66 - 0.85)
    by_hand = catalogue.idle_w(cluster, switch=False) + (boards_w + disks_w) / 0.80
    assert float(mean_w(found, demand, rate)) == pytest.approx(by_hand)
    assert float(mean_w(found, demand, rate, switch=True)) == pytest.approx(by_hand + 15.46)


def test_watts_by_component_are_those_of_hand_and_add_up() -> None:
    """As above: 280 MiB/s written to 8 disks of 140.09 MiB/s by 4 boards that each use half of their CPU;
    a supply loses 20 %.
    """
    cluster, counts, rate = catalogue.cluster("odroid-hc4"), {"A": 4, "C": 1, "B": 1}, 280 * MIB
    demand = Demand(Flow(disk_written_ratio=1), server_mips_s_per_byte=4 * 4911 / 2 / rate)
    found = parts_w(cluster, counts, demand, rate)
    assert tuple(found) == PARTS
    assert found["CPUs at work"] == pytest.approx(4 * 0.5 * 3.61 / 0.80)
    assert found["disks at work"] == pytest.approx(280 / (8 * 140.09) * 8 * (2.66 - 0.85) / 0.80)
    disks_idle_w = sum(
        counts.get(node.name, 0) * disk.idle_w.value
        for node in cluster.nodes
        if node.role != "client"
        for disk in node.disks
    )
    assert found["disks idle"] == pytest.approx(disks_idle_w / 0.80)
    assert found["switch"] == pytest.approx(15.46)
    assert sum(found.values()) - found["switch"] == pytest.approx(
        float(mean_w(plant(cluster, counts), demand, rate))
    )
