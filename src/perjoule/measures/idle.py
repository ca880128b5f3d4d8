"""What an idle file system draws and does by itself, by role, and how long its disks could have slept.

Seconds are emulated ones, as everywhere. A disk's gap is the time between two samples of its counters between which neither rose.
An access lies somewhere between two samples, so a gap may be up to two sampling periods longer than stated. Definitions are in
docs/explanations/how-numbers-are-made.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perjoule.energy.hosts import data_hosts, roles
from perjoule.energy.integral import integral
from perjoule.energy.samples import Floats
from perjoule.measures.energies import Work
from perjoule.measures.overhead import total
from perjoule.model import Quantity, Record, Series
from perjoule.model.doubts import METERS, UNDILATED, Doubt
from perjoule.model.hardware import Node
from perjoule.trial.reading import Dilation, Reading

COUNTED: Mapping[Quantity, str] = {
    "cpu": "idle_cpu_{role}_ratio",
    "switches": "idle_switches_{role}_hz",
    "network_received": "idle_network_received_{role}_bytes_per_s",
    "network_sent": "idle_network_sent_{role}_bytes_per_s",
    "disk_read": "idle_disk_read_{role}_bytes_per_s",
    "disk_written": "idle_disk_written_{role}_bytes_per_s",
}
_ACCESS: tuple[Quantity, Quantity] = ("disk_read", "disk_written")
_FEW = 4  # sampling periods in the least gap, below which samples hardly show it


@dataclass(frozen=True)
class Idle:
    """The metrics of an idle trial by role, and their doubts."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    doubts: tuple[Doubt, ...] = ()


def work(record: Record, duration_s: float) -> Work:
    """Return the work of an idle trial: the capacity that was kept, times the time, as far as it is known."""
    divisors, per_j, kept = {"idle_w": duration_s}, "", 0.0
    if each_bytes := capacities_bytes(record):
        divisors["raw_w_per_byte"] = sum(each_bytes) * duration_s
        if record.redundancy is not None:
            alike_bytes = len(each_bytes) * min(each_bytes)  # each host holds as much as the smallest
            per_j, kept = "usable_bytes_per_w", alike_bytes * record.redundancy.usable_ratio * duration_s
            divisors["usable_w_per_byte"] = kept
    return Work(per_j, kept, duration_s, loaded=False, divisors=divisors)


def capacities_bytes(record: Record) -> tuple[float, ...]:
    """Return the capacity of the disks of each data host by the catalogue; empty if a host has no disk there."""
    node_of = _nodes(record)
    holders = [node_of.get(name) for name in data_hosts(record)]
    each = [sum(disk.capacity_bytes.value for disk in node.disks) if node else 0.0 for node in holders]
    return tuple(each) if all(each) else ()


def _nodes(record: Record) -> Mapping[str, Node]:
    """Return the catalogue's node of each host that has one."""
    nodes = {node.name: node for node in record.hardware.nodes} if record.hardware else {}
    return {host.name: nodes[host.node] for host in record.hosts if host.node in nodes}


def idle(reading: Reading, began_s: float, ended_s: float) -> Idle:
    """Return the power of each role, what it did by itself, and the gaps between accesses to its disks."""
    record, series, emulated = reading.record, reading.series, reading.dilation.emulated
    metrics: dict[str, float] = {}
    doubts: dict[Doubt, None] = dict.fromkeys(_dilated(reading.dilation))
    nodes = _nodes(record)
    length_s = emulated(ended_s - began_s)
    least_s = record.outcome.measured.get("least_gap_s") if record.outcome else None
    for role, names in roles(record).items():
        drawn_j = reading.energy(reading.metering.by_role[role], began_s, ended_s).net_j
        if drawn_j is not None:
            metrics[f"idle_{role}_w"] = emulated(drawn_j) / length_s
        for quantity, metric in COUNTED.items():
            found = total(series, quantity, names, began_s, ended_s)
            doubts |= dict.fromkeys(found.doubts if found.value is None else ())
            if found.value is not None:
                metrics[metric.format(role=role)] = found.value / length_s
        with_disks = sorted(name for name in names if name not in nodes or nodes[name].disks)
        gaps = {name: disk_gaps_s(series, name, began_s, ended_s) for name in with_disks}
        known = [(emulated(found[0]), emulated(found[1])) for found in gaps.values() if found is not None]
        if known:
            metrics[f"longest_gap_{role}_s"] = max(float(own_s.max(initial=0.0)) for own_s, _ in known)
            if least_s is None:
                continue
            asleep_s = sum(float(own_s[own_s >= least_s].sum()) for own_s, _ in known)
            metrics[f"sleepable_{role}_ratio"] = asleep_s / (len(known) * length_s)
            if least_s < _FEW * (period_s := max(period_s for _, period_s in known)):
                unseen = f"disks are seen every {period_s:.2g} s: gaps of {least_s:g} s between accesses are not visible"
                doubts[METERS.doubt(unseen)] = None
    return Idle(metrics, tuple(doubts))


def disk_gaps_s(series: Sequence[Series], host: str, began_s: float, ended_s: float) -> tuple[Floats, float] | None:
    """Return the gaps between accesses to a host's disks in a window, and the longest time between two samples, wall time.

    None if the host has no counters of its disks, or no disk that was ever accessed, or samples do not cover the window.
    Shapes: the gaps are (G,).
    """
    own = [s for s in series if s.channel.host == host and s.channel.quantity in _ACCESS]
    if len(own) < len(_ACCESS):
        return None
    both = [integral(one).samples for one in own]
    moments_s = np.unique(np.concatenate([samples.t_s for samples in both]))
    if any(not len(s.t_s) or s.t_s[0] > began_s or s.t_s[-1] < ended_s for s in both):
        return None
    if not any(samples.value[-1] for samples in both):
        return None
    accessed = np.zeros(len(moments_s) - 1, dtype=bool)
    for samples in both:
        risen = np.flatnonzero(np.diff(samples.value) != 0)
        first = np.searchsorted(moments_s, samples.t_s[risen])
        last = np.searchsorted(moments_s, samples.t_s[risen + 1])
        for low, high in zip(first, last, strict=True):
            accessed[low:high] = True
    edges_s = np.clip(moments_s, began_s, ended_s)
    lengths_s = np.diff(edges_s)
    run = np.cumsum(accessed)[~accessed]  # quiet steps of one gap have seen as many accesses
    gaps_s: Floats = np.bincount(run, weights=lengths_s[~accessed]).astype(np.float64)
    return gaps_s[gaps_s > 0], float(lengths_s.max())


def _dilated(dilation: Dilation) -> Iterator[Doubt]:
    if dilation.text:
        often = dilation.wall(1.0)
        yield UNDILATED.doubt(
            f"daemons keep their own time, which {dilation.text} does not dilate: for each emulated second they act up to "
            f"{often:.3g} times as often as on the hardware; what an idle file system does, and the watts of it, are upper bounds"
        )
