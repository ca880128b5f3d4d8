"""Which series make up a boundary: the joules of a cluster from the meters of a trial, never summing what overlaps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perjoule.analysis.energy import energy_j
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


@dataclass(frozen=True)
class Parts:
    """The series of one meter that make up each boundary, with the sign by which they count; empty where it can't tell."""

    meter: str
    grade: str
    net: tuple[tuple[int, Series], ...] = ()
    gross: tuple[tuple[int, Series], ...] = ()
    doubts: tuple[str, ...] = ()


def server_names(record: Record) -> frozenset[str]:
    """Name the hosts that store; on a testbed that has no others, all hosts."""
    servers = frozenset(h.name for h in record.hosts if h.role != "client")
    return servers or frozenset(h.name for h in record.hosts)


def boundaries(record: Record, series: Sequence[Series], began_s: float, ended_s: float) -> Boundaries:
    """Add up what one meter says of all servers in a window: the meter of the best grade that covers them all."""
    refused: list[str] = []
    for parts in candidates(record, series):
        doubts = list(parts.doubts)
        net_j = _joules(parts.net, began_s, ended_s, doubts)
        gross_j = _joules(parts.gross, began_s, ended_s, doubts)
        if net_j is None and gross_j is None:
            refused.extend(doubts)
            continue
        count = min(int(((s.t_s > began_s) & (s.t_s <= ended_s)).sum()) for _, s in (parts.net or parts.gross))
        if count < SHORT_COUNT:
            doubts.append(f"{parts.meter}: the window holds only {count} power samples")
        if parts.grade in ("modelled", "nameplate"):
            doubts.insert(0, f"{parts.meter}: the watts are {parts.grade}, not measured")
        return Boundaries(net_j, gross_j, parts.grade, tuple(dict.fromkeys(doubts)))
    return Boundaries(None, None, "", tuple(dict.fromkeys(refused)))


def candidates(record: Record, series: Sequence[Series]) -> Iterator[Parts]:
    """List the meters of power and energy, best grade first, with the series that make up each boundary."""
    powers = [s for s in series if s.channel.quantity in ("power", "energy")]
    if powers and not any(s.channel.grade in GRADES for s in powers):
        yield Parts("", "", doubts=("no meter covers a whole server",))
    meters = {(s.channel.grade, s.channel.meter) for s in powers if s.channel.grade in GRADES}
    for grade, meter in sorted(meters, key=lambda m: (GRADES.index(m[0]), m[1])):
        if record.scale != 1 and grade not in DILATED:
            why = f"{meter}: watts of the real machine are not those of a cluster emulated at scale {record.scale:g}"
            yield Parts(meter, grade, doubts=(why,))
        else:
            chosen = [s for s in powers if (s.channel.grade, s.channel.meter) == (grade, meter)]
            yield _parts(meter, grade, _without_overlap(chosen), server_names(record))


def _parts(meter: str, grade: str, series: Sequence[Series], servers: frozenset[str]) -> Parts:
    def of(component: str) -> list[tuple[int, Series]]:
        return [(1, s) for s in series if (s.channel.host, s.channel.component) == ("", component)]

    total, switch = of("total"), of("switch")
    if total:
        without = [(-1, s) for _, s in switch]
        known = bool(switch) or grade == "simulated"  # a waveform has no switch in it
        return Parts(meter, grade, net=(*total, *without) if known else (), gross=tuple(total))
    hosts = [(1, s) for s in series if s.channel.host in servers]
    missing = servers - {s.channel.host for _, s in hosts}
    if missing:
        return Parts(meter, grade, doubts=(f"{meter}: no watts of {', '.join(sorted(missing))}",))
    net = (*hosts, *of("supply"))
    return Parts(meter, grade, net=net, gross=(*net, *switch) if switch else ())


def _joules(parts: Sequence[tuple[int, Series]], began_s: float, ended_s: float, doubts: list[str]) -> float | None:
    amounts = [(sign, energy_j(s, began_s, ended_s)) for sign, s in parts]
    doubts.extend(d for _, found in amounts for d in found.doubts)
    if not amounts or any(found.value is None for _, found in amounts):
        return None
    return sum(sign * (found.value or 0.0) for sign, found in amounts)


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
