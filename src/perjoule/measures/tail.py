"""How long the servers took to become idle after a load, from the channels of its headline."""

from typing import TYPE_CHECKING

from perjoule.model import Numbers, Quantity
from perjoule.model.metrics import MEBIBYTES, J, Metric, S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perjoule.trial.load import Load

LENGTH = Metric("tail_s", "tail", S, "length of the tail", "lower")
ENERGY = Metric(
    "tail_energy_j", "tail J", J, "energy of the servers without the switch in the tail", "lower", energy=True
)
MOVED: "Mapping[Quantity, Metric]" = {
    "network_received": Metric("tail_network_received_bytes", "tail received", MEBIBYTES,
                               "bytes that all hosts but clients received in the tail", "lower"),
    "disk_read": Metric("tail_disk_read_bytes", "tail disk read", MEBIBYTES,
                        "bytes that disks of all hosts but clients read in the tail", "lower"),
    "disk_written": Metric("tail_disk_written_bytes", "tail disk written", MEBIBYTES,
                           "bytes that disks of all hosts but clients wrote in the tail", "lower"),
}  # fmt: skip
METRICS = (LENGTH, ENERGY, *MOVED.values())


def measure(load: "Load") -> Numbers:
    """Return the length of the tail, the energy of the servers in it, and the bytes that they still moved."""
    tail = next((p for p in load.record.phases if p.name == "tail" and p.ended_s > p.began_s), None)
    if tail is None:
        return Numbers()
    numbers = {LENGTH.key: load.emulated(tail.ended_s - tail.began_s)}
    if (net_j := load.reading.servers(tail.began_s, tail.ended_s).net_j) is not None:
        numbers[ENERGY.key] = load.emulated(net_j)
    servers = load.roles.get("servers", frozenset())
    for quantity, metric in MOVED.items():
        moved = load.total(quantity, servers, tail.began_s, tail.ended_s).value
        if moved is not None:
            numbers[metric.key] = moved
    return Numbers.plain(numbers)
