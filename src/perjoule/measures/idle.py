"""What an idle file system draws and does by itself, by role, and how long its disks could have slept.

Seconds are emulated ones, as everywhere. A disk's gap is the time between two samples of its counters between
which neither rose. An access lies somewhere between two samples, so a gap may be up to two sampling periods
longer than stated. Definitions are in docs/explanations/how-numbers-are-made.md.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from perjoule.energy.hosts import data_hosts
from perjoule.measures.energies import Work
from perjoule.model import Numbers, Quantity, Record
from perjoule.model.doubts import METERS, UNDILATED, Doubt
from perjoule.model.hardware import Node
from perjoule.model.metrics import IDLE, LEAST_GAP, PERCENT, Metric, S, Unit, W

if TYPE_CHECKING:
    from perjoule.trial.load import Load
    from perjoule.trial.reading import Dilation

_GB_PER_W = Unit("GB/W", "B/W", 1e9)
_KJ_PER_TB_DAY = Unit("kJ/TB-day", "W/B", 1e3 / (1e12 * 86400))
_KIB_PER_S, _PER_S = Unit("KiB/s", "B/s", 1024), Unit("1/s", "1/s")

POWER = Metric("{boundary}" + IDLE[1], "idle W", W, "energy of {boundary} without a load / duration", "lower", energy=True,
               headline=True, budgeted=True, idle=True)  # fmt: skip
USABLE = Metric("{boundary}" + IDLE[0], "GB/W", _GB_PER_W,
                "capacity that redundancy leaves to user data x duration without a load / energy of {boundary}", "higher",
                energy=True, headline=True, budgeted=True, idle=True)  # fmt: skip
PER_RAW_BYTE = Metric("{boundary}raw_w_per_byte", "kJ/TB-day raw", _KJ_PER_TB_DAY,
                      "energy of {boundary} without a load / duration / capacity of the data hosts' disks", "lower", energy=True,
                      headline=True, budgeted=True, idle=True)  # fmt: skip
PER_USABLE_BYTE = Metric("{boundary}usable_w_per_byte", "kJ/TB-day", _KJ_PER_TB_DAY,
                         "energy of {boundary} without a load / duration / capacity that redundancy leaves "
                         "to user data",
                         "lower", energy=True, headline=True, budgeted=True, idle=True)  # fmt: skip
OF_ROLE = Metric(
    "idle_{role}_w",
    "idle W",
    W,
    "energy of {role} without a load / duration",
    "lower",
    energy=True,
    idle=True,
)
COUNTED: Mapping[Quantity, Metric] = {
    "cpu": Metric("idle_cpu_{role}_ratio", "idle CPU", PERCENT, "CPU time of {role} without a load / duration; 1: one core",
                  "lower", idle=True),
    "switches": Metric("idle_switches_{role}_hz", "context switches", _PER_S,
                       "context switches of {role} without a load / duration", "lower", idle=True),
    "network_received": Metric("idle_network_received_{role}_bytes_per_s", "idle received", _KIB_PER_S,
                               "bytes that {role} received without a load / duration", "lower", idle=True),
    "network_sent": Metric("idle_network_sent_{role}_bytes_per_s", "idle sent", _KIB_PER_S,
                           "bytes that {role} sent without a load / duration", "lower", idle=True),
    "disk_read": Metric("idle_disk_read_{role}_bytes_per_s", "idle disk read", _KIB_PER_S,
                        "bytes that disks of {role} read without a load / duration", "lower", idle=True),
    "disk_written": Metric("idle_disk_written_{role}_bytes_per_s", "idle disk written", _KIB_PER_S,
                           "bytes that disks of {role} wrote without a load / duration", "lower", idle=True),
}  # fmt: skip
LONGEST = Metric("longest_gap_{role}_s", "longest gap", S, "longest time without an access to the disks of one of {role}",
                 "higher", idle=True)  # fmt: skip
SLEEPABLE = Metric("sleepable_{role}_ratio", "% sleepable", PERCENT,
                   "time in gaps between accesses of at least the least gap / duration, the mean over {role}", "higher",
                   idle=True)  # fmt: skip
METRICS = (POWER, USABLE, PER_RAW_BYTE, PER_USABLE_BYTE, OF_ROLE, *COUNTED.values(), LONGEST, SLEEPABLE)

_FEW = 4  # sampling periods in the least gap, below which samples hardly show it


def storing(load: "Load") -> Work:
    """Return the work of an idle trial: the capacity that was kept, times the time, as far as it is known."""
    record, duration_s = load.record, load.duration_s
    divisors, per_j, usable = {POWER: duration_s}, None, 0.0
    if each_bytes := capacities_bytes(record):
        divisors[PER_RAW_BYTE] = sum(each_bytes) * duration_s
        if record.redundancy is not None:
            alike_bytes = len(each_bytes) * min(each_bytes)  # each host holds as much as the smallest
            per_j, usable = USABLE, alike_bytes * record.redundancy.usable_ratio * duration_s
            divisors[PER_USABLE_BYTE] = usable
    return Work(per_j, usable, duration_s, loaded=False, divisors=divisors)


def capacities_bytes(record: Record) -> tuple[float, ...]:
    """Return the capacity of each data host's disks by the catalogue; empty if a host has none there."""
    node_of = _nodes(record)
    holders = [node_of.get(name) for name in data_hosts(record)]
    each = [sum(disk.capacity_bytes.value for disk in node.disks) if node else 0.0 for node in holders]
    return tuple(each) if all(each) else ()


def _nodes(record: Record) -> Mapping[str, Node]:
    """Return the catalogue's node of each host that has one."""
    nodes = {node.name: node for node in record.hardware.nodes} if record.hardware else {}
    return {host.name: nodes[host.node] for host in record.hosts if host.node in nodes}


def measure(load: "Load") -> Numbers:
    """Return the power of each role, what it did by itself, and the gaps between accesses to its disks;
    nothing of a load.
    """
    if not load.idle:
        return Numbers()
    from perjoule.trial.counters import disk_gaps_s

    record, reading, (began_s, ended_s) = load.record, load.reading, load.window
    numbers: dict[str, float] = {}
    doubts: dict[Doubt, None] = dict.fromkeys(_dilated(reading.dilation))
    nodes = _nodes(record)
    length_s = load.duration_s
    least_s = load.workload_numbers.get(LEAST_GAP)
    for role, names in load.roles.items():
        drawn_j = reading.energy(reading.metering.by_role[role], began_s, ended_s).net_j
        if drawn_j is not None:
            numbers[OF_ROLE.of(role).key] = load.emulated(drawn_j) / length_s
        for quantity, metric in COUNTED.items():
            counted = load.total(quantity, names, began_s, ended_s)
            doubts |= dict.fromkeys(counted.doubts if counted.value is None else ())
            if counted.value is not None:
                numbers[metric.of(role).key] = counted.value / length_s
        with_disks = sorted(name for name in names if name not in nodes or nodes[name].disks)
        gaps = [disk_gaps_s(reading.series, name, began_s, ended_s) for name in with_disks]
        known_gaps = [
            (reading.dilation.emulated(host_gaps[0]), load.emulated(host_gaps[1]))
            for host_gaps in gaps
            if host_gaps is not None
        ]
        if known_gaps:
            numbers[LONGEST.of(role).key] = max(float(own_s.max(initial=0.0)) for own_s, _ in known_gaps)
            if least_s is None:
                continue
            asleep_s = sum(float(own_s[own_s >= least_s].sum()) for own_s, _ in known_gaps)
            numbers[SLEEPABLE.of(role).key] = asleep_s / (len(known_gaps) * length_s)
            if least_s < _FEW * (period_s := max(period_s for _, period_s in known_gaps)):
                doubts[METERS.gaps_unseen(period_s=period_s, gap_s=least_s)] = None
    return Numbers.plain(numbers, tuple(doubts))


def _dilated(dilation: "Dilation") -> Iterator[Doubt]:
    if dilation.text:
        yield UNDILATED.idle(scale=dilation.text, often_ratio=dilation.wall(1.0))
