"""Where a window's joules went: processors, disks and the rest of servers and clients, and the switch, as far as meters tell.

Modelled watts: the processors' joules are those of boards above idle; the rest is boards at idle and the supply's losses.
Measured watts: the processors' joules are those of their own counters (RAPL), the disks' those of meters on their supply; the
rest is what the hosts' meters count besides. If a part of a side is unknown, the remainder of the side is "not split".
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perjoule.analysis.devices import MEASURED_GRADES, device_j
from perjoule.analysis.energy import amount
from perjoule.analysis.hosts import hardware, loading, server_names
from perjoule.analysis.power import DILATED, Boundaries, Parts, component_parts, joules
from perjoule.analysis.sides import Sides
from perjoule.model import Record, Series
from perjoule.model.metrics import PIECES

UNSPLIT = "unsplit"
LEAST_RATIO = 1e-6  # of all pieces, below which one is left out: what is left of equal sums is rounding, no energy


def split_j(
    record: Record, series: Sequence[Series], servers: Boundaries, found: Sides, began_s: float, ended_s: float
) -> Mapping[str, float]:
    """Return the joules of each piece in wall time, by metric; the pieces add up to what meters know of both sides.

    Args:
        record: of the trial.
        series: all of its channels.
        servers: their energy in the window.
        found: that of the clients and of all.
        began_s: begin of the window, seconds.
        ended_s: its end.
    """
    pieces: dict[str, float] = {}
    both = servers.net_j is not None and found.loading.net_j is not None
    if found.all.net_j is not None and found.all is not servers and not both:
        pieces[UNSPLIT] = found.all.net_j  # a meter of both sides, which are not known apart
    else:
        span = (record, series, began_s, ended_s)
        held = server_names(record)
        for side, one, hosts in (("server", servers, held), ("client", found.loading, loading(record) - held)):
            for name, part_j in _side(side, one, hosts, *span).items():
                pieces[name] = pieces.get(name, 0.0) + part_j
    if servers.gross_j is not None and servers.net_j is not None:
        pieces["network"] = servers.gross_j - servers.net_j
    least_j = LEAST_RATIO * sum(map(abs, pieces.values()))
    return {f"part_{name}_j": pieces[name] for name in PIECES if pieces.get(name, 0.0) > least_j}


def _side(
    side: str, one: Boundaries, hosts: frozenset[str], record: Record, series: Sequence[Series], began_s: float, ended_s: float
) -> dict[str, float]:
    """Return the pieces of servers or clients; empty if their energy is unknown."""
    if one.net_j is None or one.parts is None:
        return {}
    span = (began_s, ended_s)
    if one.grade == "modelled":
        cpu_j, disks_j = _above_idle_j(record, one.parts, *span), _component_j(one.parts, "disks", *span)
    elif one.grade in DILATED:
        cpu_j, disks_j = None, None
    else:
        cpu_j = joules(component_parts(record, series, hosts), *span)
        disks_j = device_j(record, series, *span, MEASURED_GRADES) if side == "server" else 0.0
    if side == "client":
        disks_j = 0.0  # in the rest
    known = {"server": {"server_cpu": cpu_j, "disks": disks_j}, "client": {"client_cpu": cpu_j}}[side]
    pieces = {name: part_j for name, part_j in known.items() if part_j is not None}
    left_j = one.net_j - sum(pieces.values())
    if left_j < 0:  # meters that contradict each other
        return {UNSPLIT: one.net_j}
    return pieces | {f"{side}_rest" if len(pieces) == len(known) else UNSPLIT: left_j}


def _above_idle_j(record: Record, parts: Parts, began_s: float, ended_s: float) -> float | None:
    """Return the joules of modelled boards above what they draw idle; None if the hardware is unknown."""
    cluster = hardware(record)
    nodes = {node.name: node for node in cluster.nodes} if cluster else {}
    idle_w = {host.name: nodes[host.node].board.idle_w.value for host in record.hosts if host.node in nodes}
    boards = [(sign, s) for sign, s in parts.net if s.channel.component == "board"]
    if not boards or not {s.channel.host for _, s in boards} <= idle_w.keys():
        return None
    above = [(sign, replace(s, value=s.value - idle_w[s.channel.host])) for sign, s in boards]
    return sum(sign * (amount(one, began_s, ended_s).value or 0.0) for sign, one in above)


def _component_j(parts: Parts, component: str, began_s: float, ended_s: float) -> float:
    return sum(sign * (amount(s, began_s, ended_s).value or 0.0) for sign, s in parts.net if s.channel.component == component)
