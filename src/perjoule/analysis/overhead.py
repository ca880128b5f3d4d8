"""The cost of a user's byte by role: CPU seconds, network and disk bytes, and how busy disks are, from the hosts' counters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perjoule.analysis.energy import Amount, amount
from perjoule.analysis.hosts import hardware, roles
from perjoule.model import Quantity, Record, Series
from perjoule.model.doubts import Doubt

# Metric name by counter; CPU seconds are those of the machine that did the work, whatever the scale.
METRICS: Mapping[Quantity, str] = {
    "cpu": "cpu_{role}_s_per_byte",
    "network_received": "network_received_{role}_ratio",
    "network_sent": "network_sent_{role}_ratio",
    "disk_read": "disk_read_{role}_ratio",
    "disk_written": "disk_written_{role}_ratio",
}

LEAD_S = 0.4  # before the end of the baseline: two readings of counters at their usual rate


@dataclass(frozen=True)
class Overhead:
    """Metrics per user byte, and their doubts."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    doubts: tuple[Doubt, ...] = ()


def window(record: Record, began_s: float, ended_s: float) -> tuple[float, float]:
    """Extend the windows of a trial over the idle ones around it, for counts per byte.

    The first starts in the baseline, which is idle: the load's own start belongs to it, and counters are interpolated linearly
    between two readings, so the first bytes seem to come early. The last one ends with the tail, which includes late write-back.
    """
    if record.outcome is None:
        return began_s, ended_s
    if began_s <= record.outcome.began_s:
        began_s = min([began_s, *(max(p.began_s, p.ended_s - LEAD_S) for p in record.phases if p.name == "baseline")])
    if ended_s >= record.outcome.ended_s:
        ended_s = max([ended_s, *(p.ended_s for p in record.phases if p.name == "tail")])
    return began_s, ended_s


def overhead(record: Record, series: Sequence[Series], began_s: float, ended_s: float, user_bytes: int) -> Overhead:
    """Divide the counts of each role's hosts in a window by the users' bytes in it.

    Only the clients that loaded count as clients; "servers" are all hosts except clients. If a host lacks a counter, its role has
    no such metric.
    """
    metrics: dict[str, float] = {}
    doubts: dict[Doubt, None] = {}
    for role, names in roles(record).items():
        for quantity, metric in METRICS.items():
            found = total(series, quantity, names, began_s, ended_s)
            doubts |= dict.fromkeys(found.doubts if found.value is None else ())
            if found.value is not None:
                metrics[metric.format(role=role)] = found.value / user_bytes
    return Overhead(metrics, tuple(doubts))


def disk_use(record: Record, series: Sequence[Series], began_s: float, ended_s: float) -> Mapping[str, float]:
    """Return how busy disks were in a window, by role, in two ways.

    "busy" is the share of time with requests in flight (the mean over hosts of their disks' sum), "use" the bytes read and
    written over the rate of the catalogue's disks. On emulated hosts only the second is meaningful: requests wait for the cap
    above the device.
    """
    metrics: dict[str, float] = {}
    for role, names in roles(record).items():
        busy_s = total(series, "disk_busy", names, began_s, ended_s).value
        if busy_s is not None and role != "servers":
            metrics[f"disk_busy_{role}_ratio"] = busy_s / (len(names) * (ended_s - began_s))
        limits = disk_limits(record, names)
        moved = [total(series, quantity, names, began_s, ended_s).value for quantity in ("disk_read", "disk_written")]
        shares = [m / limit for m, limit in zip(moved, limits, strict=True) if m is not None] if limits else []
        if role != "servers" and len(shares) == len(moved):
            metrics[f"disk_use_{role}_ratio"] = sum(shares) / (ended_s - began_s)
    return metrics


def disk_limits(record: Record, hosts: Iterable[str]) -> tuple[float, float] | None:
    """Return the combined read and write rates of these hosts' disks by the catalogue, in B/s of wall time.

    None if the catalogue has no disk of one of them: the bytes of all would be held against the disks of some.
    """
    cluster = hardware(record)
    nodes = {node.name: node for node in cluster.nodes} if cluster else {}
    node_of = {host.name: host.node for host in record.hosts}
    own = [node.disks if (node := nodes.get(node_of.get(host, ""))) else () for host in hosts]
    if not own or not all(own):
        return None
    disks = [disk for of_host in own for disk in of_host]
    read, written = sum(d.read_bytes_per_s.value for d in disks), sum(d.write_bytes_per_s.value for d in disks)
    return read * record.scale, written * record.scale


def total(series: Sequence[Series], quantity: Quantity, hosts: frozenset[str], began_s: float, ended_s: float) -> Amount:
    """Add up a counter over hosts; None (without a doubt) if one of them lacks it."""
    counters = [s for s in series if s.channel.quantity == quantity and s.channel.host in hosts]
    if frozenset(s.channel.host for s in counters) != hosts or not counters:
        return Amount(None, 0.0)
    amounts = [amount(s, began_s, ended_s) for s in counters]
    doubts = tuple(d for a in amounts for d in a.doubts)
    coverage = min(a.coverage_ratio for a in amounts)
    known = [a.value for a in amounts if a.value is not None]
    return Amount(sum(known) if len(known) == len(amounts) else None, coverage, doubts)
