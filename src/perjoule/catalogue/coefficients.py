"""The coefficients of modelled watts, by the names that `Value.follows` uses."""

from collections.abc import Mapping

from perjoule.model.hardware import Cluster, Value

EFFICIENCY = "supply efficiency"
LOAD = "load"  # the mean power of the load to which dynamic and active power were fitted
RATING = "7-zip rating of board"


def coefficients(cluster: Cluster) -> Mapping[str, Value]:
    """Return all by name: a fitted one also follows those of disks that its hosts lack."""
    named = {EFFICIENCY: cluster.supply_efficiency, "switch": cluster.switch_w}
    named |= {LOAD: cluster.load_w} if cluster.load_w else {}
    for node in cluster.nodes:
        board = node.board
        named |= {f"idle of board {board.name}": board.idle_w, f"dynamic of board {board.name}": board.dynamic_w}
        named |= {f"{RATING} {board.name}": board.mips}
        for disk in node.disks:
            named |= {f"idle of disk {disk.name}": disk.idle_w, f"active of disk {disk.name}": disk.active_w}
    return named
