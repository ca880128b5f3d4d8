"""Watts that the catalogue corrected since a record was made of them."""

from collections.abc import Iterator

from perjoule.catalogue.reading import cluster, names
from perjoule.model.format import estimate
from perjoule.model.hardware import Cluster, Value

EFFICIENCY = "supply efficiency"
RATIO = 1e-9  # of a value: what writing it down may change


def corrected(kept: Cluster) -> tuple[str, ...]:
    """Name the watts of a record's hardware that the catalogue has otherwise today, each with both values."""
    if kept.name not in names():
        return ()
    today = dict(_watts(cluster(kept.name)))
    return tuple(
        f"{name} {estimate(old.value)}{unit}, now {estimate(new.value)}{unit}"
        for name, old in dict(_watts(kept)).items()
        for unit in ("" if name == EFFICIENCY else " W",)
        if (new := today.get(name)) is not None and abs(new.value - old.value) > RATIO * abs(old.value)
    )


def _watts(of: Cluster) -> Iterator[tuple[str, Value]]:
    """List the coefficients of modelled watts by name."""
    yield "switch", of.switch_w
    yield EFFICIENCY, of.supply_efficiency
    for node in of.nodes:
        yield f"idle of board {node.board.name}", node.board.idle_w
        yield f"dynamic of board {node.board.name}", node.board.dynamic_w
        for disk in node.disks:
            yield f"idle of disk {disk.name}", disk.idle_w
            yield f"active of disk {disk.name}", disk.active_w
