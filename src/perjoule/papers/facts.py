"""Measurements with the facts that papers use, so a printed number and a measurement can be matched."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perjoule.measures.overhead import COUNTED, USE
from perjoule.measures.whole import HIGHEST, LOWEST, MEAN
from perjoule.model import Cell, Interval, Quantity, Record
from perjoule.model.metrics import ENERGY, METRICS, OF_PEAK, POWER, PREFIXES, RATES, Metric, metric_of
from perjoule.model.units import BYTES, exact_text
from perjoule.papers.published import Paper, PrintedNumber, printed
from perjoule.papers.published.paper import Fact
from perjoule.statistics.cells import filesystem_names

SIZES = ("transfer", "block")
SIZE_RATIO = 0.06  # "4 MB" and 4 MiB are the same size, whichever of them was meant
APART = ("configuration", "cluster")  # facts that may differ between comparable numbers
# Costs of a user's byte on all servers, and how busy the disks of those with data are.
_COUNTERS: tuple[Quantity, ...] = ("network_received", "network_sent", "disk_read", "disk_written")
OVERHEADS = {COUNTED[counter].of("servers").key: counter.replace("_", " ") for counter in _COUNTERS}
OVERHEADS[USE.of("storage").key] = "disk use"
WHOLE = "boards + disks"  # of parts that are metered apart
_OF_PARTS = {
    PREFIXES[part] + key: quantity
    for part in ("controller", "device")
    for key, quantity in ((POWER, "power"), (ENERGY, "energy"))
}
_HAVE_PARTS = ("power", "energy")
_PARTS = {"controller": "boards", "device": "disks", "": WHOLE, "net": WHOLE}
EXTREMES = {"maximum": max, "minimum": min}
BENCHMARK = "the whole benchmark"  # the window of power that is not of a load alone
_OF_BENCHMARK: Mapping[str, Mapping[str, Fact]] = {
    metric.of(boundary).key: {"window": BENCHMARK, "samples": samples}
    for metric, samples in ((MEAN, ""), (LOWEST, "minimum"), (HIGHEST, "maximum"))
    for boundary in ("net", "controller", "device")
}
# usual facts; what has another of these is found only by its name
BY_NAME: Mapping[str, Fact] = {"part": WHOLE, "window": "", "samples": ""}


@dataclass(frozen=True)
class MeasuredMetric:
    """One metric of one cell, with the facts that a paper would state.

    Of a write it is what the load reported at its end, as in papers: until its last fsync. `durable` is then
    the metric until disks held the data.
    """

    metric: str  # of the cell
    # filesystem, cluster, direction, clients, access, transfer, beneath, block, ...
    facts: Mapping[str, Fact]
    cell: Cell
    simulated: bool = False  # nothing real was measured
    durable: str = ""
    emulated: bool = False  # hosts of the campaign were

    @property
    def quantity(self) -> str:
        """What papers call it, as in `published.QUANTITIES`."""
        return _quantity(metric_of(self.durable or self.metric))

    @property
    def until_durable(self) -> "MeasuredMetric":
        """The same until disks held the data."""
        return replace(self, metric=self.durable, durable="") if self.durable else self

    @property
    def interval(self) -> Interval:
        """Its repetitions and their mean."""
        return self.cell.metrics[self.metric]

    @property
    def ranked_by(self) -> tuple[float, ...]:
        """The values by which a cell has the extreme one: of a share of the peak its throughputs, because few
        clients have a lower peak.
        """
        of_share = metric_of(self.durable or self.metric).key == OF_PEAK
        metrics = self.cell.metrics
        keys = [_until_reported(metric_of(RATES[0]), self.cell)] if of_share else []
        return next((metrics[key].values for key in keys if key in metrics), self.interval.values)

    @property
    def window(self) -> str:
        """What it is over: the load of a direction, or the whole benchmark."""
        return str(self.facts.get("window", self.cell.direction))

    @property
    def words(self) -> str:
        """Its facts, with the quantity."""
        count = self.cell.clients_count
        return f"{self.cell.filesystem}, {self.cell.workload}, {count} client{'s' if count > 1 else ''}"

    def has(self, **facts_sought: Fact) -> bool:
        """Return whether it has all these facts; sizes match within the ambiguity of "MB".

        What is of a part alone, of the whole benchmark, or an extreme sample is found only by its name.
        """
        facts = {**self.facts, "quantity": self.quantity}
        if any(facts.get(key, usual) != usual and key not in facts_sought for key, usual in BY_NAME.items()):
            return False
        return all(key in facts and same(key, facts[key], value) for key, value in facts_sought.items())


@dataclass(frozen=True)
class NumberPair:
    """A printed number and the measurement of the same kind: its mean, the largest repetition for a paper's
    maximum, or the smallest for its minimum.
    """

    number: PrintedNumber
    measured: MeasuredMetric

    @property
    def value(self) -> float:
        """The value in SI units."""
        return self._of(self.measured)

    @property
    def durable(self) -> float | None:
        """That until disks held the data, of a write whose load reported another."""
        return self._of(self.measured.until_durable) if self.measured.durable else None

    def _of(self, measured: MeasuredMetric) -> float:
        extreme = EXTREMES.get(self.number.extreme)
        return extreme(measured.interval.values) if extreme else measured.interval.mean


def measured(records: Sequence[Record], cells: Sequence[Cell]) -> tuple[MeasuredMetric, ...]:
    """Return every cell's metrics with a paper's facts; metrics that papers have no word for are left out."""
    facts: dict[tuple[str, str], dict[str, Fact]] = {}
    simulated = all(record.traits.reality == "simulated" for record in records)
    emulated = any(record.traits.reality == "emulated" for record in records)
    for record in records:
        trial = record.trial
        for name in filesystem_names(trial):
            facts.setdefault((name, trial.workload.label), _facts(record))
    return tuple(
        MeasuredMetric(
            key,
            {
                **facts.get((cell.filesystem, cell.workload), {}),
                **_OF_BENCHMARK.get(metric.key, {"direction": cell.direction}),
                "clients": cell.clients_count,
                **({"of": "TPP"} if metric.key == OF_PEAK else {}),
                **({"part": _PARTS[metric.boundary]} if _quantity(metric) in _HAVE_PARTS else {}),
            },
            cell,
            simulated,
            metric.key if key != metric.key else "",
            emulated,
        )
        for cell in cells
        for metric in METRICS.values()
        if _quantity(metric) and metric.key in cell.metrics
        for key in [_until_reported(metric, cell)]
    )


def _until_reported(metric: Metric, cell: Cell) -> str:
    """Return the key of a write's number when the load reported it; else the metric's own."""
    return metric.burst if cell.direction == "write" and metric.burst in cell.metrics else metric.key


def _quantity(metric: Metric) -> str:
    """Return what papers call a metric; "" if they don't."""
    if metric.boundary == "gross":
        return ""
    if metric.key in _OF_BENCHMARK:
        return "power"
    return metric.quantity or OVERHEADS.get(metric.key) or _OF_PARTS.get(metric.key, "")


def beside(paper: Paper, measurements: Sequence[MeasuredMetric]) -> tuple[NumberPair, ...]:
    """Find the measurements of the same kind as a paper's numbers.

    Quantity, file system (of a number without one the load) and all facts of the number's own (direction,
    clients, transfer, ...) must match; so must the cluster, if the paper has numbers of the measured one. If
    several cells match (the paper does not state the number of clients), a maximum is compared with their
    largest, a minimum with their smallest, and any other number with none. The largest share of the peak is
    that of the largest throughput.
    """
    of_quantity: dict[str, list[MeasuredMetric]] = {}
    for measurement in measurements:
        of_quantity.setdefault(measurement.quantity, []).append(measurement)
    clusters = paper.values("cluster")
    return tuple(
        pair
        for number in paper.numbers
        for pair in _beside(number, of_quantity.get(number.quantity, []), clusters)
    )


def _beside(
    number: PrintedNumber, measurements: Sequence[MeasuredMetric], clusters: Collection[str]
) -> Iterator[NumberPair]:
    facts = {key: fact for key, fact in number.own.items() if key not in APART}
    system = next((key for key in ("filesystem", "workload") if key in number.facts), None)
    if system is None:
        return
    facts[system] = number.facts[system]
    if number.quantity not in _HAVE_PARTS:  # printed in the row of a part, but of the whole
        facts.pop("part", None)
    if facts.get("window") == BENCHMARK:
        facts["samples"] = number.extreme
    same_kind = [
        measurement
        for measurement in measurements
        if measurement.has(**facts)
        and (
            measurement.facts.get("cluster") not in clusters
            or measurement.facts.get("cluster") == number.facts.get("cluster")
        )
    ]
    extreme = EXTREMES.get(number.extreme)
    if len(same_kind) == 1:
        yield NumberPair(number, same_kind[0])
    elif same_kind and extreme:
        yield NumberPair(number, extreme(same_kind, key=lambda measurement: extreme(measurement.ranked_by)))


def same(key: str, first: Fact, second: Fact) -> bool:
    """Return whether two facts are equal."""
    if key in SIZES:
        return abs(size_bytes(first) / size_bytes(second) - 1) < SIZE_RATIO
    return first == second


def size_bytes(fact: Fact) -> float:
    """Parse a size in a paper's notation: "64 KB"."""
    if not isinstance(fact, str):
        return float(fact)
    text = printed(fact)
    return text.value * BYTES.get(text.unit, 1.0)


def _facts(record: Record) -> dict[str, Fact]:
    trial = record.trial
    facts: dict[str, Fact] = {
        "filesystem": trial.filesystem.kind,
        "cluster": record.cluster,
        "workload": trial.workload.kind,
    }
    traits, pattern = record.traits, record.traits.pattern
    if traits.beneath:
        facts |= {"beneath": traits.beneath, "block": exact_text(traits.beneath_block_bytes or 4096, BYTES)}
    if pattern.access:
        facts["access"] = pattern.access
    if pattern.transfer_bytes is not None:
        facts["transfer"] = exact_text(pattern.transfer_bytes, BYTES)
    if pattern.direct is not None:
        facts["direct_io"] = "yes" if pattern.direct else "no"
    return facts
