"""What a user's byte costs by role: CPU seconds, network and disk bytes, from the hosts' counters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perjoule.analysis.energy import amount
from perjoule.model import Quantity, Record, Series

# Metric name by counter; CPU seconds are those of the machine that did the work, whatever the scale.
METRICS: Mapping[Quantity, str] = {
    "cpu": "cpu_{role}_s_per_byte",
    "network_received": "network_received_{role}_ratio",
    "network_sent": "network_sent_{role}_ratio",
    "disk_read": "disk_read_{role}_ratio",
    "disk_written": "disk_written_{role}_ratio",
}


@dataclass(frozen=True)
class Overhead:
    """Metrics per user byte, and what speaks against them."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    doubts: tuple[str, ...] = ()


def window(record: Record, began_s: float, ended_s: float) -> tuple[float, float]:
    """Stretch the last window of a trial to the end of its tail phase: there lie write-back and late copies."""
    if record.outcome is None or ended_s < record.outcome.ended_s:
        return began_s, ended_s
    return began_s, max([ended_s, *(p.ended_s for p in record.phases if p.name == "tail")])


def overhead(record: Record, series: Sequence[Series], began_s: float, ended_s: float, user_bytes: int) -> Overhead:
    """Divide what the hosts of each role counted in a window by the bytes that users moved in it.

    Only the clients that loaded count as clients. A role of which a host lacks a counter has no such metric.
    """
    loading = {r.host for r in record.outcome.results} if record.outcome else set[str]()
    roles: dict[str, set[str]] = {}
    for host in record.hosts:
        if host.role != "client" or host.name in loading:
            roles.setdefault(host.role, set()).add(host.name)
    metrics: dict[str, float] = {}
    doubts: list[str] = []
    for role, names in roles.items():
        for quantity, metric in METRICS.items():
            counters = [s for s in series if s.channel.quantity == quantity and s.channel.host in names]
            if {s.channel.host for s in counters} != names:
                continue
            amounts = [amount(s, began_s, ended_s) for s in counters]
            if any(a.value is None for a in amounts):
                doubts.extend(d for a in amounts for d in a.doubts)
            else:
                metrics[metric.format(role=role)] = sum(a.value or 0.0 for a in amounts) / user_bytes
    return Overhead(metrics, tuple(doubts))
