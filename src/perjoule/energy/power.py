"""The joules of channels that make up a boundary, added up over a window."""

from collections.abc import Mapping
from dataclasses import dataclass

from perjoule.energy import contradictions
from perjoule.energy.amount import amount
from perjoule.energy.baseline import idle_windows
from perjoule.energy.budget import Budget, combined
from perjoule.energy.coefficients import ModelledHosts
from perjoule.energy.coverage import Signed, SignedSeries
from perjoule.energy.terms import budget
from perjoule.model import Channel, Series
from perjoule.model.doubts import METERS, Doubt

SHORT_COUNT = 5  # samples in a window, below which it is called short


@dataclass(frozen=True)
class BoundaryParts:
    """The channels of one grade that make up each boundary, with their signs; empty if undetermined."""

    meter: str
    grade: str
    net: Signed = ()
    gross: Signed = ()
    boards: Signed = ()  # the servers without their disks: what controls the storage
    # that these are the boundaries of; not known of a sum of several boundaries
    hosts: frozenset[str] = frozenset()
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True)
class Boundaries:
    """Energy in wall time in each boundary, None if refused: the servers, with the switch, and without
    their disks.
    """

    net: Budget | None = None
    gross: Budget | None = None
    boards: Budget | None = None
    parts: BoundaryParts | None = None
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
        for _, of in self.parts.net or self.parts.gross:
            hosts.setdefault(f"{of.meter} {of.quantity}", []).append(
                of.host or "+".join(of.covers) or of.component
            )
        if len(hosts) == 1:
            return next(iter(hosts))
        return ", ".join(f"{label} of {' and '.join(sorted(set(of)))}" for label, of in sorted(hosts.items()))

    @property
    def net_j(self) -> float | None:
        """The energy of the servers."""
        return self.net.value_j if self.net else None

    @property
    def gross_j(self) -> float | None:
        """The energy of the servers and the switch."""
        return self.gross.value_j if self.gross else None


def added(
    hosts: ModelledHosts,
    series: Mapping[Channel, Series],
    parts: BoundaryParts,
    began_s: float,
    ended_s: float,
) -> Boundaries:
    """Add up the energy of channels over a window, with its budget; the coefficients of those that are
    modelled are in it.
    """
    record = hosts.record
    quiet, windows = idle_windows(record), ((began_s, ended_s, 1.0),)

    def sum_of(signed: Signed) -> Budget | None:
        summands = tuple((sign, series[channel]) for sign, channel in signed)
        total = energy(summands, began_s, ended_s, quiet)
        modelled = tuple((sign, s) for sign, s in summands if s.channel.grade == "modelled")
        return total.and_terms(hosts.terms(modelled, windows)) if total and modelled else total

    net, gross, boards = sum_of(parts.net), sum_of(parts.gross), sum_of(parts.boards)
    channels = [channel for _, channel in (*parts.net, *parts.gross)]
    doubts = [
        *parts.doubts,
        *(doubt for channel in channels for doubt in amount(series[channel], began_s, ended_s).doubts),
    ]
    if net is None and gross is None:
        return Boundaries(doubts=tuple(doubts))
    length_s = ended_s - began_s
    if parts.hosts and parts.grade not in ("modelled", "nameplate"):
        why = contradictions.impossible(net, gross, (parts.net, parts.gross), len(parts.hosts), length_s)
        if why:
            return Boundaries(doubts=(*doubts, why), contradicted=True)
        if net and parts.grade != "simulated":
            doubts.extend(contradictions.unlikely(record, net, parts.net, parts.hosts, length_s))
    times_s = [series[channel].t_s for _, channel in parts.net or parts.gross if not channel.is_stated]
    count = min((int(((t_s > began_s) & (t_s <= ended_s)).sum()) for t_s in times_s), default=SHORT_COUNT)
    if count < SHORT_COUNT:
        doubts.append(METERS.few_samples(meter=parts.meter, count=count))
    return Boundaries(net, gross, boards, parts, tuple(dict.fromkeys(doubts)))


def energy(
    parts: SignedSeries, began_s: float, ended_s: float, quiet: tuple[tuple[float, float], ...] = ()
) -> Budget | None:
    """Add up channels over a window; None without channels, or if one is refused."""
    budgets = [(sign, budget(series, began_s, ended_s, quiet=quiet)) for sign, series in parts]
    summands = [(sign, summand) for sign, summand in budgets if summand is not None]
    return combined(summands) if summands and len(summands) == len(budgets) else None


def joules(parts: SignedSeries, began_s: float, ended_s: float) -> float | None:
    """Add up channels over a window like `energy`, without a budget."""
    amounts_j = [(sign, amount(s, began_s, ended_s).value) for sign, s in parts]
    known_j = [sign * value_j for sign, value_j in amounts_j if value_j is not None]
    return sum(known_j) if known_j and len(known_j) == len(amounts_j) else None
