"""Energies that can't be right: of hosts that draw next to nothing, or less with their switch than without it.

The error of an energy is half of its 95 % interval, and a tenth of it more where the meter states no accuracy. One meter may be
right and another wrong, and no sample shows which: the meters are named.
"""

from collections.abc import Iterator
from math import hypot

from perjoule.energy.budget import Budget
from perjoule.energy.coverage import Signed
from perjoule.energy.hosts import hardware
from perjoule.model import Record
from perjoule.model.format import number

LEAST_HOST_W, MOST_HOST_W = 0.5, 20_000.0  # that a running computer draws
LEAST_IDLE_RATIO, MOST_PEAK_RATIO = 0.5, 3.0  # of a host's power by the catalogue: idle, and with all of it at work
UNSTATED_RATIO = 0.1  # by which an energy may be wrong if nobody states how wrong
NAMED_COUNT = 3


def margin_j(energy: Budget) -> float:
    """Return by how much an energy may be wrong."""
    return energy.expanded_j + (UNSTATED_RATIO * abs(energy.value_j) if "accuracy" in energy.unknown else 0.0)


def impossible(net: Budget | None, gross: Budget | None, parts: tuple[Signed, Signed], hosts_count: int, length_s: float) -> str:
    """Say why the energies of hosts, without and with their switch, are impossible; "" if they are not.

    Args:
        net: the energy of the hosts.
        gross: that of the hosts and the switch.
        parts: the channels of each.
        hosts_count: how many hosts there are.
        length_s: of the window.
    """
    if net and gross and net.value_j - gross.value_j > hypot(margin_j(net), margin_j(gross)):
        return (
            f"{names(parts[0])}: {number(net.value_j)} J of the servers alone, more than the {number(gross.value_j)} J of "
            f"servers and switch by {names(parts[1])}: one of them covers something else (check covers), or has another unit"
        )
    for energy, signed in ((net, parts[0]), (gross, parts[1])):
        if energy is None:
            continue
        mean_w, meters = energy.value_j / length_s, names(signed)
        if mean_w < LEAST_HOST_W * hosts_count:
            return (
                f"{meters}: {mean_w:.3g} W for {_counted(hosts_count)}, where a running host draws {LEAST_HOST_W:g} W at least: "
                "check the unit (kW read as W?), and what it covers"
            )
        if mean_w > MOST_HOST_W * max(hosts_count, 1):
            most = f"more than {MOST_HOST_W:g} W each"
            return f"{meters}: {number(mean_w)} W for {_counted(hosts_count)}, {most}: check the unit (mW read as W?)"
    return ""


def unlikely(record: Record, net: Budget, signed: Signed, hosts: frozenset[str], length_s: float) -> Iterator[str]:
    """Doubt the energy of hosts that is far from what the catalogue says of their hardware."""
    cluster = hardware(record)
    nodes = {node.name: node for node in cluster.nodes} if cluster else {}
    catalogued = [nodes[host.node] for host in record.hosts if host.name in hosts and host.node in nodes]
    if not catalogued or len(catalogued) < len(hosts):
        return
    idle_w = sum(node.board.idle_w.value + sum(disk.idle_w.value for disk in node.disks) for node in catalogued)
    above_w = sum(node.board.dynamic_w.value + sum(disk.active_w.value for disk in node.disks) for node in catalogued)
    mean_w, of = net.value_j / length_s, f"{_counted(len(hosts))} of {record.cluster}"
    if mean_w < LEAST_IDLE_RATIO * idle_w:
        yield f"{names(signed)}: {mean_w:.3g} W for {of}, which draw {idle_w:.3g} W idle by the catalogue: check unit and covers"
    if mean_w > MOST_PEAK_RATIO * (idle_w + above_w):
        most = f"{idle_w + above_w:.3g} W at most"
        yield f"{names(signed)}: {mean_w:.3g} W for {of}, which draw {most} by the catalogue: check unit and covers"


def names(signed: Signed) -> str:
    """Name the channels of a sum or difference, of many the first ones."""
    channels = [("" if sign > 0 else "-") + channel.name for sign, channel in signed]
    more_count = len(channels) - NAMED_COUNT
    return " + ".join(channels[:NAMED_COUNT]).replace("+ -", "- ") + (f" and {more_count} more" if more_count > 0 else "")


def _counted(count: int) -> str:
    return f"{count} hosts" if count != 1 else "1 host"
