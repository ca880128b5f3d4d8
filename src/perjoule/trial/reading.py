"""A trial as it is read, once: its loads and their windows, its channels, and its emulated time.

On a testbed of scale s everything is 1/s times slower than on the emulated one: a second is s emulated
seconds, watts stay the same, so a joule is s emulated joules. Ratios per byte and CPU seconds count work and
are not dilated. Only here, wall time becomes emulated time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from perjoule.energy.baseline import IdlePower, idle, idle_windows
from perjoule.energy.choosing import ChosenChannels, Headline, Roles
from perjoule.energy.coefficients import ModelledHosts
from perjoule.energy.coverage import Signed, SignedSeries
from perjoule.energy.hosts import cluster_names, data_hosts, loading, roles, server_names
from perjoule.energy.metering import Metering
from perjoule.energy.power import Boundaries, BoundaryParts, added, energy
from perjoule.energy.samples import Floats
from perjoule.model import Channel, ClientResult, Direction, Quantity, Record, Series
from perjoule.model.doubts import Doubt
from perjoule.trial.counted_twice import counted_twice
from perjoule.trial.counters import Total, total
from perjoule.trial.windows import Windows, windows

T = TypeVar("T", float, Floats)


@dataclass(frozen=True)
class Dilation:
    """How wall time becomes the emulated time of a testbed."""

    scale: float = 1.0

    def emulated(self, wall: T) -> T:
        """Return seconds or joules of the emulated cluster, one or shape (N,)."""
        return wall * self.scale

    def wall(self, emulated: float) -> float:
        """Return seconds of the wall clock."""
        return emulated / self.scale

    @property
    def text(self) -> str:
        """The scale of an emulated cluster, "scale 0.2"; "" where the clocks agree."""
        return "" if self.scale == 1 else f"scale {self.scale:g}"


@dataclass(frozen=True, eq=False)
class Reading:
    """A record and its series. `chosen_by` is the window that chooses channels, if it is not that of the
    longest load.
    """

    record: Record
    series: Sequence[Series] = ()
    chosen_by: tuple[float, float] | None = None

    @cached_property
    def dilation(self) -> Dilation:
        """Wall time to emulated time."""
        return Dilation(self.record.scale)

    @cached_property
    def loads(self) -> Mapping[Direction, Sequence[ClientResult]]:
        """Client results by point: a direction, or all users together. Empty for a failed trial."""
        if self.record.status != "valid" or self.record.outcome is None:
            return {}
        results = self.record.outcome.results
        results_of: dict[Direction, list[ClientResult]] = {}
        for result in sorted(results, key=lambda r: r.direction == "read"):
            results_of.setdefault(result.direction, []).append(result)
        for direction, loaded in tuple(results_of.items()):
            if direction != "idle" and not any(r.moved_bytes or r.operations_count for r in loaded):
                del results_of[direction]
        if results_of and any(r.user for r in results):
            return {"mixed" if len(results_of) > 1 else next(iter(results_of)): results}
        return results_of

    @cached_property
    def windows(self) -> Mapping[Direction, Windows]:
        """The windows of each point."""
        return {direction: windows(self.record, results) for direction, results in self.loads.items()}

    @cached_property
    def span(self) -> Windows:
        """The windows of all loads of a valid trial together."""
        assert self.record.outcome is not None
        return windows(self.record, self.record.outcome.results)

    @cached_property
    def metering(self) -> Metering:
        """The choice of channels, by the longest load's headline window."""
        longest = max(self.windows.values(), key=lambda span: span.length_s, default=None)
        span = self.chosen_by or (longest and (longest.began_s, longest.ended_s))
        headline = Headline(self._of, *span, self.added) if span else None
        return Metering.of(self._roles, self._of.keys(), headline)

    @cached_property
    def _of(self) -> Mapping[Channel, Series]:
        return {series.channel: series for series in self.series}

    @cached_property
    def _by_quantity(self) -> Mapping[Quantity, Sequence[Series]]:
        by_quantity: dict[Quantity, list[Series]] = {}
        for series in self.series:
            by_quantity.setdefault(series.channel.quantity, []).append(series)
        return by_quantity

    @cached_property
    def _roles(self) -> Roles:
        role_of = {host.name: host.role for host in self.record.hosts}
        hosts, servers = frozenset(role_of), server_names(self.record)
        loaded = loading(self.record) & hosts
        clients = frozenset(name for name, role in role_of.items() if role == "client")
        return Roles(
            servers=servers,
            clients=loaded - servers,
            shared=loaded & servers,
            cluster=cluster_names(self.record),
            hosts=hosts,
            holders=data_hosts(self.record),
            storing=clients & servers if clients != hosts else frozenset(),
            by_role=tuple(roles(self.record).items()) if "idle" in self.loads else (),
            at_scale=self.dilation.text,
        )

    @cached_property
    def powers(self) -> tuple[Channel, ...]:
        """The channels of power and energy."""
        return tuple(channel for channel in self._of if channel.quantity in ("power", "energy"))

    @cached_property
    def counted_twice(self) -> tuple[Doubt, ...]:
        """Doubts about meters that show the same watts."""
        return counted_twice(self._of, self._roles.cluster)

    def series_of(self, channel: Channel) -> Series:
        """Return the series of a channel."""
        return self._of[channel]

    def by_host(self, quantity: Quantity) -> Mapping[str, Series]:
        """Return the series of a quantity, by host."""
        return {channel.host: series for channel, series in self._of.items() if channel.quantity == quantity}

    def total(self, quantity: Quantity, hosts: frozenset[str], began_s: float, ended_s: float) -> Total:
        """Add up a counter over hosts in a window; None (without a doubt) if one of them lacks it."""
        return total(self._by_quantity.get(quantity, ()), quantity, hosts, began_s, ended_s)

    def signed(self, channels: Signed) -> SignedSeries:
        """Return the series of channels."""
        return tuple((sign, self._of[channel]) for sign, channel in channels)

    def drawn_j(self, channels: Signed, began_s: float, ended_s: float) -> float | None:
        """Return the energy of channels in a window, in wall time, with what idle time beside it says; None
        without channels, or if one is refused.
        """
        drawn = energy(self.signed(channels), began_s, ended_s, idle_windows(self.record))
        return None if drawn is None else drawn.value_j

    def energy(self, choice: ChosenChannels, began_s: float, ended_s: float) -> Boundaries:
        """Return the energy of chosen channels in a window, in wall time; without any, or if they are
        refused, the doubts.
        """
        if choice.parts is None:
            return Boundaries(doubts=choice.doubts)
        energy = self.added(choice.parts, began_s, ended_s)
        return replace(energy, doubts=tuple(dict.fromkeys((*energy.doubts, *choice.doubts))))

    @cached_property
    def modelled(self) -> ModelledHosts:
        """The hosts as the model of watts has them."""
        return ModelledHosts(self.record, self.series)

    def added(self, parts: BoundaryParts, began_s: float, ended_s: float) -> Boundaries:
        """Add up channels in a window, in wall time: several measures ask for the same ones."""
        key = (parts, began_s, ended_s)
        if key not in self._added:
            self._added[key] = added(self.modelled, self._of, *key)
        return self._added[key]

    @cached_property
    def _added(self) -> dict[tuple[BoundaryParts, float, float], Boundaries]:
        return {}

    def idle(self, channels: Signed) -> IdlePower | None:
        """Return the idle power of channels in wall time; None if it is not known."""
        if channels not in self._idle:
            self._idle[channels] = idle(self.record, self.signed(channels))
        return self._idle[channels]

    @cached_property
    def _idle(self) -> dict[Signed, IdlePower | None]:
        return {}

    def servers(self, began_s: float, ended_s: float) -> Boundaries:
        """Return the energy of the servers in a window, in wall time."""
        return self.energy(self.metering.servers, began_s, ended_s)


def emulated_scales(records: Iterable[Record]) -> tuple[float, ...]:
    """Return the scales of those that ran on emulated clusters."""
    return tuple(sorted({record.scale for record in records if record.hosts and record.scale != 1}))
