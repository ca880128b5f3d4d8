"""Both sides' joules: of the clients that ran the load, and of clients and servers together, each host once.

    clients   the hosts that ran the load, unless one of them is a server: its joules can't be divided between the two
    all       the servers (the boundary of the headline) and the hosts that ran the load, without the switch

All is the sum of both sides; the worse of their grades is that of the sum. If a channel counts hosts of both sides and its grade
is no worse, all is the exact cover of all hosts, in which that channel counts once. What is refused has its reason.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from perjoule.analysis.coverage import items
from perjoule.analysis.energy import amount
from perjoule.analysis.hosts import cluster_names, loading, server_names
from perjoule.analysis.power import DILATED, GRADES, Boundaries, Parts, added, boundaries, candidates
from perjoule.model import Record, Series

CLIENTS, ALL = "clients", "all"  # as `metrics.BOUNDARIES` name them
NAMED_COUNT = 3  # hosts in a reason; the others are counted


@dataclass(frozen=True)
class Sides:
    """Energy in wall time of hosts that only ran the load, and of all; `refused` has the reason for a boundary without one."""

    loading: Boundaries = field(default_factory=Boundaries)  # of the hosts that ran the load and are not servers
    all: Boundaries = field(default_factory=Boundaries)
    refused: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def named(self) -> dict[str, Boundaries]:
        """Return the boundaries that have an energy, by name."""
        both = {CLIENTS: self.loading, ALL: self.all}
        return {name: one for name, one in both.items() if one.net is not None and name not in self.refused}


def sides(record: Record, series: Sequence[Series], servers: Boundaries, began_s: float, ended_s: float) -> Sides:
    """Return the energy of the clients and of all in a window, next to that of the servers; empty if no power was recorded."""
    powers = [s for s in series if s.channel.quantity in ("power", "energy")]
    held = server_names(record)
    loaded = loading(record) & {host.name for host in record.hosts}
    if not powers or not loaded:
        return Sides()
    only, shared = loaded - held, loaded & held
    counted = _counted(record, powers, only)
    own = boundaries(record, series, began_s, ended_s, only) if counted else Boundaries()
    whole = _all(record, series, (servers, own) if only else (servers,), began_s, ended_s)
    if only and any(hosts & held for _, hosts in counted):
        spanning = boundaries(record, series, began_s, ended_s, held | only)
        whole = spanning if _rank(spanning) <= _rank(whole) else whole
    refused: dict[str, str] = {}
    if shared:
        who = f"of them {_few(shared)}" if only else "they"
        refused[CLIENTS] = f"energy of the clients omitted: {who} served the load, too, so it counts once, in all"
    elif own.net is None:
        refused[CLIENTS] = f"energy of the clients omitted: {_why(record, series, only, counted, began_s, ended_s)}"
    if whole.net is None and own.net is None and only:
        why = _why(record, series, only, counted, began_s, ended_s)
        refused[ALL] = f"energy of the clients and of all omitted: {why}"
        refused[CLIENTS] = refused[CLIENTS] if shared else refused[ALL]
    elif whole.net is None:
        refused[ALL] = "energy of all omitted: that of the servers is unknown"
    return Sides(own, whole, refused)


def _all(record: Record, series: Sequence[Series], several: Sequence[Boundaries], began_s: float, ended_s: float) -> Boundaries:
    """Add up the sides; empty if one is unknown. An uncertainty that one side lacks, their sum lacks, too."""
    known = [(one, one.parts, one.net) for one in several if one.parts is not None and one.net is not None]
    if len(known) < len(several):
        return Boundaries()
    if len(known) == 1:
        return known[0][0]
    meter = "+".join(dict.fromkeys(parts.meter for _, parts, _ in known))
    grade = max((parts.grade for _, parts, _ in known), key=GRADES.index)
    found = added(record, series, Parts(meter, grade, tuple(s for _, parts, _ in known for s in parts.net)), began_s, ended_s)
    if found.net is not None and not all(net.terms for *_, net in known):
        return replace(found, net=replace(found.net, terms=()))
    return found


def _rank(one: Boundaries) -> int:
    """Return the place of its grade, the best first; the last one without an energy of the hosts alone."""
    return len(GRADES) if one.net is None else GRADES.index(one.grade)


def _counted(record: Record, powers: Sequence[Series], wanted: frozenset[str]) -> list[tuple[Series, frozenset[str]]]:
    """List the channels of whole hosts that count any of these, each with all hosts that it counts."""
    known = {host.name for host in record.hosts}
    covering = items([s for s in powers if s.channel.grade in GRADES], cluster_names(record), switch=True)
    found = ((item.series, frozenset(device.partition("/")[0] for device in item.devices) & known) for item in covering)
    return [(one, hosts) for one, hosts in found if hosts & wanted]


def _why(
    record: Record,
    series: Sequence[Series],
    wanted: frozenset[str],
    counted: Sequence[tuple[Series, frozenset[str]]],
    began_s: float,
    ended_s: float,
) -> str:
    """Say why the energy of hosts is unknown."""
    real = sorted({s.channel.meter for s, _ in counted if s.channel.grade not in DILATED})
    seen = frozenset[str]().union(*(hosts for _, hosts in counted))
    if not counted:
        return "no meter covers the clients"
    if missing := wanted - seen:
        return f"no power of {_few(missing)}"
    if record.scale != 1 and len(real) == len({s.channel.meter for s, _ in counted}):
        return f"{', '.join(real)}: power of the real machine is not that of a cluster emulated at scale {record.scale:g}"
    if faults := list(dict.fromkeys(_faults(record, series, wanted, began_s, ended_s))):
        return "; ".join(faults)
    if others := seen - wanted:
        meters = sorted({one.channel.meter for one, hosts in counted if hosts - wanted})
        return f"{', '.join(meters)}: counts them together with {_few(others)}"
    return f"{', '.join(sorted({one.channel.meter for one, _ in counted}))}: no sum or difference of channels covers them alone"


def _faults(record: Record, series: Sequence[Series], wanted: frozenset[str], began_s: float, ended_s: float) -> Iterator[str]:
    """Return what is wrong with samples that would make up the energy of hosts."""
    for parts in candidates(record, series, began_s, ended_s, wanted):
        for _, one in parts.net:
            yield from amount(one, began_s, ended_s).doubts


def _few(hosts: frozenset[str]) -> str:
    names = sorted(hosts)
    more_count = len(names) - NAMED_COUNT
    return ", ".join(names[:NAMED_COUNT]) + (f" and {more_count} more" if more_count > 0 else "")
