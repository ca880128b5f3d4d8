"""Energies that can't be right: of hosts that draw next to nothing, or less with their switch than without
it.

The error of an energy is half of its 95 % interval, and a tenth of it more where the meter states no
accuracy. One meter may be right and another wrong, and no sample shows which: the meters are named.
"""

from collections.abc import Iterator
from math import hypot

from perjoule.catalogue import totals
from perjoule.energy.budget import Budget
from perjoule.energy.coverage import Signed
from perjoule.energy.hosts import hardware
from perjoule.model import Record
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.hardware import Cluster, Node, Value

LEAST_HOST_W, MOST_HOST_W = 0.5, 20_000.0  # that a running computer draws
# of a host's power by the catalogue: idle, and with all of it at work
LEAST_IDLE_RATIO, MOST_PEAK_RATIO = 0.5, 3.0
UNSTATED_RATIO = 0.1  # by which an energy may be wrong if nobody states how wrong
NAMED_COUNT = 3


def margin_j(energy: Budget) -> float:
    """Return by how much an energy may be wrong."""
    return energy.expanded_j + (UNSTATED_RATIO * abs(energy.value_j) if "accuracy" in energy.unknown else 0.0)


def impossible(
    net: Budget | None, gross: Budget | None, parts: tuple[Signed, Signed], hosts_count: int, length_s: float
) -> Doubt | None:
    """Return why the energies of hosts, without and with their switch, are impossible; None if they are not.

    Args:
        net: the energy of the hosts.
        gross: that of the hosts and the switch.
        parts: the channels of each.
        hosts_count: how many hosts there are.
        length_s: of the window.
    """
    if net and gross and net.value_j - gross.value_j > hypot(margin_j(net), margin_j(gross)):
        others, others_j = names(parts[1]), gross.value_j
        return METERS.less_with_switch(
            channels=names(parts[0]), energy_j=net.value_j, others=others, others_j=others_j
        )
    for energy, signed in ((net, parts[0]), (gross, parts[1])):
        if energy is None:
            continue
        mean_w, meters = energy.value_j / length_s, names(signed)
        if mean_w < LEAST_HOST_W * hosts_count:
            return METERS.too_low(
                channels=meters, power_w=mean_w, hosts_count=hosts_count, least_w=LEAST_HOST_W
            )
        if mean_w > MOST_HOST_W * max(hosts_count, 1):
            return METERS.too_high(
                channels=meters, power_w=mean_w, hosts_count=hosts_count, most_w=MOST_HOST_W
            )
    return None


def unlikely(
    record: Record, net: Budget, signed: Signed, hosts: frozenset[str], length_s: float
) -> Iterator[Doubt]:
    """Doubt the energy of hosts that is far from what the catalogue says of their hardware, on the side of the
    supply on which it was measured; what is not at the wall or a PDU may be on either.
    """
    cluster = hardware(record)
    nodes = {node.name: node for node in cluster.nodes} if cluster else {}
    catalogued = [nodes[host.node] for host in record.hosts if host.name in hosts and host.node in nodes]
    if cluster is None or len(catalogued) < len(hosts):
        return
    behind_supply = any(channel.grade not in ("wall", "PDU") for _, channel in signed)
    idle_w, peak_w = (
        sum(ends[place] for ends in (_idle_and_peak_w(node, cluster, behind_supply) for node in catalogued))
        for place in (0, 1)
    )
    mean_w, channels, cluster_name = net.value_j / length_s, names(signed), record.cluster
    if mean_w < LEAST_IDLE_RATIO * idle_w:
        yield METERS.below_idle(
            channels=channels, power_w=mean_w, hosts_count=len(hosts), cluster=cluster_name, idle_w=idle_w
        )
    if mean_w > MOST_PEAK_RATIO * peak_w:
        yield METERS.above_peak(
            channels=channels, power_w=mean_w, hosts_count=len(hosts), cluster=cluster_name, peak_w=peak_w
        )


def _idle_and_peak_w(node: Node, cluster: Cluster, behind_supply: bool) -> tuple[float, float]:
    """Return the least watts of an idle host, and the most at work, at the wall by the ends of its supply's
    efficiency. Clients beside servers are at the wall already.
    """
    idle_w = node.board.idle_w.value + sum(disk.idle_w.value for disk in node.disks)
    dynamic_w = node.board.dynamic_w.value
    peak_w = node.board.idle_w.value + dynamic_w + sum(disk.active_w.value for disk in node.disks)
    if node not in (totals.servers(cluster) or cluster.nodes):
        return idle_w, peak_w
    efficiency, no_load = cluster.supply_efficiency, cluster.supply_no_load_w
    low, high = _ends(efficiency)
    least_no_load_w, most_no_load_w = _ends(no_load) if no_load else (0.0, 0.0)
    idle_at_wall_w, peak_at_wall_w = idle_w / high + least_no_load_w, peak_w / low + most_no_load_w
    return idle_w if behind_supply else idle_at_wall_w, peak_at_wall_w


def _ends(value: Value) -> tuple[float, float]:
    return (
        value.value if value.low is None else value.low,
        value.value if value.high is None else value.high,
    )


def names(signed: Signed) -> str:
    """Name the channels of a sum or difference, of many the first ones."""
    channels = [("" if sign > 0 else "-") + channel.name for sign, channel in signed]
    more_count = len(channels) - NAMED_COUNT
    return " + ".join(channels[:NAMED_COUNT]).replace("+ -", "- ") + (
        f" and {more_count} more" if more_count > 0 else ""
    )
