"""Overlap of clients: for how much of the time all load, and what they move meanwhile.

A trial of N clients is one of N clients only while all of them load. The overlap is the time from the last
client's start to the first client's end, over the whole window (0 if they share no moment). Below
`DOUBTED_RATIO` the window is that of stragglers, which is a doubt; below `REFUSED_RATIO` no rate of all
clients together is meaningful, and all are refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perjoule.energy.efficiency import network_bytes_per_s, peak_bytes_per_s
from perjoule.energy.hosts import data_hosts
from perjoule.model import ClientResult, Numbers, Quantity
from perjoule.model.doubts import APART, Doubt
from perjoule.model.metrics import MIB_PER_S, Metric

if TYPE_CHECKING:
    from perjoule.trial.load import Load
    from perjoule.trial.reading import Reading

COMMON = Metric("common_throughput_bytes_per_s", "common MiB/s", MIB_PER_S, "bytes moved while all clients ran / that time",
                "higher", together=True)  # fmt: skip
METRICS = (COMMON,)

DOUBTED_RATIO = 2 / 3
# by which a log's bytes may differ from those moved: a window may cut its first and last sample
CONSERVED_RATIO = 0.05
BOUND_RATIO = 1.02  # caps are kept to 2 %
SPREAD_RATIO = 0.05
UNEVEN_RATIO = 1.5  # times its even share, from which a host's share of the bytes explains why clients wait
STALL_RATIO = 0.2  # of the window, from which a stall explains why a client was late


def measure(load: "Load") -> Numbers:
    """Return the throughput while all clients ran."""
    rate = common_rate(load)
    return Numbers() if rate is None else Numbers.plain({COMMON.key: rate})


def common_rate(load: "Load") -> float | None:
    """Return the throughput while all clients ran: bytes from the last start to the first end, over that
    time, in emulated time.

    A byte counts when its write or read call returned. None if a client has no log, a log does not add up to
    its client's bytes, or the rate is above what clients or servers can carry: then caches took bytes, and
    moved them later.
    """
    from perjoule.energy.amount import amount

    record, results = load.record, load.results
    assert record.outcome is not None
    if len({r.direction for r in record.outcome.results}) > 1:
        return None  # a client's goodput is of both directions together
    if any(r.user for r in results) or not load.together:
        return None
    began_s, ended_s = max(r.began_s for r in results), min(r.ended_s for r in results)
    logged = load.reading.by_host("goodput")
    common_bytes = 0.0
    for result in results:
        if result.host not in logged:
            return None
        log_bytes, shared = (
            amount(logged[result.host], *span).value
            for span in ((result.began_s, result.ended_s), (began_s, ended_s))
        )
        if (
            log_bytes is None
            or shared is None
            or abs(log_bytes - result.moved_bytes) > CONSERVED_RATIO * result.moved_bytes
        ):
            return None
        common_bytes += shared
    rate = common_bytes / load.emulated(ended_s - began_s)
    limits = (peak_bytes_per_s(record), network_bytes_per_s(record, [r.host for r in results]))
    return None if any(limit and rate > BOUND_RATIO * limit for limit in limits) else rate


def doubts(reading: "Reading") -> Iterator[Doubt]:
    """Name the clients that did not load together; several users come and go on purpose and have doubts of
    their own.
    """
    outcome = reading.record.outcome
    results = outcome.results if outcome else ()
    if any(r.user for r in results):
        return
    for direction in ("write", "read"):
        clients = [r for r in results if r.direction == direction]
        if len(clients) > 1:
            yield from _apart(clients, reading)


def _apart(clients: Sequence[ClientResult], reading: "Reading") -> Iterator[Doubt]:
    spread_s = max(r.began_s for r in clients) - min(r.began_s for r in clients)
    shortest_s = min(r.ended_s - r.began_s for r in clients)
    if spread_s > SPREAD_RATIO * shortest_s:
        yield APART.starts(spread_s=spread_s, shortest_s=shortest_s)
    from perjoule.trial.load import REFUSED_RATIO, overlap_ratio

    overlap = overlap_ratio(clients)
    if overlap < DOUBTED_RATIO:
        first, last = min(clients, key=lambda r: r.ended_s), max(clients, key=lambda r: r.ended_s)
        yield APART.little_overlap(
            overlap_ratio=overlap,
            refused=overlap < REFUSED_RATIO,
            host=last.host,
            later_s=last.ended_s - first.ended_s,
            client=first.host,
            signs="; ".join((*_stalled(last, reading), *_uneven(clients, reading))),
        )


def _stalled(result: ClientResult, reading: "Reading") -> Iterator[str]:
    """Return for how long a client moved nothing, by its own log."""
    if (log := reading.by_host("goodput").get(result.host)) is not None:
        inside = (log.t_s > result.began_s) & (log.t_s <= result.ended_s) & (log.value == 0)
        stalled_s = float(log.duration_s[inside].sum())
        if stalled_s >= STALL_RATIO * (result.ended_s - result.began_s):
            yield f"it transferred nothing for {stalled_s:.3g} s"


def _uneven(clients: Sequence[ClientResult], reading: "Reading") -> Iterator[str]:
    """Name a data host that served far more than its even share."""
    served = served_bytes(clients, reading)
    if len(served) < 2:
        return
    busiest = max(served, key=lambda host: served[host])
    share = served[busiest] / sum(served.values())
    if share * len(served) >= UNEVEN_RATIO:
        verb = "received" if clients[0].direction == "write" else "sent"
        even = f"an even share of {len(served)} hosts is {100 / len(served):.0f} %"
        yield f"{busiest} {verb} {100 * share:.0f} % of the bytes, where {even}"


def served_bytes(results: Sequence[ClientResult], reading: "Reading") -> Mapping[str, float]:
    """Return what each data host without a load received (write) or sent (read) while one direction's clients
    loaded.

    Empty if a counter is missing, or all are 0.
    """
    from perjoule.energy.amount import amount

    quantity: Quantity = "network_received" if results[0].direction == "write" else "network_sent"
    span = min(r.began_s for r in results), max(r.ended_s for r in results)
    hosts = data_hosts(reading.record) - {r.host for r in results}
    moved = {host: amount(s, *span).value for host, s in reading.by_host(quantity).items() if host in hosts}
    known_bytes = {host: value for host, value in moved.items() if value is not None}
    return known_bytes if known_bytes.keys() == hosts and any(known_bytes.values()) else {}
