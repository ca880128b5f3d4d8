"""The coefficients of modelled watts, by the names that `Value.follows` uses."""

from collections.abc import Iterator, Mapping

from perjoule.model.hardware import Cluster, Value

EFFICIENCY, NO_LOAD = "supply efficiency", "supply without load"
LOAD = "load"  # the mean power of the load to which dynamic and active power were fitted
RATING = "7-zip rating of board"


def coefficients(cluster: Cluster) -> Mapping[str, Value]:
    """Return all by name: a fitted one also follows those of disks that its hosts lack."""
    by_name = {EFFICIENCY: cluster.supply_efficiency, "switch": cluster.switch_w}
    by_name |= {LOAD: cluster.load_w} if cluster.load_w else {}
    by_name |= {NO_LOAD: cluster.supply_no_load_w} if cluster.supply_no_load_w else {}
    for node in cluster.nodes:
        board = node.board
        by_name |= {
            f"idle of board {board.name}": board.idle_w,
            f"dynamic of board {board.name}": board.dynamic_w,
        }
        by_name |= {f"step of board {board.name}": board.step_w} if board.step_w else {}
        by_name |= {f"bend of board {board.name}": board.bend_w} if board.bend_w else {}
        by_name |= {f"{RATING} {board.name}": board.mips}
        for disk in node.disks:
            by_name |= {
                f"idle of disk {disk.name}": disk.idle_w,
                f"active of disk {disk.name}": disk.active_w,
            }
            by_name |= {f"step of disk {disk.name}": disk.step_w} if disk.step_w else {}
    return by_name


def unstated(cluster: Cluster) -> Iterator[str]:
    """Name the coefficients that a cluster does not state, and that add no watts then: steps, bends and a loss
    without load.
    """
    possible = [NO_LOAD]
    for node in cluster.nodes:
        possible += [f"{what} of board {node.board.name}" for what in ("step", "bend")]
        possible += [f"step of disk {disk.name}" for disk in node.disks]
    by_name = coefficients(cluster)
    return (name for name in dict.fromkeys(possible) if name not in by_name)
