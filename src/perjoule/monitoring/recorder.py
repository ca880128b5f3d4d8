"""Meters without a campaign: to watch, to test, to record for later, to serve."""

import threading
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import nan
from typing import TypeVar

import numpy as np

from perjoule import drivers
from perjoule.drivers import together
from perjoule.drivers.protocols import Hosts, Meter, Sink
from perjoule.model import SAMPLE, Channel, Json, Series

ASKED_COUNT = 16  # addresses at once

T = TypeVar("T")
U = TypeVar("U")
Latest = Mapping[Channel, tuple[float, float, float]]


class Memory(Sink):
    """Keeps every sample, or the last ones of each channel, and counts them."""

    def __init__(self, most_count: int | None = None) -> None:
        self._lock, self._most_count = threading.Lock(), most_count
        self._samples: dict[Channel, array[float]] = {}

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        """Take one sample."""
        with self._lock:
            row = self._samples.setdefault(channel, array("d"))
            row.extend((t_s, duration_s, value, asked_s, arrived_s))
            if self._most_count is not None and len(row) > 2 * len(SAMPLE) * self._most_count:
                del row[: len(row) - len(SAMPLE) * self._most_count]

    def latest(self) -> Latest:
        """Return the last sample of each channel: t_s, value, duration_s."""
        with self._lock:
            last = {channel: row[-len(SAMPLE) :] for channel, row in self._samples.items()}
        return {channel: (t_s, value, duration_s) for channel, (t_s, duration_s, value, *_) in last.items()}

    def series(self) -> tuple[Series, ...]:
        """Return the kept samples, ordered by the channels' names."""
        with self._lock:
            tables = {
                channel: np.array(row).reshape(-1, len(SAMPLE)) for channel, row in self._samples.items()
            }
        all_series = [Series.of_rows(channel, table) for channel, table in tables.items()]
        return tuple(sorted(all_series, key=lambda s: s.channel.name))


@contextmanager
def recording(meters: Sequence[Meter], sink: Sink) -> Generator[tuple[Sequence[str], ...]]:
    """Stream meters into a sink during the block; yields each one's doubts, complete when it has ended.

    There are no hosts: what a meter covers is taken literally.
    """
    with together.recording(meters, Hosts(()), sink) as doubts:
        yield doubts


def discovered(addresses: Sequence[str]) -> Mapping[str, Sequence[Mapping[str, Json]]]:
    """Find meters on this machine (""), then at each address: the options of complete [[meter]] tables, each once.

    All addresses are queried at once, and each by one kind after the other, because plugs and instruments
    accept few connections.
    """
    classes = [drivers.meter_class(kind) for kind in drivers.usable("meters")]

    def at(places: Sequence[str]) -> list[Mapping[str, Json]]:
        return [table for options in classes for table in options.discover(places)]

    places = ("", *dict.fromkeys(addresses))
    here, *elsewhere = (
        [table for n, table in enumerate(tables) if table not in tables[:n]]
        for tables in at_once(at, [(place,) if place else () for place in places])
    )
    there_alone = [[table for table in tables if table not in here] for tables in elsewhere]
    return dict(zip(places, [here, *there_alone], strict=True))


def at_once(ask: Callable[[T], U], places: Sequence[T]) -> list[U]:
    """Query several places at once, in threads that do not delay the program's end."""
    waiting, answers, failures = list(enumerate(places)), dict[int, U](), list[Exception]()

    def work() -> None:
        while waiting:
            with suppress(IndexError):  # another thread was quicker
                number, place = waiting.pop(0)
                try:
                    answers[number] = ask(place)
                except Exception as error:
                    failures.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(ASKED_COUNT, len(places)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [answers[number] for number in range(len(places))]
