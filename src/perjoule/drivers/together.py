"""Several meters at once, each with channels of its own."""

import threading
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from math import nan

from perjoule.drivers.protocols import Hosts, Meter, Sink
from perjoule.model import Channel
from perjoule.model.errors import CampaignError

ADVICE = "say in covers what each feeds (only if both measure the same devices, give one a name)"


@contextmanager
def recording(meters: Iterable[Meter], hosts: Hosts, sink: Sink) -> Generator[tuple[Sequence[str], ...]]:
    """Stream meters to a sink during the block; yields the doubts of each, complete when it has ended.

    Raises:
        CampaignError: two of them have samples of one channel, which would mix readings of two devices.
    """
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
