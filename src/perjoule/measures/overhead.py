"""The cost of a user's byte by role: CPU seconds, network and disk bytes, and how busy disks are, from the
hosts' counters.

Bytes are counted from the idle time before the load to that after it: they belong to nothing else, and the
last ones may be late. CPU time is that of the window in which bytes moved: programs start before it and
report after it, at a cost that a load of twice the bytes has only once, and idle daemons work all the time.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from perjoule.energy.hosts import hardware, roles
from perjoule.model import Number, Numbers, Quantity
from perjoule.model.doubts import Doubt
from perjoule.model.metrics import BYTE_PER_BYTE, MS_PER_MIB, PERCENT, Metric

if TYPE_CHECKING:
    from perjoule.trial.load import Load
    from perjoule.trial.reading import Reading

CPU: Quantity = "cpu"
# By counter; CPU seconds are those of the machine that did the work, whatever the scale.
COUNTED: Mapping[Quantity, Metric] = {
    CPU: Metric("cpu_{role}_s_per_byte", "CPU", MS_PER_MIB, "CPU time of {role} in the window / bytes moved", "lower"),
    "network_received": Metric("network_received_{role}_ratio", "received", BYTE_PER_BYTE,
                               "bytes that {role} received / bytes moved", "lower"),
    "network_sent": Metric("network_sent_{role}_ratio", "sent", BYTE_PER_BYTE, "bytes that {role} sent / bytes moved", "lower"),
    "disk_read": Metric("disk_read_{role}_ratio", "disk read", BYTE_PER_BYTE, "bytes that disks of {role} read / bytes moved",
                        "lower"),
    "disk_written": Metric("disk_written_{role}_ratio", "disk written", BYTE_PER_BYTE,
                           "bytes that disks of {role} wrote / bytes moved", "lower"),
}  # fmt: skip
UNCERTAINTY = Metric("cpu_{role}_uncertainty_s_per_byte", "CPU uncertainty", MS_PER_MIB,
                     "most by which CPU time of {role} may differ from that, since readings of counters lie "
                     "beside the window's "
                     "ends")  # fmt: skip
BUSY = Metric(
    "disk_busy_{role}_ratio",
    "% disk busy",
    PERCENT,
    "share of the time with requests in flight, disks of {role}",
)
USE = Metric(
    "disk_use_{role}_ratio",
    "% disk use",
    PERCENT,
    "rate of the disks of {role} / what the catalogue's disks can do",
)
METRICS = (*COUNTED.values(), UNCERTAINTY, BUSY, USE)

MOST_UNSURE_RATIO = 0.5  # of CPU time, by which a window's edges may make it wrong
LEAST_CORES = 0.001  # of a role that takes less, such as an idle manager, half of it is nothing
SELDOM = (
    "CPU time per byte of {roles} omitted: counters were read too seldom to tell the load's from what came "
    "before and after"
)


def measure(load: "Load") -> Numbers:
    """Return the counts of each role by the users' bytes, if there are any, and how busy disks were."""
    began_s, ended_s = load.window
    counts = Numbers()
    if load.moved_bytes:
        counts = overhead(load.reading, began_s, ended_s, load.moved_bytes)
    return Numbers(
        {**counts.by_key, **Numbers.plain(disk_use(load.reading, began_s, ended_s)).by_key}, counts.doubts
    )


def overhead(reading: "Reading", began_s: float, ended_s: float, user_bytes: int) -> Numbers:
    """Divide the counts of each role's hosts by the users' bytes, in the window in which these moved.

    Only the clients that loaded count as clients; "servers" are all hosts except clients. If a host lacks a
    counter, its role has no such metric.
    """
    from perjoule.trial.counters import edges_error, window

    values: dict[str, float] = {}
    doubts: dict[Doubt, None] = {}
    unsure: list[str] = []
    moving = window(reading.record, began_s, ended_s)
    for role, names in roles(reading.record).items():
        for quantity, metric in COUNTED.items():
            counted = reading.total(quantity, names, *((began_s, ended_s) if quantity == CPU else moving))
            doubts |= dict.fromkeys(counted.doubts if counted.value is None else ())
            if counted.value is None:
                continue
            if quantity == CPU:
                error_s = edges_error(reading.series, quantity, names, began_s, ended_s)
                if error_s > max(MOST_UNSURE_RATIO * counted.value, LEAST_CORES * (ended_s - began_s)):
                    unsure.append(role)
                    continue
                values[UNCERTAINTY.of(role).key] = error_s / user_bytes
            values[metric.of(role).key] = counted.value / user_bytes
    missing = Number(why_not=SELDOM.format(roles=", ".join(unsure)))
    numbers = Numbers.plain(values, tuple(doubts))
    return Numbers(
        {**numbers.by_key, **{COUNTED[CPU].of(role).key: missing for role in unsure}}, numbers.doubts
    )


def disk_use(reading: "Reading", began_s: float, ended_s: float) -> Mapping[str, float]:
    """Return how busy disks were in a window, by role, in two ways.

    "busy" is the share of time with requests in flight (the mean over hosts of their disks' sum), "use" the
    bytes read and written over the rate of the catalogue's disks. On emulated hosts only the second is
    meaningful: requests wait for the cap above the device.
    """
    from perjoule.trial.counters import ACCESS

    values: dict[str, float] = {}
    for role, names in roles(reading.record).items():
        if role == "servers":
            continue
        if (busy_s := reading.total("disk_busy", names, began_s, ended_s).value) is not None:
            values[BUSY.of(role).key] = busy_s / (len(names) * (ended_s - began_s))
        limits = disk_limits(reading, names)
        moved = [reading.total(quantity, names, began_s, ended_s).value for quantity in ACCESS]
        shares = (
            [m / limit for m, limit in zip(moved, limits, strict=True) if m is not None] if limits else []
        )
        if len(shares) == len(moved):
            values[USE.of(role).key] = sum(shares) / (ended_s - began_s)
    return values


def disk_limits(reading: "Reading", hosts: Iterable[str]) -> tuple[float, float] | None:
    """Return the combined read and write rates of these hosts' disks by the catalogue, in B/s of wall time.

    None if the catalogue has no disk of one of them: the bytes of all would be held against the disks of
    some.
    """
    record = reading.record
    cluster = hardware(record)
    nodes = {node.name: node for node in cluster.nodes} if cluster else {}
    node_of = {host.name: host.node for host in record.hosts}
    disks_of = [node.disks if (node := nodes.get(node_of.get(host, ""))) else () for host in hosts]
    if not disks_of or not all(disks_of):
        return None
    disks = [disk for of_host in disks_of for disk in of_host]
    read, written = (
        sum(d.read_bytes_per_s.value for d in disks),
        sum(d.write_bytes_per_s.value for d in disks),
    )
    a_second_s = reading.dilation.emulated(1.0)
    return read * a_second_s, written * a_second_s
