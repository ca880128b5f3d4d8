"""What the watts of the Odroid HC4 cluster became when its load was no longer fitted to a peak that was taken
with the switch.

The load is stated: MooseFS, 36 GiB written by 4 clients at 365.57 MiB/s (Table II of the green-storage
paper), which uses 31 % of the storage nodes' CPU, 35.5 % of their disks' throughput and 6.7 % of the metadata
node's CPU (emulated). Watts are without the switch. After ± is one standard uncertainty by the catalogue's
sigmas.

    python benchmarks/watts_moved.py
"""

from collections.abc import Mapping
from dataclasses import replace
from math import hypot

from perjoule import catalogue
from perjoule.catalogue import Cluster, Drive, Node, Value
from perjoule.catalogue.watts import Component, host_w
from perjoule.model.units import MIB
from perjoule.prediction.uncertain import moved

RATE_BYTES_PER_S, WRITTEN_BYTES = 365.57 * MIB, 36 * 1024 * MIB
USE: Mapping[str, dict[Component, float]] = {
    "storage": {"board": 0.31, "disks": 0.355},
    "metadata": {"board": 0.067, "disks": 0.0},
    "management": {"board": 0.0},
}
RATING = "7-zip rating of board odroid-hc4"  # the load's use is a share of it, so that it cancels


def before(cluster: Cluster) -> Cluster:
    """The cluster as it was fitted to 63.68 W less 56.36 W (decision 16)."""
    supply = {"supply efficiency": 5.6, "active of disk wd-black-1tb": -2.173}

    def disk(one: Drive) -> Drive:
        if one.technology != "hdd":
            return one
        return replace(
            one, active_w=Value(1.92, "decision 16", "fitted", 0.5, follows={f"idle of disk {one.name}": 1})
        )

    def node(one: Node) -> Node:
        board = replace(one.board, dynamic_w=Value(2.16, "decision 16", "fitted", 0.67, follows=supply))
        return replace(one, board=board, disks=tuple(map(disk, one.disks)))

    nodes = tuple(one if one.role == "client" else node(one) for one in cluster.nodes)
    return replace(cluster, nodes=nodes, load_w=None, highest_w=None)


def mean_w(cluster: Cluster) -> float:
    """The power under the stated load, at the wall."""
    return sum(
        node.count * sum(host_w(node, cluster, USE[node.role]).values())
        for node in catalogue.servers(cluster)
    )


def sigma_w(cluster: Cluster, *, idle: bool = False) -> float:
    """One standard uncertainty of it, or of idle power."""
    watts = (lambda one: catalogue.idle_w(one, switch=False)) if idle else mean_w
    central_w = watts(cluster)
    return hypot(*(watts(one) - central_w for name, one in moved(cluster).items() if name != RATING))


def main() -> None:
    """Print both."""
    own = catalogue.cluster("odroid-hc4")
    for name, cluster in (("before", before(own)), ("now", own)):
        load_w, load_sigma_w = mean_w(cluster), sigma_w(cluster)
        duration_s = WRITTEN_BYTES / RATE_BYTES_PER_S
        print(
            f"{name:7} idle {catalogue.idle_w(cluster, switch=False):.2f} ± "
            f"{sigma_w(cluster, idle=True):.2f} W"
            f"  under load {load_w:.2f} ± {load_sigma_w:.2f} W"
            f"  fully used {catalogue.peak_w(cluster, switch=False):.1f} W"
            f"  highest sample {f'{cluster.highest_w.value:.2f} W' if cluster.highest_w else '48.22 W (with the switch 63.68 W)'}"
            f"  energy {load_w * duration_s:.0f} ± {load_sigma_w * duration_s:.0f} J"
            f"  {RATE_BYTES_PER_S / MIB / load_w:.2f} ± "
            f"{RATE_BYTES_PER_S / MIB * load_sigma_w / load_w**2:.2f} MiB/J"
        )


if __name__ == "__main__":
    main()
