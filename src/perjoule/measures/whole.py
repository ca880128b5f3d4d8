"""The power of a benchmark in all, with the pools that it made before its loads and deleted after them.

A paper's mean may be over more than its loads. Lowest and highest are those of the power between two samples.
"""

from typing import TYPE_CHECKING

from perjoule.model import Number, Numbers
from perjoule.model.metrics import NET, POOLS, Metric, W

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perjoule.energy.coverage import Signed
    from perjoule.trial.load import Load

_SPAN = "while a benchmark made its pools, loaded and deleted them"
MEAN = Metric("{boundary}whole_w", "W of all", W, f"mean power of {{boundary}} {_SPAN}", "lower", energy=True)
LOWEST = Metric("{boundary}whole_lowest_w", "lowest W", W, "its lowest sample", "lower", energy=True)
HIGHEST = Metric("{boundary}whole_highest_w", "highest W", W, "its highest sample", "lower", energy=True)
METRICS = (MEAN, LOWEST, HIGHEST)


def measure(load: "Load") -> Numbers:
    """Return the power in all, once for a trial: beside its first load; nothing if no pools were made."""
    outcome = load.record.outcome
    if outcome is None or not outcome.measured.get(POOLS) or load.direction != outcome.results[0].direction:
        return Numbers()
    span = next(phase for phase in load.record.phases if phase.name == "measure")
    numbers: dict[str, float] = {}
    for boundary, channels in _boundaries(load, span.began_s, span.ended_s):
        numbers |= _powers(load, boundary, channels, span.began_s, span.ended_s)
    return Numbers({key: Number(value) for key, value in numbers.items()})


def _boundaries(load: "Load", began_s: float, ended_s: float) -> "Iterator[tuple[str, Signed]]":
    """Give what is metered of the servers: in all, without their disks, and the disks."""
    reading = load.reading
    if (parts := reading.servers(began_s, ended_s).parts) is not None:
        yield NET, parts.net
        yield "controller", parts.boards
    if reading.metering.disks:
        yield "device", reading.metering.disks.net


def _powers(
    load: "Load", boundary: str, channels: "Signed", began_s: float, ended_s: float
) -> dict[str, float]:
    """Return the mean, lowest and highest power of a boundary. Power is the same in emulated time."""
    from perjoule.trial.timeline import signed_w

    numbers: dict[str, float] = {}
    if (drawn_j := load.reading.drawn_j(channels, began_s, ended_s)) is not None:
        numbers[MEAN.of(boundary).key] = drawn_j / (ended_s - began_s)
    watts = signed_w(load.reading, channels, began_s, ended_s)
    known_w = watts[watts == watts]  # NaN is not known
    if len(known_w):
        numbers[LOWEST.of(boundary).key] = float(known_w.min())
        numbers[HIGHEST.of(boundary).key] = float(known_w.max())
    return numbers
