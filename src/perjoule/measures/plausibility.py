"""Doubts about a trial: physical bounds, caches, clients that did not run together, slow hosts, an
exhausted machine.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perjoule.energy.efficiency import peak_bytes_per_s
from perjoule.energy.hosts import cores_count, data_hosts, hardware, loaded_servers, roles, served_outside
from perjoule.measures import interference, overlap, stragglers
from perjoule.measures.overlap import BOUND_RATIO
from perjoule.model import ClientResult, Doubt, Numbers
from perjoule.model.doubts import APART, CACHE, MACHINE
from perjoule.model.hardware import Cluster
from perjoule.trial.windows import windows

if TYPE_CHECKING:
    from perjoule.trial.load import Load
    from perjoule.trial.reading import Reading

CACHED_RATIO = 0.9
# of the bytes of a load: RDMA passes the counters of networks by, but for its connections
UNCOUNTED_RATIO = 0.02
BUSY_RATIO = 0.95
LEAST_S = 1e-9  # that divides bytes which took no time


def measure(load: "Load") -> Numbers:
    """Return the doubts about its trial; it has no numbers."""
    return Numbers(doubts=doubts(load.reading))


def doubts(reading: "Reading") -> tuple[Doubt, ...]:
    """Return the doubts about a valid trial; those about meters are in `energy.power`."""
    record = reading.record
    if record.outcome is None or not record.outcome.results:
        return ()
    served = loaded_servers(record)
    return tuple(
        dict.fromkeys(
            [
                *overlap.doubts(reading),
                *stragglers.doubts(reading),
                *_mixed(record.outcome.results),
                *_bounds(reading, [r for r in record.outcome.results if r.host not in served]),
                *_cached(reading, [r for r in record.outcome.results if r.direction == "read"]),
                *_machine(reading),
                *interference.doubts(reading),
            ]
        )
    )


def _mixed(results: Sequence[ClientResult]) -> Iterator[Doubt]:
    """Doubt directions that ran together but are measured separately; several users do so on purpose."""
    if any(r.user for r in results):
        return
    writes, reads = ([r for r in results if r.direction == d] for d in ("write", "read"))
    if any(w.began_s < r.ended_s and r.began_s < w.ended_s for w in writes for r in reads):
        yield APART.mixed()


def _bounds(reading: "Reading", results: Sequence[ClientResult]) -> Iterator[Doubt]:
    record, emulated = reading.record, reading.dilation.emulated
    cluster = hardware(record)
    if cluster is None:
        return
    holders = data_hosts(record)
    yield from _disk_bounds(reading, [r for r in results if r.host in holders], cluster)
    results = [r for r in results if r.host not in holders]
    nics = {n.name: n.board.nic_bytes_per_s.value for n in cluster.nodes}
    node_of = {h.name: h.node for h in record.hosts}
    tpp = peak_bytes_per_s(record)
    for direction in ("write", "read"):
        moved = [r for r in results if r.direction == direction]
        for r in moved:
            rate = _rate(r.moved_bytes, emulated(r.ended_s - r.began_s))
            nic = nics.get(node_of.get(r.host, ""))
            if nic is not None and rate > BOUND_RATIO * nic:
                yield CACHE.above_network(host=r.host, times_ratio=rate / nic, direction=direction)
        if moved and tpp:
            rate = _rate(sum(r.moved_bytes for r in moved), emulated(windows(record, moved).length_s))
            if rate > BOUND_RATIO * tpp:
                yield CACHE.above_peak(direction=direction, times_ratio=rate / tpp)


def _rate(moved_bytes: int, length_s: float) -> float:
    return moved_bytes / max(LEAST_S, length_s)


def _disk_bounds(reading: "Reading", results: Sequence[ClientResult], cluster: Cluster) -> Iterator[Doubt]:
    """Doubt clients with their own data that exceeded their disks, up to the end of the write-back."""
    record = reading.record
    nodes = {n.name: n for n in cluster.nodes}
    of = {h.name: nodes[h.node] for h in record.hosts if h.node in nodes}
    spans = {
        direction: windows(record, [r for r in results if r.direction == direction])
        for direction in {r.direction for r in results}
    }
    for r in (r for r in results if r.host in of):
        disks = of[r.host].disks
        most = sum(
            (d.write_bytes_per_s if r.direction == "write" else d.read_bytes_per_s).value for d in disks
        )
        span = spans[r.direction]
        ended_s = span.ended_s if span.durable else r.ended_s
        rate = _rate(r.moved_bytes, reading.dilation.emulated(ended_s - r.began_s))
        if most and rate > BOUND_RATIO * most:
            yield CACHE.above_disks(host=r.host, above_ratio=rate / most - 1, direction=r.direction)


def _cached(reading: "Reading", reads: Sequence[ClientResult]) -> Iterator[Doubt]:
    from perjoule.trial.counters import window

    record = reading.record
    read_bytes = sum(r.moved_bytes for r in reads)
    # `measures.amplification` compares then, and more closely
    if not read_bytes or record.amplification is not None:
        return
    span = window(record, min(r.began_s for r in reads), max(r.ended_s for r in reads))
    clients = frozenset(r.host for r in reads)
    servers = roles(record).get("servers", frozenset[str]())
    fetched = reading.total("disk_read", servers or clients, *span).value
    from_disks = fetched is not None and fetched >= CACHED_RATIO * read_bytes
    if servers and not loaded_servers(record):
        received = reading.total("network_received", clients, *span).value
        least_bytes = (UNCOUNTED_RATIO if from_disks else 0.0) * read_bytes
        if received is not None and least_bytes <= received < CACHED_RATIO * read_bytes:
            yield CACHE.of_clients(received_ratio=received / read_bytes)

    def is_read(host: str) -> bool:
        return reading.total("disk_read", frozenset([host]), *span).value is not None

    unread = servers and any(map(is_read, clients)) and not any(map(is_read, servers))
    if served_outside(record) or (unread and not record.imported):
        yield CACHE.unread_servers()
    elif fetched is not None and not from_disks:
        yield CACHE.of_servers(fetched_ratio=fetched / read_bytes, servers=bool(servers))


def _machine(reading: "Reading") -> Iterator[Doubt]:
    """Doubt a trial that used up the cores that all hosts share: it measured the machine."""
    record = reading.record
    assert record.outcome is not None
    count = cores_count(record)
    if not record.cluster or count is None or record.traits.reality == "real":
        return  # they have cores of their own
    began_s, ended_s = record.outcome.began_s, record.outcome.ended_s
    used_s = reading.total("cpu", frozenset(h.name for h in record.hosts), began_s, ended_s).value
    available_s = count * (ended_s - began_s)
    if used_s is not None and used_s > BUSY_RATIO * available_s:
        yield MACHINE.busy(used_ratio=min(1.0, used_s / available_s))
