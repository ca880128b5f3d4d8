"""Data hosts that were far slower than the others: they set the pace of all.

Two signs name such a host ("Stragglers" in docs/explanations/how-numbers-are-made.md defines them). Which of
them shows depends on the file system: a host that serves files or chunks of its own takes longer; where every
request waits for several hosts, only the slow one is busy all the time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perjoule.energy.hosts import data_hosts, loading
from perjoule.model import ClientResult, Quantity, Series
from perjoule.model.doubts import SLOW_HOST, Doubt
from perjoule.model.units import seconds_text
from perjoule.trial.windows import Windows, windows

if TYPE_CHECKING:
    from perjoule.trial.reading import Reading

LEAST_S = 1.0  # five readings of counters at their usual rate: shorter differences say nothing
WORK_RATIO = 0.1  # of the bytes of the host with the most: who moved less had next to nothing to do
DATA_RATIO = 0.5  # of the users' bytes: if counters saw less, caches or metadata were at work
MOST_RATIO = 0.9  # of a host's bytes, by which it is judged how long they took
LONGER_FACTOR = 2.0  # times as long as the others
AT_WORK_RATIO = 0.5  # of the window, for which a host that takes longer is at work
BUSY_RATIO, COSTLY_FACTOR = 0.9, 3.0  # of the time; times the others' busy seconds per byte

_MOVED: Mapping[str, tuple[tuple[Quantity, str], ...]] = {
    "write": (("network_received", "receiving"), ("disk_written", "writing to its disks")),
    "read": (("network_sent", "sending"), ("disk_read", "reading from its disks")),
}


@dataclass(frozen=True)
class HostWork:
    """What a host did in a window: its bytes, and the time that most of them took."""

    moved_bytes: float
    took_s: float


def work(counter: Series, began_s: float, ended_s: float) -> HostWork | None:
    """Return the work that a counter of bytes shows in a window; None if samples are missing or nothing was
    moved.

    Between two readings, bytes are spread evenly. `took_s` is the least time in which 90 % of the bytes were
    moved, so pauses, in which others serve, do not count.
    """
    import numpy as np

    from perjoule.energy.amount import LEAST_COVERAGE_RATIO
    from perjoule.energy.integral import integral

    inside = (counter.t_s > began_s) & (counter.t_s < ended_s) & np.isfinite(counter.value)
    edges_s = np.concatenate(([began_s], counter.t_s[inside], [ended_s]))
    upto, covered_s = integral(counter).until(edges_s)
    moved, length_s = np.diff(upto), np.diff(edges_s)
    total_bytes = float(upto[-1] - upto[0])
    if covered_s[-1] - covered_s[0] < LEAST_COVERAGE_RATIO * (ended_s - began_s) or total_bytes <= 0:
        return None
    fastest = np.argsort(-moved / length_s, kind="stable")
    sums, times_s = (np.concatenate(([0.0], np.cumsum(column[fastest]))) for column in (moved, length_s))
    return HostWork(total_bytes, float(np.interp(MOST_RATIO * total_bytes, sums, times_s)))


def doubts(reading: "Reading") -> Iterator[Doubt]:
    """Name each data host that was far slower than the others, with what shows it; several users come and
    go on purpose.
    """
    outcome = reading.record.outcome
    results = outcome.results if outcome else ()
    if any(r.user for r in results):
        return
    for direction, counters in _MOVED.items():
        if moved := [r for r in results if r.direction == direction]:
            yield from _named(reading, counters, moved)


def _named(
    reading: "Reading", counters: Sequence[tuple[Quantity, str]], results: Sequence[ClientResult]
) -> Iterator[Doubt]:
    span = windows(reading.record, results)
    signs_of: dict[str, list[str]] = {}
    for quantity, verb in counters:
        works = _works(reading, quantity, results, span)
        if len(works) > 1:
            for host, sign in (*_longer(works, span, verb), *_busy(works, span, reading, quantity)):
                signs_of.setdefault(host, []).append(sign)
    for host in sorted(signs_of):
        yield SLOW_HOST.straggler(host=host, signs="; ".join(signs_of[host]))


def _works(
    reading: "Reading", quantity: Quantity, results: Sequence[ClientResult], span: Windows
) -> Mapping[str, HostWork]:
    """Return the work of the data hosts that had some; of none if a counter is missing, or hardly saw the
    load.
    """
    names = data_hosts(reading.record) - loading(reading.record)
    counters = {host: s for host, s in reading.by_host(quantity).items() if host in names}
    worked = {
        host: shown_work
        for host in sorted(counters)
        if (shown_work := work(counters[host], span.began_s, span.ended_s))
    }
    whole_bytes = sum(shown_work.moved_bytes for shown_work in worked.values())
    if (
        counters.keys() != names
        or not worked
        or whole_bytes < DATA_RATIO * sum(r.moved_bytes for r in results)
    ):
        return {}
    most_bytes = max(shown_work.moved_bytes for shown_work in worked.values())
    return {
        host: shown_work
        for host, shown_work in worked.items()
        if shown_work.moved_bytes >= WORK_RATIO * most_bytes
    }


def _longer(works: Mapping[str, HostWork], span: Windows, verb: str) -> Iterator[tuple[str, str]]:
    usual_s = medians_of_others({host: host_work.took_s for host, host_work in works.items()})
    usual_bytes = medians_of_others({host: host_work.moved_bytes for host, host_work in works.items()})
    for host, host_work in works.items():
        fair_s = usual_s[host] * max(1.0, host_work.moved_bytes / usual_bytes[host])
        if host_work.took_s >= max(LONGER_FACTOR * fair_s, fair_s + LEAST_S, AT_WORK_RATIO * span.length_s):
            yield (
                host,
                f"{verb} took it {seconds_text(host_work.took_s)}, the others {seconds_text(usual_s[host])}",
            )


def _busy(
    works: Mapping[str, HostWork], span: Windows, reading: "Reading", quantity: Quantity
) -> Iterator[tuple[str, str]]:
    """Compare how long hosts were busy for a byte: their disks for bytes on disks, their CPUs for bytes in
    the network.
    """
    from perjoule.energy.amount import amount

    of: Quantity = "disk_busy" if quantity.startswith("disk") else "cpu"
    busy_s = {host: amount(s, span.began_s, span.ended_s).value for host, s in reading.by_host(of).items()}
    costs = {
        host: own_s / host_work.moved_bytes
        for host, host_work in works.items()
        if (own_s := busy_s.get(host)) is not None
    }
    if costs.keys() != works.keys():
        return
    cores = {host.name: host.cpu_capacity_cores for host in reading.record.hosts}
    for host, usual in medians_of_others(costs).items():
        capacity = cores.get(host)
        # a daemon may have one thread
        parallel = 1.0 if of == "disk_busy" or capacity is None else min(1.0, capacity)
        own_s = costs[host] * works[host].moved_bytes
        if own_s >= BUSY_RATIO * parallel * span.length_s and costs[host] >= COSTLY_FACTOR * usual:
            times = (
                f"{costs[host] / usual:.2g} times as long per byte as the others'"
                if usual
                else "those of the others never"
            )
            yield (
                host,
                f"its {'disks were' if of == 'disk_busy' else 'CPUs were'} busy for {seconds_text(own_s)}, "
                f"{times}",
            )


def medians_of_others(values: Mapping[str, float]) -> Mapping[str, float]:
    """Return, for each of two hosts or more, the median of all others' values."""
    ordered = sorted(values, key=lambda host: values[host])
    low, high = (len(ordered) - 2) // 2, (len(ordered) - 1) // 2  # the middle of all but one
    without = {
        host: (ordered[low + (place <= low)], ordered[high + (place <= high)])
        for place, host in enumerate(ordered)
    }
    return {host: (values[below] + values[above]) / 2 for host, (below, above) in without.items()}
