"""What each metric is: key, label, unit, which way is better, whether it rests on joules, and its definition.

To add a metric, add an entry to `ENTRIES`: tables, figures, the stop rule, comparison, export and audit look it up here, and
`python setup/metrics.py` writes it into the docs. A key ends in its SI unit. An entry with "{boundary}" or "{role}" in its key is
one metric for each of `BOUNDARIES` or `ROLES`; likewise "{piece}" for `PIECES`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from perjoule.model.spectrum import TITLES
from perjoule.model.units import MIB, RATIOS


class Unit(NamedTuple):
    """A unit as tables and figures print it, as exports name it, which have SI units, and what one of it is in those."""

    symbol: str
    si: str
    per: float = 1.0


@dataclass(frozen=True)
class Metric:
    """A metric of points and cells."""

    key: str
    label: str  # heads its column; stop rules and `--metric` take it of those with `headline`
    unit: Unit
    definition: str
    better: Literal["higher", "lower", ""] = ""  # "": neither
    energy: bool = False  # rests on joules: ranked within one grade of power only
    together: bool = False  # of all clients at once: refused where they hardly overlap
    headline: bool = False  # compared by label; of a write the burst has it too, with "burst_" before the key
    quantity: str = ""  # as papers print it, a key of `published.QUANTITIES`
    boundary: str = ""  # whose energy: the name of one of BOUNDARIES
    budgeted: bool = False  # has an uncertainty
    idle: bool = False  # of a file system without a load
    event: bool = False  # of a load during which something happens to servers
    rebuild: bool = False  # of a trial in which a disk fails

    @property
    def uncertainty(self) -> str:
        """The key of half its 95 % interval in one trial; "" without a budget."""
        return self._beside("uncertainty")

    @property
    def shared_uncertainty(self) -> str:
        """The key of the part of it that all repetitions on one meter share."""
        return self._beside("shared_uncertainty")

    def _beside(self, what: str) -> str:
        if not self.budgeted:
            return ""
        prefix = next(one.prefix for one in BOUNDARIES if one.name == self.boundary)
        stem, _, unit = self.key.removeprefix(prefix).partition("_")
        return f"{prefix}{stem}_{what}_{unit}"


class Boundary(NamedTuple):
    """What an energy is of."""

    prefix: str  # of keys
    name: str  # before labels, but "net"
    hosts: str
    headline: bool = False
    budgeted: bool = True
    printed: bool = False  # by papers


NET = "net"  # of the boundaries, the headline's
BOUNDARIES = (
    Boundary("", NET, "the servers without the switch", headline=True, printed=True),
    Boundary("gross_", "gross", "the servers with the switch", headline=True, printed=True),
    Boundary("clients_", "clients", "the clients that ran the load", headline=True),
    Boundary("all_", "all", "the servers and the clients that ran the load, each host once, without the switch", headline=True),
    Boundary("dynamic_", "dynamic", "the servers without the switch, less what they draw idle"),
    Boundary("controller_", "controller", "the servers without their disks"),
    Boundary("cpu_package_", "CPU package", "the servers' processor packages", budgeted=False),
    Boundary("device_", "device", "the servers' storage devices", budgeted=False),
)
ROLES: Mapping[str, str] = {
    "client": "the clients that loaded",
    "storage": "the storage hosts",
    "metadata": "the metadata hosts",
    "management": "the management hosts",
    "servers": "all hosts but clients",
}
PIECES: Mapping[str, str] = {  # of the joules of both sides
    "client_cpu": "client CPU",
    "client_rest": "client rest",
    "network": "network",
    "server_cpu": "server CPU",
    "server_rest": "server rest",
    "disks": "disks",
    "unsplit": "not split",
}
STAGES: Mapping[str, str] = {  # of a load during which something happens to servers
    "before": "before the first event",
    "during": "between the first and the last event",
    "healing": "between the last event and healthy",
    "after": "after the file system was healthy again",
}
PERCENTILES: Mapping[int, str] = {50: "median", 99: "99th percentile"}  # of latencies in a stage
RATES = ("throughput_bytes_per_s", "operations_per_s")  # work by the second: in bytes, or else in operations
PER_JOULE = ("efficiency_bytes_per_j", "operations_per_j")  # the same by the joule
RANKED = (RATES[0], PER_JOULE[0])  # what there are winners by
IDLE = ("usable_bytes_per_w", "idle_w")  # what an idle file system has instead of these two: ranked, and plain
# What events cost, in short: on the first screen of a report.
EVENT_COSTS = (
    "event_before_bytes_per_s",
    "event_during_bytes_per_s",
    "event_healing_s",
    "event_healing_j",
    "event_gained_bytes",
    "event_stalled_s",
)
DEFAULT = (*RANKED, RATES[1], PER_JOULE[1], IDLE[0])  # tested for drift and ranked
COMPARED = (*DEFAULT, IDLE[1])  # by default

_S, _MS, _W, _J, _JS = Unit("s", "s"), Unit("ms", "s", 1e-3), Unit("W", "W"), Unit("J", "J"), Unit("J s", "J s")
_MIB, _MIB_PER_S, _MIB_PER_J = Unit("MiB", "B", MIB), Unit("MiB/s", "B/s", MIB), Unit("MiB/J", "B/J", MIB)
_OP_PER_S, _OP_PER_J = Unit("op/s", "1/s"), Unit("op/J", "1/J")
_ONE, _PERCENT = Unit("", "1"), Unit("%", "1", RATIOS["%"])
_B_PER_B, _MS_PER_MIB = Unit("B/B", "1"), Unit("ms/MiB", "s/B", 1e-3 / MIB)
_KIB_PER_S, _PER_S = Unit("KiB/s", "B/s", 1024), Unit("1/s", "1/s")
_GB_PER_W = Unit("GB/W", "B/W", 1e9)
_KJ_PER_TB_DAY = Unit("kJ/TB-day", "W/B", 1e3 / (1e12 * 86400))
_KJ_PER_TIB = Unit("kJ/TiB", "J", 1e3 / 1024**4)
_EVENTS_PER_S, _UJ, _GEV = Unit("events/s", "1/s"), Unit("µJ", "J", 1e-6), Unit("GeV", "eV", 1e9)

ENTRIES = (
    # of a window
    Metric("duration_s", "s", _S, "length of the window", "lower", headline=True, quantity="duration"),
    Metric("throughput_bytes_per_s", "MiB/s", _MIB_PER_S, "bytes moved / duration", "higher", together=True, headline=True,
           quantity="throughput"),
    Metric("operations_per_s", "op/s", _OP_PER_S, "operations / duration, of a load that moves no bytes", "higher",
           together=True, headline=True),
    Metric("tpp_ratio", "% TPP", _PERCENT, "throughput / TPP", "higher", together=True, headline=True, quantity="share"),
    Metric("{boundary}energy_j", "J", _J, "energy of {boundary}", "lower", energy=True, headline=True, quantity="energy",
           budgeted=True),
    Metric("{boundary}mean_w", "W", _W, "energy of {boundary} / duration", "lower", energy=True, headline=True,
           quantity="power"),
    Metric("{boundary}efficiency_bytes_per_j", "MiB/J", _MIB_PER_J, "bytes moved / energy of {boundary}", "higher", energy=True,
           together=True, headline=True, quantity="efficiency", budgeted=True),
    Metric("{boundary}operations_per_j", "op/J", _OP_PER_J, "operations / energy of {boundary}, of a load that moves no bytes",
           "higher", energy=True, together=True, headline=True, budgeted=True),
    Metric("part_{piece}_j", "J of", _J, "energy of both sides and the switch that went to: {piece}", "lower", energy=True),
    Metric("edp_js", "EDP", _JS, "energy x duration, of the servers without the switch", "lower", energy=True, together=True,
           headline=True, quantity="energy-delay product"),
    Metric("edp_uncertainty_js", "EDP uncertainty", _JS, "half of the 95 % interval of the EDP of one trial", "lower",
           energy=True, together=True),
    Metric("edp_ratio", "EDP / best", Unit("times the best", "1"),
           "energy x duration^w / the lowest mean or median of the same work; of rows, not of trials", "lower",
           energy=True, together=True),
    Metric("tpp_bytes_per_s", "TPP", _MIB_PER_S, "theoretical peak performance of the data hosts"),
    Metric("common_throughput_bytes_per_s", "common MiB/s", _MIB_PER_S, "bytes moved while all clients ran / that time",
           "higher", together=True),
    Metric("durable_ratio", "% on disk", _PERCENT, "what the servers' disks had written at the burst's end / at the headline's",
           "higher"),
    Metric("latency_p50_s", "p50", _MS, "median latency, the mean of clients weighted by operations", "lower"),
    Metric("latency_p99_s", "p99", _MS, "99th percentile of the latency, the mean of clients weighted by operations", "lower"),
    # by user byte: CPU time while bytes moved, bytes from the baseline's end to the tail's
    Metric("cpu_{role}_s_per_byte", "CPU", _MS_PER_MIB, "CPU time of {role} in the window / bytes moved", "lower"),
    Metric("cpu_{role}_uncertainty_s_per_byte", "CPU uncertainty", _MS_PER_MIB,
           "most by which CPU time of {role} may differ from that, since readings of counters lie beside the window's ends"),
    Metric("network_received_{role}_ratio", "received", _B_PER_B, "bytes that {role} received / bytes moved", "lower"),
    Metric("network_sent_{role}_ratio", "sent", _B_PER_B, "bytes that {role} sent / bytes moved", "lower"),
    Metric("disk_read_{role}_ratio", "disk read", _B_PER_B, "bytes that disks of {role} read / bytes moved", "lower"),
    Metric("disk_written_{role}_ratio", "disk written", _B_PER_B, "bytes that disks of {role} wrote / bytes moved", "lower"),
    Metric("derived_network_received_{role}_ratio", "received, derived", _B_PER_B,
           "what redundancy explains of bytes that {role} received"),
    Metric("derived_network_sent_{role}_ratio", "sent, derived", _B_PER_B,
           "what redundancy explains of bytes that {role} sent"),
    Metric("derived_disk_read_{role}_ratio", "disk read, derived", _B_PER_B,
           "what redundancy explains of bytes that disks of {role} read"),
    Metric("derived_disk_written_{role}_ratio", "disk written, derived", _B_PER_B,
           "what redundancy explains of bytes that disks of {role} wrote"),
    Metric("disk_busy_{role}_ratio", "% disk busy", _PERCENT, "share of the time with requests in flight, disks of {role}"),
    Metric("disk_use_{role}_ratio", "% disk use", _PERCENT, "rate of the disks of {role} / what the catalogue's disks can do"),
    Metric("strangers_cpu_ratio", "% strangers", _PERCENT, "CPU time of strangers / the machine's", "lower"),
    # of the tail
    Metric("tail_s", "tail", _S, "length of the tail", "lower"),
    Metric("tail_energy_j", "tail J", _J, "energy of the servers without the switch in the tail", "lower", energy=True),
    Metric("tail_network_received_bytes", "tail received", _MIB, "bytes that all hosts but clients received in the tail",
           "lower"),
    Metric("tail_disk_read_bytes", "tail disk read", _MIB, "bytes that disks of all hosts but clients read in the tail", "lower"),
    Metric("tail_disk_written_bytes", "tail disk written", _MIB, "bytes that disks of all hosts but clients wrote in the tail",
           "lower"),
    # of a file system without a load
    Metric("{boundary}idle_w", "idle W", _W, "energy of {boundary} without a load / duration", "lower", energy=True,
           headline=True, budgeted=True, idle=True),
    Metric("{boundary}usable_bytes_per_w", "GB/W", _GB_PER_W,
           "capacity that redundancy leaves to user data x duration without a load / energy of {boundary}", "higher", energy=True,
           headline=True, budgeted=True, idle=True),
    Metric("{boundary}raw_w_per_byte", "kJ/TB-day raw", _KJ_PER_TB_DAY,
           "energy of {boundary} without a load / duration / capacity of the data hosts' disks", "lower", energy=True,
           headline=True, budgeted=True, idle=True),
    Metric("{boundary}usable_w_per_byte", "kJ/TB-day", _KJ_PER_TB_DAY,
           "energy of {boundary} without a load / duration / capacity that redundancy leaves to user data", "lower", energy=True,
           headline=True, budgeted=True, idle=True),
    Metric("idle_{role}_w", "idle W", _W, "energy of {role} without a load / duration", "lower", energy=True, idle=True),
    Metric("idle_cpu_{role}_ratio", "idle CPU", _PERCENT, "CPU time of {role} without a load / duration; 1: one core", "lower",
           idle=True),
    Metric("idle_switches_{role}_hz", "context switches", _PER_S, "context switches of {role} without a load / duration",
           "lower", idle=True),
    Metric("idle_network_received_{role}_bytes_per_s", "idle received", _KIB_PER_S,
           "bytes that {role} received without a load / duration", "lower", idle=True),
    Metric("idle_network_sent_{role}_bytes_per_s", "idle sent", _KIB_PER_S,
           "bytes that {role} sent without a load / duration", "lower", idle=True),
    Metric("idle_disk_read_{role}_bytes_per_s", "idle disk read", _KIB_PER_S,
           "bytes that disks of {role} read without a load / duration", "lower", idle=True),
    Metric("idle_disk_written_{role}_bytes_per_s", "idle disk written", _KIB_PER_S,
           "bytes that disks of {role} wrote without a load / duration", "lower", idle=True),
    Metric("longest_gap_{role}_s", "longest gap", _S, "longest time without an access to the disks of one of {role}", "higher",
           idle=True),
    Metric("sleepable_{role}_ratio", "% sleepable", _PERCENT,
           "time in gaps between accesses of at least the least gap / duration, the mean over {role}", "higher", idle=True),
    Metric("least_gap_s", "least gap", _S, "shortest gap between accesses in which a disk could sleep, as the campaign sets it"),
    Metric("clients_mounted_count", "clients mounted", _ONE, "clients with the file system mounted during an idle trial"),
    # of a paced load
    Metric("asked_load_ratio", "% load asked", _PERCENT, "load in the campaign / the maximum"),
    Metric("load_ratio", "% load", _PERCENT, "bytes moved / time until the last client's end / the maximum"),
    Metric("gap_ratio", "% gap", _PERCENT, "(W at a load - that load x W at 100 %) / W at 100 %; of rows, not of trials", "lower",
           energy=True),
    Metric("proportionality_ratio", "EP", _ONE,
           "2 - 2 x mean over all loads of W / W at 100 %: 1 is proportional, 0 constant; of rows, not of trials", "higher",
           energy=True),
    Metric("idle_peak_ratio", "% idle/peak", _PERCENT, "W at 0 % / W at 100 %; of rows, not of trials", "lower", energy=True),
    Metric("area_w", "W above ideal", _W, "mean over all loads of W - load x W at 100 %; of rows, not of trials", "lower",
           energy=True),
    Metric("energy_per_byte_j", "kJ/TiB", _KJ_PER_TIB,
           "energy of the servers without the switch / bytes moved; of rows, not of trials", "lower", energy=True),
    # of a load during which something happens to servers
    *(
        Metric(f"event_{stage}_bytes_per_s", f"MiB/s {stage}", _MIB_PER_S, f"bytes that clients moved {words} / that time",
               "higher", together=True, event=True)
        for stage, words in STAGES.items()
    ),
    *(
        Metric(f"event_{stage}_w", f"W {stage}", _W,
               f"energy of the servers without the switch while clients loaded, {words} / that time", "lower", energy=True,
               event=True)
        for stage, words in STAGES.items()
    ),
    *(
        Metric(f"event_{stage}_latency_p{percent}_s", f"p{percent} {stage}", _MS,
               f"{name} of the completion latency of all clients' calls that returned {words}", "lower", event=True)
        for percent, name in PERCENTILES.items()
        for stage, words in STAGES.items()
    ),
    Metric("event_healing_s", "s until healthy", _S, "time from the last event until the file system was healthy", "lower",
           event=True),
    Metric("event_healing_j", "J until healthy", _J,
           "energy of the servers without the switch from the last event until the file system was healthy", "lower",
           energy=True, event=True),
    Metric("event_stalled_s", "s stalled", _S,
           "time after the first event in which no call of a client returned, the mean of clients", "lower", event=True),
    Metric("event_longest_stall_s", "s of longest stall", _S,
           "longest time after the first event in which no call of a client returned", "lower", event=True),
    Metric("event_errors_count", "errors", _ONE, "calls of clients that failed, in loads that continue after errors", "lower",
           event=True),
    Metric("event_gained_bytes", "MiB gained", _MIB,
           "bytes of users' data, as copies or parts, that hosts which joined held in the end", event=True),
    Metric("event_gained_per_byte_j", "kJ/TiB gained", _KJ_PER_TIB,
           "energy of the servers without the switch from the last event until the file system was healthy / bytes that hosts "
           "which joined held in the end", "lower", energy=True, event=True),
    Metric("event_late_s", "s late", _S, "most by which an event was done later than planned, wall time", "lower", event=True),
    # of a trial in which a disk fails
    Metric("rebuild_lost_bytes", "MiB lost", _MIB, "bytes of users' data, as copies or parts, that failed disks held",
           rebuild=True),
    Metric("rebuild_s", "s until rebuilt", _S, "time from the failure of a disk until the file system was healthy", "lower",
           rebuild=True),
    Metric("rebuild_network_ratio", "rebuild network", _B_PER_B,
           "bytes that data hosts received for the rebuild / bytes that failed disks held", "lower", rebuild=True),
    Metric("derived_rebuild_network_ratio", "rebuild network, derived", _B_PER_B,
           "what redundancy explains of bytes that data hosts received for the rebuild", rebuild=True),
    Metric("rebuild_disk_read_ratio", "rebuild disk read", _B_PER_B,
           "bytes that disks of data hosts read for the rebuild / bytes that failed disks held", "lower", rebuild=True),
    Metric("derived_rebuild_disk_read_ratio", "rebuild disk read, derived", _B_PER_B,
           "what redundancy explains of bytes that disks of data hosts read for the rebuild", rebuild=True),
    Metric("rebuild_disk_written_ratio", "rebuild disk written", _B_PER_B,
           "bytes that disks of data hosts wrote for the rebuild / bytes that failed disks held", "lower", rebuild=True),
    Metric("derived_rebuild_disk_written_ratio", "rebuild disk written, derived", _B_PER_B,
           "what redundancy explains of bytes that disks of data hosts wrote for the rebuild", rebuild=True),
    Metric("rebuild_energy_per_byte_j", "rebuild kJ/TiB", _KJ_PER_TIB,
           "energy of the servers without the switch from the failure until healthy / bytes that failed disks held", "lower",
           energy=True, rebuild=True),
    Metric("rebuild_added_per_byte_j", "rebuild kJ/TiB added", _KJ_PER_TIB,
           "energy of the rebuild beyond what the servers drew before the failure / bytes that failed disks held", "lower",
           energy=True, rebuild=True),
    Metric("rebuild_network_received_{role}_bytes", "rebuild received", _MIB, "bytes that {role} received during the rebuild",
           "lower"),
    Metric("rebuild_network_sent_{role}_bytes", "rebuild sent", _MIB, "bytes that {role} sent during the rebuild", "lower"),
    Metric("rebuild_disk_read_{role}_bytes", "rebuild disk read", _MIB, "bytes that disks of {role} read during the rebuild",
           "lower"),
    Metric("rebuild_disk_written_{role}_bytes", "rebuild disk written", _MIB,
           "bytes that disks of {role} wrote during the rebuild", "lower"),
    # of several users
    Metric("together_ratio", "% together", _PERCENT, "time in which several users loaded / time in which any did"),
    Metric("fairness_ratio", "fair", _ONE, "Jain's index of throughput by fair share", "higher"),
    Metric("share_ratio", "% of bytes", _PERCENT, "bytes that a user moved / bytes that all users moved"),
    Metric("busy_s", "busy", _S, "time in which a user's jobs ran"),
    Metric("jobs_count", "jobs", _ONE, "number of jobs of a user"),
    # that single workloads measure
    Metric("warm_up_rounds_count", "warm-up rounds", _ONE, "rounds of fio before the steady ones"),
    Metric("warm_up_s", "warm-up", _S, "length of the rounds of fio before the steady ones"),
    Metric("warm_up_bytes", "warm-up bytes", _MIB, "bytes moved in the rounds of fio before the steady ones"),
    Metric("tasks_count", "tasks", _ONE, "tasks of an analysis"),
    Metric("events_count", "events", _ONE, "events that an analysis read"),
    Metric("events_per_s", "events/s", _EVENTS_PER_S, "events / duration", "higher", together=True),
    Metric("energy_per_event_j", "µJ/event", _UJ, "energy of the servers without the switch / events", "lower", energy=True),
    Metric("gross_energy_per_event_j", "gross µJ/event", _UJ, "energy of the servers with the switch / events", "lower",
           energy=True),
    Metric("locality_ratio", "% local by placement", _PERCENT, "bytes read on a host that holds the file / bytes read",
           "higher"),
    Metric("network_locality_ratio", "% local by network", _PERCENT, "1 - bytes that the analysing hosts received / bytes read",
           "higher"),
    *(
        Metric(f"{peak}_{what}_ev", f"{title} {words}", _GEV, f"{words} of the {title} peak as fitted")
        for peak, title in TITLES.items()
        for what, words in (
            ("mass", "mass"),
            ("mass_error", "standard error of the mass"),
            ("width", "width"),
            ("width_error", "standard error of the width"),
        )
    ),
)  # fmt: skip


def _expanded(entry: Metric) -> Iterator[Metric]:
    if "{role}" in entry.key:
        for role, hosts in ROLES.items():
            key, definition = entry.key.format(role=role), entry.definition.format(role=hosts)
            yield replace(entry, key=key, label=f"{role} {entry.label}", definition=definition)
    elif "{piece}" in entry.key:
        for piece, name in PIECES.items():
            key, definition = entry.key.format(piece=piece), entry.definition.format(piece=name)
            yield replace(entry, key=key, label=f"{entry.label} {name}", definition=definition)
    elif "{boundary}" in entry.key:
        for one in BOUNDARIES:
            yield from _with_uncertainties(_of(one, entry))
    else:
        yield entry


def _of(one: Boundary, entry: Metric) -> Metric:
    return replace(
        entry,
        key=entry.key.format(boundary=one.prefix),
        label=entry.label if one.name == "net" else f"{one.name} {entry.label}",
        definition=entry.definition.format(boundary=one.hosts),
        boundary=one.name,
        headline=entry.headline and one.headline,
        quantity=entry.quantity if one.printed else "",
        budgeted=entry.budgeted and one.budgeted,
    )


def _with_uncertainties(entry: Metric) -> Iterator[Metric]:
    yield entry
    if entry.budgeted:
        plain = replace(entry, better="lower", headline=False, quantity="", budgeted=False)
        whole, shared = "half of the 95 % interval of one trial", "the part of it that all repetitions on one meter share"
        yield replace(plain, key=entry.uncertainty, label=f"{entry.label} uncertainty", definition=f"{entry.definition}: {whole}")
        yield replace(
            plain,
            key=entry.shared_uncertainty,
            label=f"{entry.label} shared uncertainty",
            definition=f"{entry.definition}: {whole}, {shared}",
        )


def _bursts(found: Metric) -> Iterator[Metric]:
    yield found
    if found.headline and not found.idle and found.boundary in ("", "net", "clients", "all"):
        words = f"{found.definition}; of a write until the last client's fsync returned"
        boundary = "" if found.boundary == "net" else found.boundary
        plain = replace(found, headline=False, quantity="", boundary=boundary, budgeted=False)
        yield replace(plain, key=f"burst_{found.key}", label=f"burst {found.label}", definition=words)


METRICS: Mapping[str, Metric] = {one.key: one for entry in ENTRIES for found in _expanded(entry) for one in _bursts(found)}
BY_LABEL: Mapping[str, Metric] = {one.label: one for one in METRICS.values() if one.headline}


def metric_of(key: str) -> Metric:
    """Describe a metric, or that of one user ("user/analysis/latency_p99_s").

    A key without an entry, as a record of another perjoule may have it, is a bare number.
    """
    name = key.rpartition("/")[2]
    return METRICS.get(name) or Metric(key, key, Unit("", ""), "")
