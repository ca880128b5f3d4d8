"""The cost of a user's byte by role: CPU seconds, network and disk bytes, and how busy disks are, from the hosts' counters.

Bytes are counted from the idle time before the load to that after it: they belong to nothing else, and the last ones may be late.
CPU time is that of the window in which bytes moved: programs start before it and report after it, at a cost that a load of twice
the bytes has only once, and idle daemons work all the time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perjoule.energy.amount import Amount, amount
from perjoule.energy.hosts import hardware, roles
from perjoule.energy.integral import integral
from perjoule.model import Quantity, Record, Series
from perjoule.model.doubts import Doubt
from perjoule.trial.reading import Reading

# Metric name by counter; CPU seconds are those of the machine that did the work, whatever the scale.
METRICS: Mapping[Quantity, str] = {
    "cpu": "cpu_{role}_s_per_byte",
    "network_received": "network_received_{role}_ratio",
    "network_sent": "network_sent_{role}_ratio",
    "disk_read": "disk_read_{role}_ratio",
    "disk_written": "disk_written_{role}_ratio",
}

CPU: Quantity = "cpu"
UNCERTAINTY = "cpu_{role}_uncertainty_s_per_byte"
MOST_UNSURE_RATIO = 0.5  # of CPU time, by which a window's edges may make it wrong
LEAST_CORES = 0.001  # of a role that takes less, such as an idle manager, half of it is nothing
SELDOM = "CPU time per byte of {roles} omitted: counters were read too seldom to tell the load's from what came before and after"
LEAD_S = 0.4  # before the end of the baseline: two readings of counters at their usual rate


@dataclass(frozen=True)
class Overhead:
    """Metrics per user byte, their doubts, and why one is omitted."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    doubts: tuple[Doubt, ...] = ()
    omitted: Mapping[str, str] = field(default_factory=dict[str, str])  # as `Point.omitted`


def window(record: Record, began_s: float, ended_s: float) -> tuple[float, float]:
    """Extend the windows of a trial over the idle ones around it, for counts per byte.

    The first starts in the baseline, which is idle: the load's own start belongs to it, and counters are interpolated linearly
    between two readings, so the first bytes seem to come early. The last one ends with the tail, which includes late write-back.
    What lies beside a part of a longer load is load, too.
    """
    if record.outcome is None or record.outcome.sustained:
        return began_s, ended_s
    if began_s <= record.outcome.began_s:
        began_s = min([began_s, *(max(p.began_s, p.ended_s - LEAD_S) for p in record.phases if p.name == "baseline")])
    if ended_s >= record.outcome.ended_s:
        ended_s = max([ended_s, *(p.ended_s for p in record.phases if p.name == "tail")])
    return began_s, ended_s


def overhead(record: Record, series: Sequence[Series], began_s: float, ended_s: float, user_bytes: int) -> Overhead:
    """Divide the counts of each role's hosts by the users' bytes, in the window in which these moved.

    Only the clients that loaded count as clients; "servers" are all hosts except clients. If a host lacks a counter, its role has
    no such metric.
    """
    metrics: dict[str, float] = {}
    doubts: dict[Doubt, None] = {}
    unsure: list[str] = []
    whole = window(record, began_s, ended_s)
    for role, names in roles(record).items():
        for quantity, metric in METRICS.items():
            found = total(series, quantity, names, *((began_s, ended_s) if quantity == CPU else whole))
            doubts |= dict.fromkeys(found.doubts if found.value is None else ())
            if found.value is None:
                continue
            if quantity == CPU:
                error_s = edges_error(series, quantity, names, began_s, ended_s)
                if error_s > max(MOST_UNSURE_RATIO * found.value, LEAST_CORES * (ended_s - began_s)):
                    unsure.append(role)
                    continue
                metrics[UNCERTAINTY.format(role=role)] = error_s / user_bytes
            metrics[metric.format(role=role)] = found.value / user_bytes
    omitted = {CPU: SELDOM.format(roles=", ".join(unsure))} if unsure else {}
    return Overhead(metrics, tuple(doubts), omitted)


def edges_error(series: Sequence[Series], quantity: Quantity, hosts: frozenset[str], began_s: float, ended_s: float) -> float:
    """Return the most by which hosts' counters can have grown more, or less, in a window than evenly between two readings.

    All that a counter grew in the step that an edge cuts may be of the load, or none of it.
    """
    most, least = 0.0, 0.0
    for one in series:
        if one.channel.quantity == quantity and one.channel.host in hosts:
            whole = integral(one)
            t_s = whole.samples.t_s
            first, last = np.searchsorted(t_s, began_s, side="right") - 1, np.searchsorted(t_s, ended_s, side="left")
            inner, end = np.searchsorted(t_s, began_s, side="left"), np.searchsorted(t_s, ended_s, side="right") - 1
            moments_s = np.array([t_s[max(first, 0)], began_s, ended_s, t_s[min(last, len(t_s) - 1)]])
            outer, low, high, beyond = whole.until(moments_s)[0]
            within = whole.until(t_s[[inner, end]])[0] if inner < end else np.array([low, low])
            most += (low - outer) + (beyond - high)
            least += (high - low) - (within[1] - within[0])
    return float(max(most, least))


def disk_use(reading: Reading, began_s: float, ended_s: float) -> Mapping[str, float]:
    """Return how busy disks were in a window, by role, in two ways.

    "busy" is the share of time with requests in flight (the mean over hosts of their disks' sum), "use" the bytes read and
    written over the rate of the catalogue's disks. On emulated hosts only the second is meaningful: requests wait for the cap
    above the device.
    """
    series, metrics = reading.series, dict[str, float]()
    for role, names in roles(reading.record).items():
        busy_s = total(series, "disk_busy", names, began_s, ended_s).value
        if busy_s is not None and role != "servers":
            metrics[f"disk_busy_{role}_ratio"] = busy_s / (len(names) * (ended_s - began_s))
        limits = disk_limits(reading, names)
        moved = [total(series, quantity, names, began_s, ended_s).value for quantity in ("disk_read", "disk_written")]
        shares = [m / limit for m, limit in zip(moved, limits, strict=True) if m is not None] if limits else []
        if role != "servers" and len(shares) == len(moved):
            metrics[f"disk_use_{role}_ratio"] = sum(shares) / (ended_s - began_s)
    return metrics


def disk_limits(reading: Reading, hosts: Iterable[str]) -> tuple[float, float] | None:
    """Return the combined read and write rates of these hosts' disks by the catalogue, in B/s of wall time.

    None if the catalogue has no disk of one of them: the bytes of all would be held against the disks of some.
    """
    record = reading.record
    cluster = hardware(record)
    nodes = {node.name: node for node in cluster.nodes} if cluster else {}
    node_of = {host.name: host.node for host in record.hosts}
    own = [node.disks if (node := nodes.get(node_of.get(host, ""))) else () for host in hosts]
    if not own or not all(own):
        return None
    disks = [disk for of_host in own for disk in of_host]
    read, written = sum(d.read_bytes_per_s.value for d in disks), sum(d.write_bytes_per_s.value for d in disks)
    a_second_s = reading.dilation.emulated(1.0)
    return read * a_second_s, written * a_second_s


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
