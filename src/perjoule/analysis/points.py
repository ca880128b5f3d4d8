"""A record and its series to the numbers of the trial: one Point per direction. Only here, wall time becomes emulated time.

A write counts until the disks hold it, see `windows`; numbers up to the last client's fsync have the prefix "burst_".

If several users loaded at once there is one Point for all of them, because joules can't be attributed to one of them. Its
direction is "mixed" if some read and some wrote, and each user's own numbers are among its metrics (see `fairness`).

On a testbed of scale s everything is 1/s times slower than on the emulated one: a second is s emulated seconds, watts stay the
same, so a joule is s emulated joules. Ratios per byte and CPU seconds count work and are not scaled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perjoule.analysis import idle, interference
from perjoule.analysis.amplification import compare
from perjoule.analysis.devices import device_j
from perjoule.analysis.efficiency import peak_bytes_per_s
from perjoule.analysis.energies import Energies, Work, energies, energy_metrics
from perjoule.analysis.events import events
from perjoule.analysis.fairness import user_metrics
from perjoule.analysis.hosts import roles
from perjoule.analysis.latency import latency_s
from perjoule.analysis.overhead import Overhead, disk_use, overhead, total
from perjoule.analysis.overlap import common_rate, told_rates
from perjoule.analysis.plausibility import doubts
from perjoule.analysis.power import boundaries
from perjoule.analysis.rebuild import rebuild
from perjoule.analysis.sides import CLIENTS
from perjoule.analysis.windows import Windows, durable_ratio, windows
from perjoule.model import ClientResult, Direction, Point, Quantity, Record, Series
from perjoule.model.metrics import METRICS


def points(record: Record, series: Sequence[Series]) -> tuple[Point, ...]:
    """Return the numbers of a valid trial, one Point per direction with any work; none for a failed one.

    If no bytes are moved (metadata), operations are counted instead, and metrics per byte are omitted; an idle file
    system has neither. A metric that was not measured, or whose amount is refused, is not among the keys; the doubts say why.
    """
    return tuple(_point(record, series, direction, results) for direction, results in loads(record).items())


def loads(record: Record) -> Mapping[Direction, Sequence[ClientResult]]:
    """Group client results by point: a direction, or all users together. Empty for a failed trial."""
    if record.status != "valid" or record.outcome is None:
        return {}
    found: dict[Direction, list[ClientResult]] = {}
    for result in sorted(record.outcome.results, key=lambda r: r.direction == "read"):
        found.setdefault(result.direction, []).append(result)
    found = {d: own for d, own in found.items() if d == "idle" or any(r.moved_bytes or r.operations_count for r in own)}
    if found and any(r.user for r in record.outcome.results):
        return {"mixed" if len(found) > 1 else next(iter(found)): record.outcome.results}
    return found


def _point(record: Record, series: Sequence[Series], direction: Direction, results: Sequence[ClientResult]) -> Point:
    span = windows(record, results)
    began_s, ended_s = span.began_s, span.ended_s
    user_bytes, operations_count = sum(r.moved_bytes for r in results), sum(r.operations_count for r in results)
    counted = ("efficiency_bytes_per_j", user_bytes) if user_bytes else ("operations_per_j", operations_count)
    duration_s = span.length_s * record.scale
    still = direction == "idle"
    work = idle.work(record, duration_s) if still else Work(*counted, duration_s)
    metrics = _rates(record, work)
    if (common := common_rate(record, series, results)) is not None:
        metrics["common_throughput_bytes_per_s"] = common
    power = energies(record, series, began_s, ended_s, work)
    burst = _burst(record, series, span, work, power.grade)
    metrics |= {**power.metrics, **burst.metrics}
    if disks_j := device_j(record, series, began_s, ended_s):
        metrics |= energy_metrics("device_", disks_j * record.scale, work)
    for name in ("p50", "p99"):
        if (latency := latency_s(results, name)) is not None:
            metrics[f"latency_{name}_s"] = latency * record.scale
    cost = overhead(record, series, began_s, ended_s, user_bytes) if user_bytes else Overhead()
    explained = compare(record, results[0].direction, cost.metrics)
    metrics |= {**cost.metrics, **disk_use(record, series, began_s, ended_s), **explained.metrics}
    if (ratio := interference.cpu_ratio(record, series)) is not None:
        metrics["strangers_cpu_ratio"] = ratio
    metrics |= _tail_metrics(record, series, power.grade)
    if record.outcome is not None:
        metrics |= record.outcome.measured
        metrics |= _physics_metrics(record.outcome.measured.get("events_count", 0.0), metrics)
    metrics |= user_metrics(results, record.scale)
    hit = events(record, series, results, power.grade)
    restored = rebuild(record, series, began_s, power.grade)
    metrics |= {**hit.metrics, **restored.metrics}
    clients_grade = power.grades.get(CLIENTS, power.grade)
    quiet = idle.idle(record, series, began_s, ended_s, power.grade, clients_grade) if still else idle.Idle()
    metrics |= quiet.metrics
    against = (
        *record.doubts,
        *span.doubts,
        *power.doubts,
        *burst.doubts,
        *cost.doubts,
        *explained.doubts,
        *quiet.doubts,
        *hit.doubts,
        *restored.doubts,
        *doubts(record, series),
    )
    told = told_rates(metrics, results)
    shared = {**power.shared, **burst.shared}
    shared |= {
        f"{name}_per_event_j": shared[f"{name}_j"]
        for name in ("energy", "gross_energy")
        if f"{name}_per_event_j" in metrics and f"{name}_j" in shared
    }
    simulated = record.traits.reality == "simulated"  # then whatever a meter or a model says of it is, too
    return Point(
        record.trial,
        direction,
        told,
        tuple(dict.fromkeys(against)),
        "simulated" if simulated and power.grade else power.grade,
        shared,
        power.source,
        {**power.omitted, **cost.omitted},
        dict.fromkeys(power.grades, "simulated") if simulated else power.grades,
        power.unstated,
        record.traits.reality,
    )


def _rates(record: Record, work: Work) -> dict[str, float]:
    """Return duration and rates."""
    if not work.loaded:
        return {"duration_s": work.duration_s}
    rate = work.count / work.duration_s
    if work.per_j == "operations_per_j":
        return {"duration_s": work.duration_s, "operations_per_s": rate}
    metrics = {"duration_s": work.duration_s, "throughput_bytes_per_s": rate}
    if tpp := peak_bytes_per_s(record):
        metrics |= {"tpp_bytes_per_s": tpp, "tpp_ratio": rate / tpp}
    return metrics


def _burst(record: Record, series: Sequence[Series], span: Windows, work: Work, grade: str) -> Energies:
    """Return a write's numbers up to the last client's fsync, its watts of this grade, and the share that was on disk by then."""
    if not span.durable:
        return Energies({})
    burst = replace(work, duration_s=(span.burst_s - span.began_s) * record.scale)
    power = energies(record, series, span.began_s, span.burst_s, burst, grade=grade)
    found = {**_rates(record, burst), **power.metrics}
    metrics = {f"burst_{name}": value for name, value in found.items() if f"burst_{name}" in METRICS}
    if (share := durable_ratio(record, series, span)) is not None:
        metrics["durable_ratio"] = share
    missed = () if power.grade == grade else tuple(one.of("until the clients' fsync") for one in power.doubts)
    return Energies(
        metrics, doubts=missed, shared={f"burst_{name}": own for name, own in power.shared.items() if f"burst_{name}" in metrics}
    )


def _tail_metrics(record: Record, series: Sequence[Series], grade: str) -> dict[str, float]:
    """Return how long the servers took to become idle after the load, and their energy, by this grade, and bytes meanwhile."""
    tail = next((p for p in record.phases if p.name == "tail" and p.ended_s > p.began_s), None)
    if tail is None:
        return {}
    metrics = {"tail_s": (tail.ended_s - tail.began_s) * record.scale}
    net_j = boundaries(record, series, tail.began_s, tail.ended_s, grade=grade).net_j
    if net_j is not None:
        metrics["tail_energy_j"] = net_j * record.scale
    servers = roles(record).get("servers", frozenset())
    quantities: tuple[Quantity, ...] = ("network_received", "disk_read", "disk_written")
    for quantity in quantities:
        moved = total(series, quantity, servers, tail.began_s, tail.ended_s).value
        if moved is not None:
            metrics[f"tail_{quantity}_bytes"] = moved
    return metrics


def _physics_metrics(events_count: float, metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the cost of an event of the detector, if a load counts those."""
    if not events_count:
        return {}
    energies = {
        f"{name}_per_event_j": metrics[f"{name}_j"] / events_count
        for name in ("energy", "gross_energy")
        if f"{name}_j" in metrics
    }
    return {"events_per_s": events_count / metrics["duration_s"], **energies}
