"""The joules of a boundary: the channels that make it up, by the best grade that covers it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perjoule.analysis import contradictions
from perjoule.analysis.baseline import idle_windows
from perjoule.analysis.budget import Budget, combined
from perjoule.analysis.coefficients import coefficient_terms
from perjoule.analysis.coverage import SWITCH, Signed, cover, devices_of, items
from perjoule.analysis.energy import amount
from perjoule.analysis.hosts import OUTSIDE, cluster_names, data_hosts, server_names
from perjoule.analysis.quantities import one_quantity, other_quantity
from perjoule.analysis.terms import budget
from perjoule.model import Record, Series
from perjoule.model.doubts import METERS, Doubt

# Best first. A component's meter (RAPL: the CPU alone) never stands for a host.
GRADES = ("wall", "PDU", "BMC", "modelled", "nameplate", "simulated")
# Watts of hosts that do not exist follow the emulated clock; a real meter's joules can't.
DILATED = frozenset({"simulated", "modelled", "nameplate"})
REAL = tuple(grade for grade in GRADES if grade not in DILATED)
SHORT_COUNT = 5  # samples in a window, below which it is called short


@dataclass(frozen=True)
class Parts:
    """The series of one grade that make up each boundary, with their signs; empty if undetermined."""

    meter: str
    grade: str
    net: Signed = ()
    gross: Signed = ()
    boards: Signed = ()  # the servers without their disks: what controls the storage
    hosts: frozenset[str] = frozenset()  # that these are the boundaries of; not known of a sum of several boundaries
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True)
class Boundaries:
    """Energy in wall time in each boundary, None if refused: the servers, with the switch, and without their disks."""

    net: Budget | None = None
    gross: Budget | None = None
    boards: Budget | None = None
    parts: Parts | None = None
    doubts: tuple[Doubt, ...] = ()
    contradicted: bool = False  # refused, because not all of its meters can be right

    @property
    def grade(self) -> str:
        """How the watts were obtained."""
        return self.parts.grade if self.parts else ""

    @property
    def source(self) -> str:
        """The quantities and meters that were added up, with the hosts if there are several."""
        if self.parts is None:
            return ""
        hosts: dict[str, list[str]] = {}
        for _, series in self.parts.net or self.parts.gross:
            of = series.channel
            hosts.setdefault(f"{of.meter} {of.quantity}", []).append(of.host or "+".join(of.covers) or of.component)
        if len(hosts) == 1:
            return next(iter(hosts))
        return ", ".join(f"{what} of {' and '.join(sorted(set(of)))}" for what, of in sorted(hosts.items()))

    @property
    def net_j(self) -> float | None:
        """The energy of the servers."""
        return self.net.value_j if self.net else None

    @property
    def gross_j(self) -> float | None:
        """The energy of the servers and the switch."""
        return self.gross.value_j if self.gross else None


def boundaries(
    record: Record,
    series: Sequence[Series],
    began_s: float,
    ended_s: float,
    hosts: frozenset[str] | None = None,
    *,
    grade: str | None = None,
) -> Boundaries:
    """Add up the energy of hosts in a window, by the meters of the best grade that cover them all; by default of the servers.

    Of several ways within that grade the first one counts, unless another one is twice as certain. A better grade that covers the
    hosts and was refused is a doubt. `grade` is that of another window, beside whose numbers this energy stands: no other counts.
    """
    refused: list[Doubt] = []
    better: list[tuple[str, Doubt]] = []  # grade and doubts of meters that cover the hosts, and whose energy is refused
    best: Boundaries | None = None
    contradicted: set[str] = set()  # grades, of which no other choice is any better known
    for parts in candidates(record, series, began_s, ended_s, hosts):
        if grade not in (None, parts.grade) or parts.grade in contradicted:
            continue
        if best is not None and parts.grade != best.grade:
            break
        found = added(record, series, parts, began_s, ended_s)
        if found.contradicted and best is None:
            contradicted.add(parts.grade)
        if found.net is None and found.gross is None:
            refused.extend(found.doubts)
            better += [(parts.grade, doubt) for doubt in found.doubts if parts.net or parts.gross]
        elif best is None or _better(found, best):
            best = found
    if best is None:
        return Boundaries(doubts=tuple(dict.fromkeys(refused)))
    replaced = [METERS.doubt(f"{doubt}; {best.grade} watts count instead") for of, doubt in better if of != best.grade]
    return replace(best, doubts=tuple(dict.fromkeys((*best.doubts, *replaced))))


def added(record: Record, series: Sequence[Series], parts: Parts, began_s: float, ended_s: float) -> Boundaries:
    """Add up the energy of series over a window, with its budget; the coefficients of those that are modelled are in it."""
    quiet, whole = idle_windows(record), ((began_s, ended_s, 1.0),)

    def sum_of(signed: Signed) -> Budget | None:
        found = energy(signed, began_s, ended_s, quiet)
        modelled = tuple((sign, s) for sign, s in signed if s.channel.grade == "modelled")
        return found.and_terms(coefficient_terms(record, series, modelled, whole)) if found and modelled else found

    net, gross, boards = sum_of(parts.net), sum_of(parts.gross), sum_of(parts.boards)
    channels = [series for _, series in (*parts.net, *parts.gross)]
    doubts = [*parts.doubts, *(doubt for series in channels for doubt in amount(series, began_s, ended_s).doubts)]
    if net is None and gross is None:
        return Boundaries(doubts=tuple(doubts))
    length_s = ended_s - began_s
    if parts.hosts and parts.grade not in ("modelled", "nameplate"):
        why = contradictions.impossible(net, gross, (parts.net, parts.gross), len(parts.hosts), length_s)
        if why:
            return Boundaries(doubts=(*doubts, METERS.doubt(f"{why}; the energy is refused")), contradicted=True)
        if net and parts.grade != "simulated":
            unlikely = contradictions.unlikely(record, net, parts.net, parts.hosts, length_s)
            doubts.extend(map(METERS.doubt, unlikely))
    count = min(int(((s.t_s > began_s) & (s.t_s <= ended_s)).sum()) for _, s in (parts.net or parts.gross))
    if count < SHORT_COUNT:
        doubts.append(METERS.doubt(f"{parts.meter}: the window holds only {count} power samples"))
    return Boundaries(net, gross, boards, parts, tuple(dict.fromkeys(doubts)))


def _better(one: Boundaries, other: Boundaries) -> bool:
    known, before = one.net or one.gross, other.net or other.gross
    if (
        known is None
        or before is None
        or (one.net is None) != (other.net is None)
        or (one.gross is None) != (other.gross is None)
    ):
        return False
    return not set(known.unknown) - set(before.unknown) and 0 < known.expanded_j < before.expanded_j / 2


def candidates(
    record: Record, series: Sequence[Series], began_s: float, ended_s: float, hosts: frozenset[str] | None = None
) -> Iterator[Parts]:
    """List the possible sums for the boundaries of hosts in a window, best grade first; grades are never mixed.

    Within a grade each meter alone comes before all of them together, unless these give more boundaries. If a meter has both a
    counter and power of one boundary, the more certain one there comes first.
    """
    # A state is a bound, and no energy of any boundary.
    powers = [s for s in series if s.channel.quantity in ("power", "energy") and s.channel.semantics != "state"]
    wanted = server_names(record) if hosts is None else hosts
    if powers and not (wanted and any(s.channel.grade in GRADES for s in powers)):
        yield Parts("", "", doubts=(METERS.doubt("no meter covers a whole server" if wanted else OUTSIDE),))
    for grade in GRADES if wanted else ():
        chosen = [s for s in powers if s.channel.grade == grade]
        meters = sorted({s.channel.meter for s in chosen})
        if record.scale != 1 and grade not in DILATED:
            why = "power of the real machine is not that of a cluster emulated at scale"
            yield from (Parts(meter, grade, doubts=(METERS.doubt(f"{meter}: {why} {record.scale:g}"),)) for meter in meters)
            continue
        if grade == "modelled" and (bare := _diskless(record, chosen) & wanted):
            why = f"modelled: the catalogue has no disks for {', '.join(sorted(bare))}"
            yield Parts("modelled", grade, doubts=(METERS.doubt(why),))
            continue
        sets = [[s for s in chosen if s.channel.meter == meter] for meter in meters]
        sets += [chosen] if len(meters) > 1 else []
        better = [one_quantity(own, began_s, ended_s) for own in sets]
        others = [[s for s in own if not any(s is kept for kept in one)] for own, one in zip(sets, better, strict=True)]
        for chosen_sets in (better, [other_quantity(own, other) for own, other in zip(sets, others, strict=True) if other]):
            found = [parts_of(grade, one, cluster_names(record), wanted) for one in chosen_sets]
            yield from sorted(found, key=lambda parts: (not (parts.net and parts.gross), not parts.net))


def _diskless(record: Record, modelled: Sequence[Series]) -> frozenset[str]:
    """Name the clients that hold data beside servers on disks that are in no model, so their modelled watts lack something."""
    if all(host.role == "client" for host in record.hosts):
        return frozenset()
    having = {s.channel.host for s in modelled if s.channel.component == "disks"}
    seen = {s.channel.host for s in modelled} - having
    return frozenset(host.name for host in record.hosts if host.role == "client") & data_hosts(record) & seen


def component_parts(record: Record, series: Sequence[Series], hosts: frozenset[str] | None = None) -> Signed:
    """Return the packages (RAPL) of all servers: a boundary of its own that represents no host; () if a server's is missing.

    Empty on an emulated cluster: its hosts share this machine's packages. `hosts` are others than the servers.
    """
    servers = server_names(record) if hosts is None else hosts
    packages = [
        s for s in series if s.channel.grade == "component" and s.channel.component.startswith("package") and s.channel.host
    ]
    own = [(1, s) for s in packages if s.channel.host in servers and s.channel.quantity == "energy"]
    return tuple(own) if record.scale == 1 and frozenset(s.channel.host for _, s in own) == servers else ()


def energy(parts: Signed, began_s: float, ended_s: float, quiet: tuple[tuple[float, float], ...] = ()) -> Budget | None:
    """Add up channels over a window; None without channels, or if one is refused."""
    budgets = [(sign, budget(series, began_s, ended_s, quiet=quiet)) for sign, series in parts]
    known = [(sign, one) for sign, one in budgets if one is not None]
    return combined(known) if known and len(known) == len(budgets) else None


def joules(parts: Signed, began_s: float, ended_s: float) -> float | None:
    """Add up channels over a window like `energy`, without a budget."""
    amounts_j = [(sign, amount(s, began_s, ended_s).value) for sign, s in parts]
    known_j = [sign * value_j for sign, value_j in amounts_j if value_j is not None]
    return sum(known_j) if known_j and len(known_j) == len(amounts_j) else None


def parts_of(grade: str, series: Sequence[Series], cluster: frozenset[str], wanted: frozenset[str]) -> Parts:
    """Find the channels of one grade that make up the boundaries of hosts; `cluster` as in `coverage.items`."""
    metered = any(s.channel.component == SWITCH or SWITCH in s.channel.covers for s in series)
    switched = grade != "simulated" or metered  # a waveform has no switch in it
    among = items(series, cluster, switch=switched)
    meter = "+".join(sorted({s.channel.meter for s in series}))
    hosts = devices_of(wanted, series)
    net, gross = cover(hosts, among), cover(hosts | {SWITCH} if switched else hosts, among)
    disks = frozenset(device for device in hosts if device.endswith("/disks"))
    boards = cover(hosts - disks, among) if disks else ()
    if net or gross:
        return Parts(meter, grade, net, gross, boards, wanted)
    seen = frozenset(device for item in among for device in item.devices)
    missing = sorted({device.partition("/")[0] for device in hosts - seen})
    why = f"no power of {', '.join(missing)}" if missing else "no sum or difference of its channels covers the servers alone"
    return Parts(meter, grade, doubts=(METERS.doubt(f"{meter}: {why}"),))
