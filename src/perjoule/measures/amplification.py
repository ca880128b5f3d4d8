"""Measured bytes per user byte against what redundancy alone explains, and a doubt if they differ.

Interfaces count frames: with Ethernet (14 bytes), IP (20) and TCP (32) a full segment of 1448 bytes is 1514,
4.6 % more, and every other one is acknowledged with 66 bytes; if the kernel hands over 64 KiB at once (GSO),
headers nearly vanish. So network bytes have an expected range: from no headers to all of them, and 3 % on
either side. Disks have no headers, but also take the journals and metadata of the file system and its
daemons: up to another 3 % (measured: MooseFS 0.1 %, GlusterFS 0.7 %, CephFS 3.0 %).

Gateways beside data have some objects on their own host. How many they may expect is known (of placement
groups, of volumes), and which is chance: of n equal objects, the share that takes a hop has the binomial
standard deviation sqrt(p (1 - p) / n). Three of them are allowed besides.
"""

from collections.abc import Mapping
from dataclasses import asdict
from math import inf, sqrt
from typing import TYPE_CHECKING, Literal

from perjoule.energy.hosts import loaded_servers
from perjoule.measures import overhead
from perjoule.model import HOPS, Flow, Numbers, Record, value_at
from perjoule.model.doubts import CACHE, IN_FLIGHT, TRAFFIC, Doubt
from perjoule.model.metrics import BYTE_PER_BYTE, OBJECTS, Metric

if TYPE_CHECKING:
    from perjoule.trial.load import Load

METRICS = (
    Metric("derived_network_received_{role}_ratio", "received, derived", BYTE_PER_BYTE,
           "what redundancy explains of bytes that {role} received"),
    Metric("derived_network_sent_{role}_ratio", "sent, derived", BYTE_PER_BYTE,
           "what redundancy explains of bytes that {role} sent"),
    Metric("derived_disk_read_{role}_ratio", "disk read, derived", BYTE_PER_BYTE,
           "what redundancy explains of bytes that disks of {role} read"),
    Metric("derived_disk_written_{role}_ratio", "disk written, derived", BYTE_PER_BYTE,
           "what redundancy explains of bytes that disks of {role} wrote"),
)  # fmt: skip

TOLERANCE_RATIO = 0.03  # of what is derived, or of the user's bytes where that is more
HEADER_RATIO = 66 / 1448
ACKNOWLEDGEMENT_RATIO = 66 / (2 * 1448)  # of what comes the other way
JOURNAL_RATIO = 0.03  # of what is derived: journals and metadata, on disks
DEVIATIONS = 3.0  # allowed: chance alone exceeds them in 1 of 370 trials

# Field of `model.Flow` to the key of the metric that measured it, and to the field of the opposite way.
MEASURED: Mapping[str, str] = {
    "client_sent_ratio": overhead.COUNTED["network_sent"].of("client").key,
    "client_received_ratio": overhead.COUNTED["network_received"].of("client").key,
    "storage_received_ratio": overhead.COUNTED["network_received"].of("servers").key,
    "storage_sent_ratio": overhead.COUNTED["network_sent"].of("servers").key,
    "disk_written_ratio": overhead.COUNTED["disk_written"].of("servers").key,
    "disk_read_ratio": overhead.COUNTED["disk_read"].of("servers").key,
}
OPPOSITE: Mapping[str, str] = {
    "client_sent_ratio": "client_received_ratio",
    "client_received_ratio": "client_sent_ratio",
    "storage_received_ratio": "storage_sent_ratio",
    "storage_sent_ratio": "storage_received_ratio",
}
OF_HOPS = ("storage_received_ratio", "storage_sent_ratio")  # have the bytes that gateways pass on
SUBJECTS: Mapping[str, str] = {
    "client_sent_ratio": "clients sent",
    "client_received_ratio": "clients received",
    "storage_received_ratio": "servers received",
    "storage_sent_ratio": "servers sent",
    "disk_written_ratio": "the servers' disks wrote",
    "disk_read_ratio": "the servers' disks read",
}


def measure(load: "Load") -> Numbers:
    """Return what redundancy explains of what was measured for each of the users' bytes, if there are any."""
    if not load.moved_bytes:
        return Numbers()
    return compare(load.record, load.results[0].direction, load.numbers(overhead.measure).metrics)


def compare(
    record: Record, direction: Literal["write", "read", "idle"], measured: Mapping[str, float]
) -> Numbers:
    """Compare measurements in one direction with what the file system derived from its layout.

    Args:
        record: with the amplification; without one, or if both directions ran in the trial, nothing is
            compared.
        direction: of the user's bytes.
        measured: metrics per user byte; missing ones are not compared, nor are networks if the load ran on
            servers, which the layout ignores, nor those of servers whose gateways may find any share of
            the objects on their own hosts.

    Returns:
        Derived numbers ("derived_" before the key of the measured one), and a doubt for each that does not
        explain it.
    """
    directions = {r.direction for r in record.outcome.results} if record.outcome else set[str]()
    if record.amplification is None or direction == "idle" or directions != {direction}:
        return Numbers()
    flow = record.amplification.write if direction == "write" else record.amplification.read
    derived: dict[str, float] = asdict(flow)
    chance_ratio = deviation_ratio(record)
    telling = set(MEASURED) - (set(OPPOSITE) if loaded_servers(record) else set[str]())
    telling -= set(OF_HOPS) if chance_ratio == inf else set[str]()
    ratios = {
        name: measured[metric] for name, metric in MEASURED.items() if metric in measured and name in telling
    }
    doubts = [_doubt(direction, name, value, derived, chance_ratio) for name, value in ratios.items()]
    return Numbers.plain(
        {f"derived_{MEASURED[name]}": derived[name] for name in ratios}, tuple(d for d in doubts if d)
    )


def deviation_ratio(record: Record) -> float:
    """Return the standard deviation of what servers send and receive per user byte, as chance puts objects on
    their gateways' own hosts.

    0 without gateways beside data; inf where the number of different objects is not known: they were not
    counted, or got at random.
    """
    outcome = record.outcome
    results = outcome.results if outcome else ()
    total_bytes = sum(r.moved_bytes for r in results)
    variance_bytes = 0.0  # of one object, times the bytes of its client
    for r in results:
        hop_ratio = value_at(record.facts, "filesystem", HOPS, r.host, f"{r.direction}_ratio")
        if isinstance(hop_ratio, float):
            variance_bytes += r.moved_bytes * max(0.0, hop_ratio * (1 - hop_ratio))
    if outcome is None or not variance_bytes:
        return 0.0
    objects_count = outcome.measured.get(OBJECTS, 0.0)
    if not objects_count or record.traits.pattern.access != "sequential":
        return inf
    return sqrt(variance_bytes / total_bytes / objects_count)


def unexplained(flow: Flow, measured: Mapping[str, float], chance_ratio: float = 0.0) -> Mapping[str, float]:
    """Return each field of a flow as it was measured, per user byte, if redundancy, headers, journals and
    chance (`deviation_ratio`) don't explain that.

    Only what `compare` compared counts: metrics that have a derived one beside them.
    """
    ratios = {name: measured[metric] for name, metric in MEASURED.items() if f"derived_{metric}" in measured}
    return {name: value for name, value in ratios.items() if _unlike(asdict(flow), name, value, chance_ratio)}


def bounds(flow: Flow, name: str, chance_ratio: float = 0.0) -> tuple[float, float]:
    """Return the least and the most that may be measured if redundancy, headers, journals and chance explain
    everything.
    """
    return _bounds(asdict(flow), name, chance_ratio)


def _bounds(derived: Mapping[str, float], name: str, chance_ratio: float) -> tuple[float, float]:
    margin = TOLERANCE_RATIO * max(1.0, derived[name])
    margin += DEVIATIONS * chance_ratio if name in OF_HOPS else 0.0
    beside = JOURNAL_RATIO * derived[name] if name == "disk_written_ratio" else 0.0
    if name in OPPOSITE:
        beside = HEADER_RATIO * derived[name] + ACKNOWLEDGEMENT_RATIO * derived[OPPOSITE[name]]
    return derived[name] - margin, derived[name] + beside + margin


def _unlike(
    derived: Mapping[str, float], name: str, measured: float, chance_ratio: float
) -> Literal["", "more", "less"]:
    """Say whether it is more or less than the bounds allow."""
    least, most = _bounds(derived, name, chance_ratio)
    return "more" if measured > most else "less" if measured < least else ""


def _doubt(
    direction: Literal["write", "read"],
    name: str,
    measured: float,
    derived: Mapping[str, float],
    chance_ratio: float,
) -> Doubt | None:
    size = _unlike(derived, name, measured, chance_ratio)
    if not size:
        return None
    # without what was measured, so that repetitions say the same: the table of bytes per user byte has the
    # numbers
    fewer = IN_FLIGHT.written_too_little if direction == "write" else CACHE.read_too_little
    words = TRAFFIC.too_much if size == "more" else fewer
    cause = _cause(direction, name, size)
    return words(direction=direction, subject=SUBJECTS[name], derived_ratio=derived[name], cause=cause)


def _cause(direction: Literal["write", "read"], name: str, size: Literal["more", "less"]) -> str:
    disk = name.startswith("disk")
    if size == "less":
        if direction == "write":
            return "some data is not yet written back" if disk else "a cache still holds the rest"
        return (
            "the servers' page cache served the rest" if disk else "the clients' page cache served the rest"
        )
    if name == "disk_written_ratio":
        return (
            "a journal, metadata, or whole blocks for parts"
            if direction == "write"
            else "write-back of older data"
        )
    if name == "disk_read_ratio":
        return (
            "blocks read to write parts of them"
            if direction == "write"
            else "read-ahead, metadata, or whole blocks for parts"
        )
    return "many small requests, metadata, background copies or retransmissions"
