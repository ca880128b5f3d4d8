"""A record and its series to the numbers of the trial: one Point per direction.

A write counts until the disks hold it, see `windows`; numbers up to the last client's fsync have the prefix "burst_".

If several users loaded at once there is one Point for all of them, because joules can't be attributed to one of them. Its
direction is "mixed" if some read and some wrote, and each user's own numbers are among its metrics (see `fairness`).
"""

from collections.abc import Mapping, Sequence

from perjoule.energy.power import joules
from perjoule.measures import idle, interference
from perjoule.measures.amplification import compare
from perjoule.measures.burst import burst
from perjoule.measures.energies import Work, energies, energy_metrics
from perjoule.measures.events import events
from perjoule.measures.fairness import user_metrics
from perjoule.measures.latency import latency_s
from perjoule.measures.overhead import Overhead, disk_use, overhead
from perjoule.measures.overlap import common_rate, told_rates
from perjoule.measures.plausibility import doubts
from perjoule.measures.rebuild import rebuild
from perjoule.measures.tail import tail
from perjoule.measures.throughput import rates
from perjoule.model import ClientResult, Direction, Point, Record, Series
from perjoule.trial.reading import Reading


def points(record: Record, series: Sequence[Series]) -> tuple[Point, ...]:
    """Return the numbers of a valid trial, one Point per direction with any work; none for a failed one.

    If no bytes are moved (metadata), operations are counted instead, and metrics per byte are omitted; an idle file
    system has neither. A metric that was not measured, or whose amount is refused, is not among the keys; the doubts say why.
    """
    return points_of(Reading(record, series))


def points_of(reading: Reading) -> tuple[Point, ...]:
    """Return the same of a trial that others read, too."""
    return tuple(_point(reading, direction, results) for direction, results in reading.loads.items())


def _point(reading: Reading, direction: Direction, results: Sequence[ClientResult]) -> Point:
    record, series, dilation = reading.record, reading.series, reading.dilation
    span = reading.windows[direction]
    began_s, ended_s = span.began_s, span.ended_s
    user_bytes, operations_count = sum(r.moved_bytes for r in results), sum(r.operations_count for r in results)
    counted = ("efficiency_bytes_per_j", user_bytes) if user_bytes else ("operations_per_j", operations_count)
    duration_s = dilation.emulated(span.length_s)
    still = direction == "idle"
    work = idle.work(record, duration_s) if still else Work(*counted, duration_s)
    metrics = rates(record, work)
    if (common := common_rate(reading, results)) is not None:
        metrics["common_throughput_bytes_per_s"] = common
    power = energies(reading, began_s, ended_s, work)
    early = burst(reading, span, work)
    metrics |= {**power.metrics, **early.metrics}
    disks = reading.metering.disks
    if disks and (disks_j := joules(reading.signed(disks.net), began_s, ended_s)):
        metrics |= energy_metrics("device_", dilation.emulated(disks_j), work)
    for name in ("p50", "p99"):
        if (latency := latency_s(results, name)) is not None:
            metrics[f"latency_{name}_s"] = dilation.emulated(latency)
    cost = overhead(record, series, began_s, ended_s, user_bytes) if user_bytes else Overhead()
    explained = compare(record, results[0].direction, cost.metrics)
    metrics |= {**cost.metrics, **disk_use(reading, began_s, ended_s), **explained.metrics}
    if (ratio := interference.cpu_ratio(record, series)) is not None:
        metrics["strangers_cpu_ratio"] = ratio
    metrics |= tail(reading)
    if record.outcome is not None:
        metrics |= record.outcome.measured
        metrics |= _physics_metrics(record.outcome.measured.get("events_count", 0.0), metrics)
    metrics |= user_metrics(results, dilation)
    hit = events(reading, results)
    restored = rebuild(reading, began_s)
    metrics |= {**hit.metrics, **restored.metrics}
    quiet = idle.idle(reading, began_s, ended_s) if still else idle.Idle()
    metrics |= quiet.metrics
    against = (
        *record.doubts,
        *span.doubts,
        *power.doubts,
        *early.doubts,
        *cost.doubts,
        *explained.doubts,
        *quiet.doubts,
        *hit.doubts,
        *restored.doubts,
        *doubts(reading),
    )
    told = told_rates(metrics, results)
    shared = {**power.shared, **early.shared}
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
