"""Modelled watts are held against the counters of their own host, also where all were read at the same moments."""

from dataclasses import replace

import numpy as np

from perjoule import catalogue
from perjoule.meters import modelled, system
from perjoule.model import HostFact
from perjoule.results.modelled_watts import check

HC4 = catalogue.cluster("odroid-hc4")
T_S = np.arange(0.0, 10.25, 0.5)


def host(made, name, counted_ratio, modelled_ratio):
    """The counters of a host that used this share of its CPU, and watts by the definition of another share."""
    node = next(node for node in HC4.nodes if node.role == "storage")
    board_w = node.board.idle_w.value + node.board.dynamic_w.value * modelled_ratio
    disks_w = sum(disk.idle_w.value for disk in node.disks)
    supply_w = (board_w + disks_w) * (1 / HC4.supply_efficiency.value - 1)
    watts = {"board": board_w, "disks": disks_w, "supply": supply_w}
    grown = {"cpu_s": counted_ratio, "disk_read_bytes": 0.0, "disk_written_bytes": 0.0}
    return [
        *(made.series(system.channel(name, counter), T_S, rate * T_S) for counter, rate in grown.items()),
        *(made.series(modelled.channel(name, part), T_S[1:], watts[part], 0.5) for part in watts),
    ]


def checked(made, ratios):
    facts = tuple(HostFact(name, "storage", "A", cpu_capacity_cores=1.0) for name in ratios)
    record = replace(made.record(cluster=HC4.name), hosts=facts, hardware=HC4)
    series = [one for name, pair in ratios.items() for one in host(made, name, *pair)]
    return list(check(record, series, "here"))


def test_each_host_has_the_watts_of_its_own_counters(made):
    assert checked(made, {"storage-1": (0.2, 0.2), "storage-2": (0.7, 0.7)}) == [""] * 6


def test_watts_of_another_hosts_work_are_found(made):
    *first, board, disks, supply = checked(made, {"storage-1": (0.2, 0.2), "storage-2": (0.7, 0.2)})
    assert [*first, disks] == [""] * 4
    for wrong, part in ((board, "board"), (supply, "supply")):
        assert wrong.startswith(f"here: modelled:storage-2/{part}/power, sample 1 is ")
