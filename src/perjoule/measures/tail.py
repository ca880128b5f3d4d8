"""How long the servers took to become idle after a load, from the channels of its headline."""

from perjoule.energy.hosts import roles
from perjoule.measures.overhead import total
from perjoule.model import Quantity
from perjoule.trial.reading import Reading

MOVED: tuple[Quantity, ...] = ("network_received", "disk_read", "disk_written")


def tail(reading: Reading) -> dict[str, float]:
    """Return the length of the tail, the energy of the servers in it, and the bytes that they still moved."""
    tail = next((p for p in reading.record.phases if p.name == "tail" and p.ended_s > p.began_s), None)
    if tail is None:
        return {}
    metrics = {"tail_s": reading.dilation.emulated(tail.ended_s - tail.began_s)}
    if (net_j := reading.servers(tail.began_s, tail.ended_s).net_j) is not None:
        metrics["tail_energy_j"] = reading.dilation.emulated(net_j)
    servers = roles(reading.record).get("servers", frozenset())
    for quantity in MOVED:
        moved = total(reading.series, quantity, servers, tail.began_s, tail.ended_s).value
        if moved is not None:
            metrics[f"tail_{quantity}_bytes"] = moved
    return metrics
