"""What each metric is: key, label, unit, which way is better, whether it rests on joules, and its definition.

Tables, figures, the stop rule, comparison, export and audit look a metric up here, by its key. Its entry
stands beside what computes it, in the `METRICS` of a file in `perjoule/measures`, which is found on disk, or
of a module of another package (`families.py`); `ENTRIES` has those of rows, and those that workloads measure.
`perjoule docs metrics` prints all of them.

A key ends in its SI unit. An entry with "{boundary}", "{role}", "{piece}" or "{stage}" in its key is one
metric for each of `BOUNDARIES`, `ROLES`, `PIECES` or `STAGES`: `Metric.of` returns it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import ModuleType
from typing import Literal, NamedTuple, cast

from perjoule.model import families
from perjoule.model.spectrum import TITLES
from perjoule.model.units import MIB, RATIOS


class Unit(NamedTuple):
    """A unit as tables and figures print it, as exports name it, which have SI units, and what one of it
    is in those.
    """

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

    def _beside(self, suffix: str) -> str:
        if not self.budgeted:
            return ""
        prefix = next(boundary.prefix for boundary in BOUNDARIES if boundary.name == self.boundary)
        stem, _, unit = self.key.removeprefix(prefix).partition("_")
        return f"{prefix}{stem}_{suffix}_{unit}"

    @property
    def burst(self) -> str:
        """The key that a write has it under until its last client's fsync has returned; "" if it has none."""
        of_load = self.headline and not self.idle and self.boundary in ("", NET, "clients", "all")
        return f"burst_{self.key}" if of_load else ""

    def of(self, name: str) -> "Metric":
        """Return this entry's metric of a boundary, role, piece or stage."""
        return _of(self, name)


class EnergyBoundary(NamedTuple):
    """What an energy is of."""

    prefix: str  # of keys
    name: str  # before labels, but "net"
    hosts: str
    headline: bool = False
    budgeted: bool = True
    printed: bool = False  # by papers


NET = "net"  # of the boundaries, the headline's
BOUNDARIES = (
    EnergyBoundary("", NET, "the servers without the switch", headline=True, printed=True),
    EnergyBoundary("gross_", "gross", "the servers with the switch", headline=True, printed=True),
    EnergyBoundary("clients_", "clients", "the clients that ran the load", headline=True),
    EnergyBoundary(
        "all_",
        "all",
        "the servers and the clients that ran the load, each host once, without the switch",
        headline=True,
    ),
    EnergyBoundary("dynamic_", "dynamic", "the servers without the switch, less what they draw idle"),
    EnergyBoundary("controller_", "controller", "the servers without their disks"),
    EnergyBoundary("cpu_package_", "CPU package", "the servers' processor packages", budgeted=False),
    EnergyBoundary("device_", "device", "the servers' storage devices", budgeted=False),
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
PREFIXES: Mapping[str, str] = {boundary.name: boundary.prefix for boundary in BOUNDARIES}

# The keys that those who only see numbers know.
DURATION, ENERGY, POWER, EDP = "duration_s", "energy_j", "mean_w", "edp_js"
SHARE, LATENCY, FAIRNESS = "share_ratio", "latency_p99_s", "fairness_ratio"
PEAK, OF_PEAK, DURABLE = "tpp_bytes_per_s", "tpp_ratio", "durable_ratio"
# Those of rows, not of trials.
EDP_RATIO, PROPORTIONALITY, IDLE_PEAK, ABOVE_IDEAL = (
    "edp_ratio",
    "proportionality_ratio",
    "idle_peak_ratio",
    "area_w",
)
GAP, PER_BYTE = "gap_ratio", "energy_per_byte_j"
# Those that single workloads measure.
ASKED_LOAD, REACHED_LOAD, ERRORS = "asked_load_ratio", "load_ratio", "event_errors_count"
LEAST_GAP, MOUNTED, POOLS = "least_gap_s", "clients_mounted_count", "pools_made_count"
OBJECTS, ENGINE_CPU = "objects_count", "engine_cpu_s"
WARM_UP_ROUNDS, WARM_UP, WARM_UP_BYTES = "warm_up_rounds_count", "warm_up_s", "warm_up_bytes"
TASKS, EVENTS, LOCALITY, NETWORK_LOCALITY = (
    "tasks_count",
    "events_count",
    "locality_ratio",
    "network_locality_ratio",
)
# Work by the second and by the joule: in bytes, or else in operations.
THROUGHPUT, OPERATION_RATE = RATES = ("throughput_bytes_per_s", "operations_per_s")
EFFICIENCY, OPERATIONS_PER_JOULE = PER_JOULE = ("efficiency_bytes_per_j", "operations_per_j")
RANKED = (THROUGHPUT, EFFICIENCY)  # what there are winners by
# what an idle file system has instead of these two: ranked, and plain
USABLE, IDLE_POWER = IDLE = ("usable_bytes_per_w", "idle_w")
# Of loads that are described as training jobs
CHECKPOINTS, LOAD_CPU = "checkpoints_count", "load_cpu_s"
SAMPLES, EPOCHS, ACCELERATOR = "samples_count", "epochs_count", "accelerator_ratio"
COMPUTE_WALL = "compute_wall_s"
# Of loads that are described as inference servers
REQUESTS, TOKENS, TOKENS_READ = "requests_count", "tokens_count", "tokens_read_count"
# What submissions to MLPerf Storage state
ACCELERATORS, BENCHMARK_RATE = "accelerators_count", "benchmark_samples_per_s"
NAMEPLATE_W, DESIGN_W = "nameplate_w", "design_w"
# What events cost, in short: on the first screen of a report.
EVENT_COSTS = (
    "event_before_bytes_per_s",
    "event_during_bytes_per_s",
    "event_healing_s",
    "event_healing_j",
    "event_gained_bytes",
    "event_stalled_s",
)
DEFAULT = (*RANKED, OPERATION_RATE, OPERATIONS_PER_JOULE, USABLE)  # tested for drift and ranked
COMPARED = (*DEFAULT, IDLE_POWER)  # by default

S, MS, W, J, J_S = Unit("s", "s"), Unit("ms", "s", 1e-3), Unit("W", "W"), Unit("J", "J"), Unit("J s", "J s")
MEBIBYTES, MIB_PER_S, MIB_PER_J = Unit("MiB", "B", MIB), Unit("MiB/s", "B/s", MIB), Unit("MiB/J", "B/J", MIB)
OP_PER_S, OP_PER_J = Unit("op/s", "1/s"), Unit("op/J", "1/J")
ONE, PERCENT, BYTE_PER_BYTE = Unit("", "1"), Unit("%", "1", RATIOS["%"]), Unit("B/B", "1")
MS_PER_MIB, KJ_PER_TIB = Unit("ms/MiB", "s/B", 1e-3 / MIB), Unit("kJ/TiB", "J", 1e3 / 1024**4)
_GEV = Unit("GeV", "eV", 1e9)

ENTRIES = (
    # of rows, not of trials
    Metric(EDP_RATIO, "EDP / best", Unit("times the best", "1"),
           "energy x duration^w / the lowest mean or median of the same work; of rows, not of trials", "lower",
           energy=True, together=True),
    Metric(GAP, "% gap", PERCENT, "(W at a load - that load x W at 100 %) / W at 100 %; of rows, not of trials", "lower",
           energy=True),
    Metric(PROPORTIONALITY, "EP", ONE,
           "2 - 2 x mean over all loads of W / W at 100 %: 1 is proportional, 0 constant; of rows, not of trials", "higher",
           energy=True),
    Metric(IDLE_PEAK, "% idle/peak", PERCENT, "W at 0 % / W at 100 %; of rows, not of trials", "lower", energy=True),
    Metric(ABOVE_IDEAL, "W above ideal", W, "mean over all loads of W - load x W at 100 %; of rows, not of trials", "lower",
           energy=True),
    Metric(PER_BYTE, "kJ/TiB", KJ_PER_TIB,
           "energy of the servers without the switch / bytes moved; of rows, not of trials", "lower", energy=True),
    # that single workloads measure
    Metric(ASKED_LOAD, "% load asked", PERCENT, "load in the campaign / the maximum"),
    Metric(REACHED_LOAD, "% load", PERCENT, "bytes moved / time until the last client's end / the maximum"),
    Metric(LEAST_GAP, "least gap", S, "shortest gap between accesses in which a disk could sleep, as the campaign sets it"),
    Metric(MOUNTED, "clients mounted", ONE, "clients with the file system mounted during an idle trial"),
    Metric(POOLS, "pools", ONE, "pools that clients made and deleted in the window"),
    Metric(ERRORS, "errors", ONE, "calls of clients that failed, in loads that continue after errors", "lower", event=True),
    Metric(OBJECTS, "objects", ONE, "objects that clients put or got"),
    Metric(ENGINE_CPU, "engine CPU s", S, "CPU time of the load's own programs on all clients"),
    Metric(WARM_UP_ROUNDS, "warm-up rounds", ONE, "rounds of fio before the steady ones"),
    Metric(WARM_UP, "warm-up", S, "length of the rounds of fio before the steady ones"),
    Metric(WARM_UP_BYTES, "warm-up bytes", MEBIBYTES, "bytes moved in the rounds of fio before the steady ones"),
    Metric(TASKS, "tasks", ONE, "tasks of an analysis"),
    Metric(EVENTS, "events", ONE, "events that an analysis read"),
    Metric(LOCALITY, "% local by placement", PERCENT, "bytes read on a host that holds the file / bytes read",
           "higher"),
    Metric(NETWORK_LOCALITY, "% local by network", PERCENT, "1 - bytes that the analysing hosts received / bytes read",
           "higher"),
    Metric(CHECKPOINTS, "checkpoints", ONE, "checkpoints written or read"),
    Metric(SAMPLES, "samples", ONE, "samples read in all epochs"),
    Metric(EPOCHS, "epochs", ONE, "epochs of a training job"),
    Metric(ACCELERATOR, "% AU", PERCENT, "accelerator utilisation: compute time / time, without the first batch of an epoch",
           "higher"),
    Metric(COMPUTE_WALL, "compute s, wall", S, "compute time of a batch, wall time"),
    Metric(REQUESTS, "requests", ONE, "requests that inference servers served"),
    Metric(TOKENS, "tokens", ONE, "tokens that inference servers generated"),
    Metric(TOKENS_READ, "tokens read", ONE, "tokens whose keys and values were read from the cache"),
    Metric(ACCELERATORS, "accelerators", ONE, "emulated accelerators of an imported training run"),
    Metric(BENCHMARK_RATE, "samples/s stated", Unit("samples/s", "1/s"),
           "samples/s as MLPerf Storage's summary states them: mean over epochs of the sum of the accelerators' own rates"),
    Metric(NAMEPLATE_W, "W nameplate", W,
           "sum of the ratings of all power supplies of servers and switches, as a submission's system description "
           "states them: nameplate, not measured, without clients"),
    Metric(DESIGN_W, "W design", W, "the same of the least number of power supplies that must be active"),
    Metric(LOAD_CPU, "load CPU s", S, "CPU time of the load's own programs", "lower"),
    *(
        Metric(f"{peak}_{key}_ev", f"{title} {text}", _GEV, f"{text} of the {title} peak as fitted")
        for peak, title in TITLES.items()
        for key, text in (
            ("mass", "mass"),
            ("mass_error", "standard error of the mass"),
            ("width", "width"),
            ("width_error", "standard error of the width"),
        )
    ),
)  # fmt: skip


def entries() -> Iterator[Metric]:
    """Gather the entries: those of this file, then those of each measure."""
    yield from ENTRIES
    for _, its_entries in measures():
        yield from its_entries


@cache
def measures() -> tuple[tuple[families.Member, tuple[Metric, ...]], ...]:
    """Return every measure with its entries: those of perjoule, then those of other packages that can be
    used.
    """
    gathered = [*ENTRIES]

    def with_entries(member: families.Member) -> tuple[families.Member, tuple[Metric, ...]]:
        module = member.load()
        its_entries: tuple[Metric, ...] = tuple(vars(module).get("METRICS", ()))
        if member.package:
            _require_measure(member, module, its_entries, set(_names(gathered)))
        gathered.extend(its_entries)
        return member, its_entries

    return tuple(families.usable(families.MEASURES, with_entries))


def _require_measure(
    member: families.Member, module: ModuleType, its_entries: tuple[object, ...], taken: set[str]
) -> None:
    """Refuse a measure of another package that lacks something, or whose numbers others have already.

    Raises PackageError.
    """
    member.require(callable(vars(module).get("measure")), "it has no function `measure`")
    member.require(
        bool(its_entries) and all(isinstance(entry, Metric) for entry in its_entries),
        "METRICS has no entries, or some that are no Metric",
    )
    names = member.guarded(_names)(cast("tuple[Metric, ...]", its_entries))
    member.require(
        not (twice := sorted(taken & set(names))), f"{', '.join(twice)} is taken by another measure"
    )


def _names(some: Iterable[Metric]) -> list[str]:
    """Return the keys of entries, and the labels by which they are looked up."""
    every = [metric for entry in some for metric in _each(entry)]
    return [*(metric.key for metric in every), *(metric.label for metric in every if metric.headline)]


def keys(entry: Metric) -> list[str]:
    """Return the keys of all metrics of an entry."""
    return [metric.key for metric in _each(entry)]


def package_of(key: str) -> str:
    """Return the package whose measure has this metric, with its version; "" for perjoule's own, and for
    an unknown metric.
    """
    having = (
        member.package
        for member, its_entries in measures()
        if any(key in keys(entry) for entry in its_entries)
    )
    return next(having, "")


def _each(entry: Metric) -> Iterator[Metric]:
    yield from (burst for metric in _expanded(entry) for burst in _bursts(metric))


@cache
def _of(entry: Metric, name: str) -> Metric:
    for part, names_of in _PARTS.items():
        if f"{{{part}}}" in entry.key:
            key, definition = (
                entry.key.format(**{part: name}),
                entry.definition.format(**{part: names_of[name]}),
            )
            label = {
                "role": f"{name} {entry.label}",
                "piece": f"{entry.label} {names_of[name]}",
                "stage": f"{entry.label} {name}",
            }[part]
            return replace(entry, key=key, label=label, definition=definition)
    boundary = next(boundary for boundary in BOUNDARIES if boundary.name == name)
    return replace(
        entry,
        key=entry.key.format(boundary=boundary.prefix),
        label=entry.label if boundary.name == NET else f"{boundary.name} {entry.label}",
        definition=entry.definition.format(boundary=boundary.hosts),
        boundary=boundary.name,
        headline=entry.headline and boundary.headline,
        quantity=entry.quantity if boundary.printed else "",
        budgeted=entry.budgeted and boundary.budgeted,
    )


_PARTS: Mapping[str, Mapping[str, str]] = {"role": ROLES, "piece": PIECES, "stage": STAGES}


def _expanded(entry: Metric) -> Iterator[Metric]:
    if "{boundary}" in entry.key:
        for boundary in BOUNDARIES:
            yield from _with_uncertainties(entry.of(boundary.name))
    elif names := next((part_keys for part, part_keys in _PARTS.items() if f"{{{part}}}" in entry.key), None):
        yield from map(entry.of, names)
    else:
        yield entry


def _with_uncertainties(entry: Metric) -> Iterator[Metric]:
    yield entry
    if entry.budgeted:
        plain = replace(entry, better="lower", headline=False, quantity="", budgeted=False)
        half, shared = (
            "half of the 95 % interval of one trial",
            "the part of it that all repetitions on one meter share",
        )
        yield replace(
            plain,
            key=entry.uncertainty,
            label=f"{entry.label} uncertainty",
            definition=f"{entry.definition}: {half}",
        )
        yield replace(
            plain,
            key=entry.shared_uncertainty,
            label=f"{entry.label} shared uncertainty",
            definition=f"{entry.definition}: {half}, {shared}",
        )


def _bursts(metric: Metric) -> Iterator[Metric]:
    yield metric
    if metric.burst:
        definition = f"{metric.definition}; of a write until the last client's fsync returned"
        boundary = "" if metric.boundary == NET else metric.boundary
        plain = replace(metric, headline=False, quantity="", boundary=boundary, budgeted=False)
        yield replace(plain, key=metric.burst, label=f"burst {metric.label}", definition=definition)


class _Registry(Mapping[str, Metric]):
    """All metrics by key.

    They are gathered when the first one is looked up, so that a measure's file can import this one.
    """

    def __init__(self, by: str, *, headlines: bool = False) -> None:
        self._by, self._headlines = by, headlines

    @cached_property
    def _gathered(self) -> Mapping[str, Metric]:
        every = (metric for entry in entries() for metric in _each(entry))
        return {
            getattr(metric, self._by): metric for metric in every if metric.headline or not self._headlines
        }

    def __getitem__(self, key: str) -> Metric:
        return self._gathered[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._gathered)

    def __len__(self) -> int:
        return len(self._gathered)


METRICS: Mapping[str, Metric] = _Registry("key")
BY_LABEL: Mapping[str, Metric] = _Registry("label", headlines=True)


@cache
def whole_window(key: str) -> str:
    """Return the key of the headline whose burst this is; of anything else the key itself."""
    return next((metric.key for metric in METRICS.values() if metric.burst == key), key)


def metric_of(key: str) -> Metric:
    """Describe a metric, or that of one user ("user/analysis/latency_p99_s").

    A key without an entry, as a record of another perjoule may have it, is a bare number.
    """
    name = key.rpartition("/")[2]
    return METRICS.get(name) or Metric(key, key, Unit("", ""), "")
