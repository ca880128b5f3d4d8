"""Meters on their own, without a campaign: to watch, to test, to record for later, to serve."""

import threading
from array import array
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from perjoule.model import Channel, Series
from perjoule.protocols import Hosts, Meter, Sink

Latest = Mapping[Channel, tuple[float, float, float]]


class Memory(Sink):
    """Keeps every sample, or the last so many of each channel, and counts them."""

    def __init__(self, most_count: int | None = None) -> None:
        self._lock, self._most_count = threading.Lock(), most_count
        self._samples: dict[Channel, array[float]] = {}

    def append(self, channel: Channel, t_s: float, value: float, duration_s: float = 0.0) -> None:
        """Take one sample."""
        with self._lock:
            kept = self._samples.setdefault(channel, array("d"))
            kept.extend((t_s, duration_s, value))
            if self._most_count is not None and len(kept) > 6 * self._most_count:
                del kept[: len(kept) - 3 * self._most_count]

    def latest(self) -> Latest:
        """Give the last sample of each channel: t_s, value, duration_s."""
        with self._lock:
            return {channel: (kept[-3], kept[-1], kept[-2]) for channel, kept in self._samples.items()}

    def series(self) -> tuple[Series, ...]:
        """Give what was kept, ordered by the channels' names."""
        with self._lock:
            tables = {channel: np.array(kept).reshape(-1, 3) for channel, kept in self._samples.items()}
        found = [Series(channel, *(table[:, n].copy() for n in range(3))) for channel, table in tables.items()]
        return tuple(sorted(found, key=lambda s: s.channel.name))


@contextmanager
def recording(meters: Sequence[Meter], sink: Sink) -> Generator[list[list[str]]]:
    """Have meters stream into a sink while the block runs; give each one's doubts, complete when it has ended.

    There are no hosts: what a meter covers is taken as it is written.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(meter.record(Hosts(()), sink)) for meter in meters]
