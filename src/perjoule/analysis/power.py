"""Which series make up a boundary: the joules of a cluster from the meters of a trial, never summing what overlaps."""

from collections.abc import Sequence
from dataclasses import dataclass

from perjoule.analysis.energy import Amount, energy_j
from perjoule.model import Record, Series

# Best first. A component's meter (RAPL: the CPU alone) never stands for a host.
GRADES = ("wall", "PDU", "BMC", "simulated", "modelled", "nameplate")
# Watts of hosts that do not exist follow the emulated clock; a real meter's joules can't.
DILATED = frozenset({"simulated", "modelled", "nameplate"})
SHORT_COUNT = 5  # samples in a window, below which it is called short


@dataclass(frozen=True)
class Boundaries:
    """Joules of the wall clock in two boundaries, each None when refused: the servers without and with the switch."""

    net_j: float | None
    gross_j: float | None
    grade: str = ""
    doubts: tuple[str, ...] = ()


def server_names(record: Record) -> frozenset[str]:
    """Name the hosts that store; on a testbed that has no others, all hosts."""
    servers = frozenset(h.name for h in record.hosts if h.role != "client")
    return servers or frozenset(h.name for h in record.hosts)


def boundaries(record: Record, series: Sequence[Series], began_s: float, ended_s: float) -> Boundaries:
    """Add up what one meter says of all servers in a window: the meter of the best grade that covers them all."""
    powers = [s for s in series if s.channel.quantity in ("power", "energy")]
    if not powers:
        return Boundaries(None, None)
    meters = {(s.channel.grade, s.channel.meter) for s in powers if s.channel.grade in GRADES}
    refused: list[str] = []
    for grade, meter in sorted(meters, key=lambda m: (GRADES.index(m[0]), m[1])):
        if record.scale != 1 and grade not in DILATED:
            refused.append(f"{meter}: watts of the real machine are not those of a cluster emulated at scale {record.scale:g}")
            continue
        chosen = [s for s in powers if (s.channel.grade, s.channel.meter) == (grade, meter)]
        found = _add_up(chosen, server_names(record), began_s, ended_s)
        if found.net_j is not None or found.gross_j is not None:
            label = (f"{meter}: the watts are {grade}, not measured",) if grade in ("modelled", "nameplate") else ()
            return Boundaries(found.net_j, found.gross_j, grade, (*label, *found.doubts))
        refused.extend(found.doubts)
    return Boundaries(None, None, "", tuple(refused) or ("no meter covers a whole server",))


def _add_up(series: Sequence[Series], servers: frozenset[str], began_s: float, ended_s: float) -> Boundaries:
    parts = _without_overlap(series)
    total = [s for s in parts if s.channel.component == "total"]
    of_servers = [s for s in parts if s.channel.host in servers]
    supply = [s for s in parts if (s.channel.host, s.channel.component) == ("", "supply")]
    switch = [s for s in parts if (s.channel.host, s.channel.component) == ("", "switch")]
    doubts: list[str] = []

    def joules(wanted: Sequence[Series]) -> float | None:
        found: list[Amount] = [energy_j(s, began_s, ended_s) for s in wanted]
        doubts.extend(d for amount in found for d in amount.doubts)
        return None if any(a.value is None for a in found) else sum(a.value or 0.0 for a in found)

    counts = [int(((s.t_s > began_s) & (s.t_s <= ended_s)).sum()) for s in (total or of_servers)]
    if counts and min(counts) < SHORT_COUNT:
        doubts.append(f"{series[0].channel.meter}: the window holds only {min(counts)} power samples")
    switch_j = joules(switch) if switch else None
    if total:
        gross_j = joules(total)
        if total[0].channel.grade == "simulated":  # a waveform has no switch in it
            switch_j = 0.0
        net_j = gross_j - switch_j if gross_j is not None and switch_j is not None else None
    else:
        missing = servers - {s.channel.host for s in of_servers}
        if missing:
            return Boundaries(None, None, "", (f"{series[0].channel.meter}: no watts of {', '.join(sorted(missing))}",))
        net_j = joules([*of_servers, *supply])
        gross_j = net_j + switch_j if net_j is not None and switch_j is not None else None
    return Boundaries(net_j, gross_j, "", tuple(dict.fromkeys(doubts)))


def _without_overlap(series: Sequence[Series]) -> list[Series]:
    """Drop the parts of a host whose whole is there, and power where the same component has an energy counter."""
    whole = {s.channel.host for s in series if s.channel.component == "all"}
    counted = {(s.channel.host, s.channel.component) for s in series if s.channel.quantity == "energy"}
    return [
        s
        for s in series
        if (s.channel.component == "all" or s.channel.host not in whole)
        and (s.channel.quantity == "energy" or (s.channel.host, s.channel.component) not in counted)
    ]
