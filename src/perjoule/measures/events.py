"""What an event costs: rate and power before, during and after it, the time and the joules until healthy, and the stalls.

A load has up to four stages: "before" the first event, "during" the time from the first to the last event, "healing" until the
file system is healthy, and "after". Each is cut to the time in which clients load. Definitions are in
docs/explanations/how-numbers-are-made.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite

import numpy as np

from perjoule.energy.samples import Floats
from perjoule.measures.latency import Calls, calls
from perjoule.model import ClientResult, Record, Series, healthy_since
from perjoule.model.doubts import EVENTS, UNDILATED, Doubt
from perjoule.model.metrics import PERCENTILES, metric_of
from perjoule.trial.reading import Reading

LEAST_S = 1.0  # of a stage, wall time: two samples of a client's log
PAUSES_RATIO = 0.05  # of the time before the first event, from which pauses are the load's own


@dataclass(frozen=True)
class Events:
    """The metrics of a trial in which something happened, and their doubts."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    doubts: tuple[Doubt, ...] = ()


def events(reading: Reading, results: Sequence[ClientResult]) -> Events:
    """Return what the events of a trial cost; nothing of a trial without."""
    record, series, emulated = reading.record, reading.series, reading.dilation.emulated
    if not record.events:
        return Events()
    first_s, last_s = record.events[0].began_s, record.events[-1].ended_s
    logs = _logs(series, results)
    began_s, ended_s = loading(results, logs)
    both = bool(logs) and _both(record, results)
    logs = [] if both else logs
    healthy_s = healthy_since(record.events, record.health)
    metrics = {"event_late_s": max(one.late_s for one in record.events)}
    spans = stages(record, began_s, ended_s)
    for stage, (from_s, to_s) in spans.items():
        if logs:
            moved_bytes = sum(float(log.value @ inside_s(log, from_s, to_s)) for log in logs)
            metrics[f"event_{stage}_bytes_per_s"] = moved_bytes / emulated(to_s - from_s)
        if (drawn_j := reading.servers(from_s, to_s).net_j) is not None:
            metrics[f"event_{stage}_w"] = drawn_j / (to_s - from_s)
    if healthy_s is not None:
        metrics["event_healing_s"] = emulated(healthy_s - last_s)
        if (healing_j := reading.servers(last_s, healthy_s).net_j) is not None:
            metrics["event_healing_j"] = emulated(healing_j)
    gains = [one.gained_bytes for one in record.events if one.gained_bytes is not None]
    if gains:
        metrics["event_gained_bytes"] = float(sum(gains))
    alone = len({(one.event.kind, one.event.at_s) for one in record.events}) == 1 and all(r.direction == "idle" for r in results)
    if alone and sum(gains) and "event_healing_j" in metrics:
        metrics["event_gained_per_byte_j"] = metrics["event_healing_j"] / sum(gains)
    if logs and first_s < ended_s:
        stalls = [stalls_s(log, max(began_s, first_s), ended_s) for log in logs]
        metrics["event_stalled_s"] = emulated(sum(map(sum, stalls)) / len(stalls))
        metrics["event_longest_stall_s"] = emulated(max(max(own, default=0.0) for own in stalls))
    took_s = _latencies_s(calls(series, results), spans, ended_s)
    metrics |= {key: emulated(one_s) for key, one_s in took_s.items() if isfinite(one_s)}
    said = "rates and stalls are left out: clients read and wrote at once, and their logs have the bytes of both"
    mixed = (EVENTS.doubt(said),) if both else ()
    longer = [metric_of(key).label for key, one_s in took_s.items() if one_s == inf]
    told = f"calls took longer than the load generator's log of latencies can tell, so these are left out: {', '.join(longer)}"
    untold = (EVENTS.doubt(told),) if longer else ()
    return Events(metrics, (*mixed, *untold, *_doubts(reading, logs, began_s, first_s)))


def loading(results: Sequence[ClientResult], logs: Sequence[Series]) -> tuple[float, float]:
    """Return when clients loaded: from the first one's start, without the closing fsync, in which no call of theirs returns.

    The last sample of a log ends with that fsync, so the load ends where the last of these begin; without logs, with the clients.
    """
    ends_s = [float(log.t_s[-1] - log.duration_s[-1]) for log in logs if len(log.t_s) > 1]
    whole = len(ends_s) == len(logs) > 0
    return min(r.began_s for r in results), max(ends_s) if whole else max(r.ended_s for r in results)


def stages(record: Record, began_s: float, ended_s: float) -> Mapping[str, tuple[float, float]]:
    """Return the stages of a load that are long enough, wall time."""
    first_s, last_s = record.events[0].began_s, record.events[-1].ended_s
    healthy_s = healthy_since(record.events, record.health)
    edges = {"before": (began_s, first_s), "healing": (last_s, ended_s if healthy_s is None else healthy_s)}
    edges |= {"during": (first_s, last_s)} if len(record.events) > 1 else {}
    edges |= {"after": (healthy_s, ended_s)} if healthy_s is not None else {}
    cut = {name: (max(from_s, began_s), min(to_s, ended_s)) for name, (from_s, to_s) in edges.items()}
    return {name: (from_s, to_s) for name, (from_s, to_s) in cut.items() if to_s - from_s >= LEAST_S}


def inside_s(log: Series, began_s: float, ended_s: float) -> Floats:
    """Return how long each sample of a log is inside a window. Shape (N,). A client moves nothing before its first sample."""
    return np.maximum(np.minimum(log.t_s, ended_s) - np.maximum(log.t_s - log.duration_s, began_s), 0.0)


def stalls_s(log: Series, began_s: float, ended_s: float) -> list[float]:
    """Return the lengths of the times in a window in which nothing moved; neighbouring samples without bytes are one."""
    still = log.value == 0
    run = np.cumsum(~still)[still]  # samples without bytes in between have seen as many with some
    lengths_s = np.bincount(run, weights=inside_s(log, began_s, ended_s)[still])
    return [float(one) for one in lengths_s if one > 0]


def _latencies_s(returned: Calls, spans: Mapping[str, tuple[float, float]], ended_s: float) -> dict[str, float]:
    """Return the percentiles of each stage, wall time; of the last one also with the calls after the logs' last whole samples."""
    return {
        f"event_{stage}_latency_p{percent}_s": returned.percentile_s(percent, from_s, to_s if to_s < ended_s else inf)
        for stage, (from_s, to_s) in spans.items()
        for percent in PERCENTILES
    }


def _logs(series: Sequence[Series], results: Sequence[ClientResult]) -> list[Series]:
    """Return the log of each client, or none if one has none."""
    hosts = {one.host for one in results}
    found = [s for s in series if s.channel.quantity == "goodput" and s.channel.host in hosts]
    return found if {s.channel.host for s in found} == hosts and len(found) == len(hosts) else []


def _both(record: Record, results: Sequence[ClientResult]) -> bool:
    """Whether a client also did what is not of these results: its log has the bytes of all that it did."""
    hosts, directions = {one.host for one in results}, {one.direction for one in results}
    every = record.outcome.results if record.outcome else ()
    return any(one.host in hosts and one.direction not in directions for one in every)


def _doubts(reading: Reading, logs: Sequence[Series], began_s: float, first_s: float) -> Iterator[Doubt]:
    record = reading.record
    if at_scale := reading.dilation.text:
        yield UNDILATED.doubt(
            f"timeouts of daemons keep their own time, which {at_scale} does not dilate: what waits for one takes "
            "less emulated time than on the hardware"
        )
    if healthy_since(record.events, record.health) is None:
        last = next((one.words for one in reversed(record.health) if one.words), "it was not asked often enough")
        unknown = "so the time and the joules until then are not known"
        yield EVENTS.doubt(f"it was not healthy by the end of the trial, {unknown}: {last}")
    paused_s = sum(sum(stalls_s(log, began_s, first_s)) for log in logs)
    if logs and first_s > began_s and paused_s > PAUSES_RATIO * len(logs) * (first_s - began_s):
        yield EVENTS.doubt("the load pauses by itself, also before the first event: its stalls are not all due to events")
