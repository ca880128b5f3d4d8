"""The search for the channels that make up the boundaries of hosts: by what they cover, their grade, and
how certain they are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from perjoule.energy.amount import amount
from perjoule.energy.coverage import SWITCH, Signed, cover, devices_of, items
from perjoule.energy.power import Boundaries, BoundaryParts
from perjoule.energy.quantities import one_quantity, other_quantity, wrong_ratio
from perjoule.model import Channel, Series
from perjoule.model.doubts import METERS, Doubt

# Best first. A component's meter (RAPL: the CPU alone) never stands for a host.
GRADES = ("wall", "PDU", "BMC", "modelled", "nameplate", "simulated")
# Watts of hosts that do not exist follow the emulated clock; a real meter's joules can't.
DILATED = frozenset({"simulated", "modelled", "nameplate"})
REAL = tuple(grade for grade in GRADES if grade not in DILATED)
# A meter of a component alone (a Hall sensor on its supply) counts for the disks.
DISK_GRADES = ("component", *GRADES)
DISKS = "disks"
WHOLE = frozenset({"all", "group", "total", SWITCH})  # components that are no part of a host


@dataclass(frozen=True)
class Roles:
    """The hosts of a trial, as far as the choice depends on them."""

    servers: frozenset[str]  # inside the boundary of energy; none if they are outside the testbed
    clients: frozenset[str] = frozenset()  # that load and are not servers
    shared: frozenset[str] = frozenset()  # that load and are servers
    cluster: frozenset[str] = frozenset()  # that a meter of the whole cluster covers
    hosts: frozenset[str] = frozenset()  # all
    holders: frozenset[str] = frozenset()  # of the load's data
    storing: frozenset[str] = frozenset()  # clients beside servers that hold data
    by_role: tuple[tuple[str, frozenset[str]], ...] = ()  # whose watts are stated one by one
    at_scale: str = ""  # "scale 0.2" of an emulated cluster


@dataclass(frozen=True, eq=False)
class Headline:
    """The window that decides, and what was measured in it."""

    series: Mapping[Channel, Series]
    began_s: float
    ended_s: float
    added: Callable[[BoundaryParts, float, float], Boundaries]  # the energy of channels in a window


@dataclass(frozen=True)
class ChosenChannels:
    """The channels of a boundary; without any, the doubts have the reasons."""

    parts: BoundaryParts | None = None
    doubts: tuple[Doubt, ...] = ()  # about the choice
    refused: tuple[BoundaryParts, ...] = ()  # that cover the hosts and have no energy, if none has
    packages: Signed = ()  # of the processors of all these hosts (RAPL): they represent no host
    has_net: bool = False  # the hosts have an energy without the switch

    @property
    def grade(self) -> str:
        """How the watts are obtained; "" without channels."""
        return self.parts.grade if self.parts else ""


@dataclass(frozen=True)
class Chooser:
    """Searches the channels of power and energy."""

    roles: Roles
    powers: Sequence[Channel]
    headline: Headline | None

    def represents(self, channel: Channel) -> bool:
        """Whether watts are those of the hosts: the joules of the real machine are not those of an emulated
        one.

        A state is that of a real device, whatever its grade.
        """
        return not self.roles.at_scale or (channel.grade in DILATED and channel.semantics != "state")

    def best(self, hosts: frozenset[str], only: str | None = None) -> ChosenChannels:
        """Choose the channels of hosts, of the best grade that covers them all.

        Of several ways within that grade the first one counts, unless another one is twice as certain. A
        better grade that covers the hosts and was refused is a doubt. `only` is the grade of numbers beside
        which this one stands.
        """
        refused: list[Doubt] = []
        covering: list[BoundaryParts] = []
        # grade and doubts of meters that cover the hosts, and whose energy is refused
        better: list[tuple[str, Doubt]] = []
        best: Boundaries | None = None
        contradicted: set[str] = set()  # grades, of which no other choice is any better known
        for parts in self._candidates(hosts):
            if only not in (None, parts.grade) or parts.grade in contradicted:
                continue
            if best is not None and (parts.grade != best.grade or self.headline is None):
                break
            covers = bool(parts.net or parts.gross)
            energy = self._measured(parts) if covers else Boundaries(doubts=parts.doubts)
            if energy.contradicted and best is None:
                contradicted.add(parts.grade)
            if energy.parts is None:
                refused.extend(energy.doubts)
                better += [(parts.grade, doubt) for doubt in energy.doubts if covers]
                covering += [parts] if covers else []
            elif best is None or _better(energy, best):
                best = energy
        if best is None:
            return ChosenChannels(None, tuple(dict.fromkeys(refused)), tuple(covering), self._packages(hosts))
        replaced = [
            METERS.instead(reason=doubt, grade=best.grade) for of, doubt in better if of != best.grade
        ]
        has_net = bool(best.parts and best.parts.net) if self.headline is None else best.net is not None
        return ChosenChannels(best.parts, tuple(dict.fromkeys(replaced)), (), self._packages(hosts), has_net)

    def _measured(self, parts: BoundaryParts) -> Boundaries:
        if self.headline is None:
            return Boundaries(parts=parts)
        return self.headline.added(parts, self.headline.began_s, self.headline.ended_s)

    def _wrong_ratio(self, channel: Channel) -> float:
        if self.headline is None:
            return inf
        return wrong_ratio(self.headline.series[channel], self.headline.began_s, self.headline.ended_s)

    def _candidates(self, hosts: frozenset[str]) -> Iterator[BoundaryParts]:
        """List the possible sums for the boundaries of hosts, best grade first; grades are never mixed.

        Within a grade each meter alone comes before all of them together, unless these give more boundaries.
        If a meter has both a counter and power of one boundary, the more certain one comes first.
        """
        # A state is a bound, and no energy of any boundary.
        shown = [channel for channel in self.powers if channel.semantics != "state"]
        powers = [channel for channel in shown if not channel.is_stated]
        if shown and not (hosts and any(channel.grade in GRADES for channel in powers)):
            yield BoundaryParts("", "", doubts=(METERS.none_covers() if hosts else METERS.outside(),))
        for grade in GRADES if hosts else ():
            of_grade = [channel for channel in powers if channel.grade == grade]
            meters = sorted({channel.meter for channel in of_grade})
            if self.roles.at_scale and grade not in DILATED:
                doubts = {
                    meter: METERS.real_machine(meter=meter, scale=self.roles.at_scale) for meter in meters
                }
                yield from (BoundaryParts(meter, grade, doubts=(doubt,)) for meter, doubt in doubts.items())
                continue
            if grade == "modelled" and (bare := self._diskless(of_grade) & hosts):
                yield BoundaryParts(
                    "modelled", grade, doubts=(METERS.no_disks_modelled(hosts=", ".join(sorted(bare))),)
                )
                continue
            sets = [[channel for channel in of_grade if channel.meter == meter] for meter in meters]
            numbers = self._numbers(of_grade) if grade in REAL else []
            sets += [[*channels, *numbers] for channels in sets] if numbers else []
            sets += [[*of_grade, *numbers]] if len(meters) > 1 else []
            first = [one_quantity(channels, self._wrong_ratio) for channels in sets]
            second = [
                alternative
                for channels, certain in zip(sets, first, strict=True)
                if (alternative := other_quantity(channels, certain))
            ]
            for choices in (first, second):
                sums = [parts_of(grade, channels, self.roles.cluster, hosts) for channels in choices]
                yield from sorted(sums, key=lambda parts: (not (parts.net and parts.gross), not parts.net))

    def _numbers(self, of_grade: Sequence[Channel]) -> list[Channel]:
        """List the numbers that stand for what no meter of a grade reads by itself: a number has no grade of
        its own, and takes that of what it is subtracted from.
        """
        read = {channel.component for channel in of_grade}
        return [channel for channel in self.powers if channel.is_stated and channel.component not in read]

    def _diskless(self, modelled: Sequence[Channel]) -> frozenset[str]:
        """Name the clients that hold data beside servers on disks that no model has: their modelled watts
        lack something.
        """
        having = {channel.host for channel in modelled if channel.component == DISKS}
        return self.roles.storing & ({channel.host for channel in modelled} - having)

    def _packages(self, hosts: frozenset[str]) -> Signed:
        """Return the packages (RAPL) of hosts, all of which are known; () if one is missing."""
        packages = [
            channel
            for channel in self.powers
            if channel.grade == "component" and channel.component.startswith("package") and channel.host
        ]
        counters = [
            channel
            for channel in packages
            if channel.host in hosts and channel.quantity == "energy" and self.represents(channel)
        ]
        return (
            tuple((1, channel) for channel in counters)
            if frozenset(channel.host for channel in counters) == hosts
            else ()
        )

    def disks(self) -> BoundaryParts | None:
        """Choose the first meter, best grade first, that has the disks of all hosts with data; None if no
        meter has.

        Hosts of other roles count if they have metered disks.
        """
        disks = [
            channel
            for channel in self.powers
            if channel.component == DISKS and frozenset() < _of(channel) <= self.roles.servers
        ]
        disks = [channel for channel in disks if channel.grade in DISK_GRADES and self.represents(channel)]
        for place, meter in sorted({(DISK_GRADES.index(channel.grade), channel.meter) for channel in disks}):
            of_meter = [
                channel for channel in disks if (channel.grade, channel.meter) == (DISK_GRADES[place], meter)
            ]
            by_hosts = {
                _of(channel): channel
                for channel in sorted(of_meter, key=lambda channel: channel.quantity == "energy")
            }  # a counter is better
            covered = frozenset[str]().union(*by_hosts)
            once = sum(map(len, by_hosts)) == len(covered)  # no disk is in two channels
            if once and self.roles.holders <= covered and all(map(self._known, by_hosts.values())):
                return BoundaryParts(
                    meter, DISK_GRADES[place], tuple((1, channel) for channel in by_hosts.values())
                )
        return None

    def _known(self, channel: Channel) -> bool:
        if self.headline is None:
            return True
        return (
            amount(self.headline.series[channel], self.headline.began_s, self.headline.ended_s).value
            is not None
        )

    def single(self) -> Iterator[Channel]:
        """Choose a quantity of each measured part of a host; modelled parts are left out."""
        parts = [
            channel
            for channel in self.powers
            if channel.host in self.roles.hosts and channel.component not in WHOLE
        ]
        parts = [channel for channel in parts if channel.grade != "modelled" and self.represents(channel)]
        yield from one_quantity(parts, self._wrong_ratio)

    def comparable(self) -> Iterator[Channel]:
        """Choose a quantity of each channel that may be compared with others of the same devices."""
        powers = [
            channel
            for channel in self.powers
            if channel.semantics != "state" and channel.grade in (*REAL, "simulated")
        ]
        yield from one_quantity(
            [channel for channel in powers if self.represents(channel)], self._wrong_ratio
        )


def _better(energy: Boundaries, before_it: Boundaries) -> bool:
    budget, other_budget = energy.net or energy.gross, before_it.net or before_it.gross
    if (
        budget is None
        or other_budget is None
        or (energy.net is None) != (before_it.net is None)
        or (energy.gross is None) != (before_it.gross is None)
    ):
        return False
    return (
        not set(budget.unknown) - set(other_budget.unknown)
        and 0 < budget.expanded_j < other_budget.expanded_j / 2
    )


def parts_of(
    grade: str, channels: Sequence[Channel], cluster: frozenset[str], host_names: frozenset[str]
) -> BoundaryParts:
    """Find the channels of one grade that make up hosts' boundaries; `cluster` as in `coverage.items`."""
    return _parts_of(grade, tuple(channels), cluster, host_names)


@lru_cache  # the trials of a campaign have the same
def _parts_of(
    grade: str, channels: tuple[Channel, ...], cluster: frozenset[str], host_names: frozenset[str]
) -> BoundaryParts:
    metered = any(channel.component == SWITCH or SWITCH in channel.covers for channel in channels)
    switched = grade != "simulated" or metered  # a waveform has no switch in it
    among = items(channels, cluster, switch=switched)
    meter = "+".join(sorted({channel.meter for channel in channels}))
    hosts = devices_of(host_names, channels)
    net, gross = cover(hosts, among), cover(hosts | {SWITCH} if switched else hosts, among)
    disks = frozenset(device for device in hosts if device.endswith(f"/{DISKS}"))
    boards = cover(hosts - disks, among) if disks else ()
    if net or gross:
        return BoundaryParts(meter, grade, net, gross, boards, host_names)
    covered = frozenset(device for item in among for device in item.devices)
    missing = sorted({device.partition("/")[0] for device in hosts - covered})
    unmetered = METERS.unmetered(meter=meter, hosts=", ".join(missing))
    return BoundaryParts(meter, grade, doubts=(unmetered if missing else METERS.inseparable(meter=meter),))


def _of(channel: Channel) -> frozenset[str]:
    """Name the hosts of a part's channel."""
    return frozenset([channel.host] if channel.host else channel.covers)
