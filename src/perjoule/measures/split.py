"""Where a window's joules went: processors, disks and the rest of servers and clients, and the switch, as far
as meters tell.

Modelled watts: the processors' joules are those of boards above idle; the rest is boards at idle and the
supply's losses. Measured watts: the processors' joules are those of their own counters (RAPL), the disks'
those of meters on their supply; the rest is what the hosts' meters count besides. If a part of a side is
unknown, the remainder of the side is "not split".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perjoule.energy.hosts import hardware
from perjoule.model import Numbers
from perjoule.model.metrics import PIECES, J, Metric

if TYPE_CHECKING:
    from perjoule.energy.choosing import ChosenChannels
    from perjoule.energy.power import Boundaries, BoundaryParts
    from perjoule.trial.load import Load
    from perjoule.trial.reading import Reading

PART = Metric(
    "part_{piece}_j",
    "J:",
    J,
    "energy of both sides and the switch, by what took it: {piece}",
    "lower",
    energy=True,
)
METRICS = (PART,)

UNSPLIT = "unsplit"
# of all pieces, below which one is left out: what is left of equal sums is rounding, no energy
LEAST_RATIO = 1e-6


def measure(load: "Load") -> Numbers:
    """Return the joules of each piece; the pieces add up to what meters know of both sides."""
    pieces = pieces_j(load.reading, *load.window)
    least_j = LEAST_RATIO * sum(map(abs, pieces.values()))
    return Numbers.plain(
        {PART.of(name).key: load.emulated(pieces[name]) for name in PIECES if pieces.get(name, 0.0) > least_j}
    )


def pieces_j(reading: "Reading", began_s: float, ended_s: float) -> Mapping[str, float]:
    """Return the joules of each piece in wall time."""
    from perjoule.trial.sides import sides

    servers = reading.servers(began_s, ended_s)
    both_sides = sides(reading, servers, began_s, ended_s)
    pieces: dict[str, float] = {}
    both = servers.net_j is not None and both_sides.loading.net_j is not None
    if both_sides.all.net_j is not None and both_sides.all is not servers and not both:
        pieces[UNSPLIT] = both_sides.all.net_j  # a meter of both sides, which are not known apart
    else:
        metering = reading.metering
        for side, energy, choice in (
            ("server", servers, metering.servers),
            ("client", both_sides.loading, metering.clients),
        ):
            for name, part_j in _side(reading, side, energy, choice, began_s, ended_s).items():
                pieces[name] = pieces.get(name, 0.0) + part_j
    if servers.gross_j is not None and servers.net_j is not None:
        pieces["network"] = servers.gross_j - servers.net_j
    return pieces


def _side(
    reading: "Reading",
    side: str,
    energy: "Boundaries",
    choice: "ChosenChannels",
    began_s: float,
    ended_s: float,
) -> dict[str, float]:
    """Return the pieces of servers or clients; empty if their energy is unknown."""
    from perjoule.energy.choosing import DILATED

    if energy.net_j is None or energy.parts is None:
        return {}
    span = (began_s, ended_s)
    if energy.grade == "modelled":
        cpu_j, disks_j = (
            _above_idle_j(reading, energy.parts, *span),
            _component_j(reading, energy.parts, "disks", *span),
        )
    elif energy.grade in DILATED:
        cpu_j, disks_j = None, None
    else:
        disks = reading.metering.disks
        cpu_j = reading.drawn_j(choice.packages, *span)
        disks_j = reading.drawn_j(disks.net, *span) if disks and disks.grade not in DILATED else None
    if side == "client":
        disks_j = 0.0  # in the rest
    parts_j = {"server": {"server_cpu": cpu_j, "disks": disks_j}, "client": {"client_cpu": cpu_j}}[side]
    pieces = {name: part_j for name, part_j in parts_j.items() if part_j is not None}
    left_j = energy.net_j - sum(pieces.values())
    if left_j < 0:  # meters that contradict each other
        return {UNSPLIT: energy.net_j}
    return pieces | {f"{side}_rest" if len(pieces) == len(parts_j) else UNSPLIT: left_j}


def _above_idle_j(reading: "Reading", parts: "BoundaryParts", began_s: float, ended_s: float) -> float | None:
    """Return the joules of modelled boards above what they draw idle; None if the hardware is unknown."""
    from perjoule.energy.power import joules

    record = reading.record
    cluster = hardware(record)
    nodes = {node.name: node for node in cluster.nodes} if cluster else {}
    idle_w = {host.name: nodes[host.node].board.idle_w.value for host in record.hosts if host.node in nodes}
    boards = [(sign, s) for sign, s in reading.signed(parts.net) if s.channel.component == "board"]
    if not boards or not {s.channel.host for _, s in boards} <= idle_w.keys():
        return None
    above = tuple((sign, replace(s, value=s.value - idle_w[s.channel.host])) for sign, s in boards)
    return joules(above, began_s, ended_s)


def _component_j(
    reading: "Reading", parts: "BoundaryParts", component: str, began_s: float, ended_s: float
) -> float:
    from perjoule.energy.power import joules

    summands = tuple((sign, s) for sign, s in reading.signed(parts.net) if s.channel.component == component)
    return joules(summands, began_s, ended_s) or 0.0
