"""Several meters at once, each with channels of its own, and no watt in two."""

import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from math import nan

from perjoule.drivers.boundary import SWITCH
from perjoule.drivers.protocols import Hosts, Meter, Outlet, Sink
from perjoule.model import Channel
from perjoule.model.errors import CampaignError

ADVICE = "say in covers what each feeds (only if both measure the same devices, give one a name)"
ONCE = "name in covers of each all that it feeds, or correct what each reads"


@dataclass(frozen=True)
class Clash:
    """Two outlets that would fill one channel, or count the same watts twice, with the places of their
    meters.
    """

    places: tuple[int, int]
    outlets: tuple[Outlet, Outlet]

    @property
    def _twice(self) -> str:
        """How the same watts would count twice; "" if they would be mixed instead."""
        first, second = self.outlets
        if first.mixes(second):
            return ""
        if first.source == second.source:
            return "both read the same"
        whole, part = sorted(self.outlets, key=lambda outlet: len(outlet.source))
        return f"the one of {whole.feeds} includes the one of {part.feeds}"

    @property
    def what(self) -> str:
        """What is wrong."""
        first, second = self.outlets
        if self._twice:
            of = " ".join(min(first.source, second.source, key=len))
            feeds = f"of {first.feeds} and of {second.feeds}"
            return f"two meters {feeds} would count the same watts twice: {self._twice} ({of})"
        if first.part and self.places[0] == self.places[1]:
            return f"{first.part} and {second.part} feed the same ({first.feeds})"
        return first.clash or (
            f"two meters of one name feed the same ({first.feeds}), so that readings of two devices would be mixed"
        )

    @property
    def advice(self) -> str:
        """What to do about it."""
        first, second = self.outlets
        if self._twice:
            return first.advice or ONCE
        if first.part and self.places[0] == self.places[1]:
            return f"say in {second.option} what each feeds"
        return first.advice or ADVICE


def clash(meters: Sequence[Meter], hosts: Hosts) -> Clash | None:
    """Find the first two outlets that would fill one channel, or count the same watts twice.

    Raises CampaignError: a meter names a host that is not there.
    """
    outlets = [(place, outlet) for place, meter in enumerate(meters) for outlet in meter.outlets(hosts)]
    for n, (place, outlet) in enumerate(outlets):
        for before, earlier in outlets[:n]:
            if earlier.mixes(outlet) or earlier.counts_again(outlet) or outlet.counts_again(earlier):
                return Clash((before, place), (earlier, outlet))
    return None


@contextmanager
def recording(meters: Iterable[Meter], hosts: Hosts, sink: Sink) -> Generator[tuple[Sequence[str], ...]]:
    """Stream meters to a sink during the block; yields the doubts of each, complete when it has ended.

    Raises:
        CampaignError: two of them feed the same, or have samples of one channel, which would mix readings of
            two devices.
    """
    meters = list(meters)
    if (found := clash(meters, hosts)) is not None:
        meter = found.outlets[1].channel.partition(":")[0]
        raise CampaignError(found.what, where=f"meter {meter}", next=found.advice)
    feeds = {outlet.feeds for meter in meters for outlet in meter.outlets(hosts)}
    hosts = replace(hosts, switch=SWITCH in feeds)
    owners: dict[str, _Own] = {}
    lock = threading.Lock()
    with ExitStack() as stack:
        yield tuple(stack.enter_context(meter.record(hosts, _Own(sink, owners, lock))) for meter in meters)


class _Own(Sink):
    """The sink of one of several meters."""

    def __init__(self, sink: Sink, owners: "dict[str, _Own]", lock: threading.Lock) -> None:
        self._sink, self._owners, self._lock = sink, owners, lock
        self._channels: set[Channel] = set()

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        """Take one sample. Raises CampaignError: another meter has this channel."""
        if channel not in self._channels:
            self._claim(channel)
        self._sink.append(channel, t_s, value, duration_s, asked_s, arrived_s)

    def _claim(self, channel: Channel) -> None:
        with self._lock:
            owner = self._owners.setdefault(channel.name, self)
        if owner is not self:
            fault = (
                f"two meters have samples of {channel.name}, so that readings of two devices would be mixed"
            )
            raise CampaignError(fault, where=f"meter {channel.meter}", next=ADVICE)
        self._channels.add(channel)
