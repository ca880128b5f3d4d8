"""What an event costs: rate and power before, during and after it, the time and the joules until healthy, and
the stalls.

A load has up to four stages: "before" the first event, "during" the time from the first to the last event,
"healing" until the file system is healthy, and "after". Each is cut to the time in which clients load.
Definitions are in docs/explanations/how-numbers-are-made.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING

from perjoule.model import ClientResult, Numbers, Record, Series, healthy_since
from perjoule.model.doubts import EVENTS, UNDILATED, Doubt
from perjoule.model.metrics import KJ_PER_TIB, MEBIBYTES, MIB_PER_S, MS, J, Metric, S, W, metric_of

if TYPE_CHECKING:
    from perjoule.trial.load import Load
    from perjoule.trial.logs import Calls

RATE = Metric("event_{stage}_bytes_per_s", "MiB/s", MIB_PER_S, "bytes that clients moved {stage} / that time", "higher",
              together=True, event=True)  # fmt: skip
POWER = Metric("event_{stage}_w", "W", W, "energy of the servers without the switch while clients loaded, {stage} / that time",
               "lower", energy=True, event=True)  # fmt: skip
PERCENTILES = {
    percent: Metric(f"event_{{stage}}_latency_p{percent}_s", f"p{percent}", MS,
                    f"{name} of the completion latency of all clients' calls that returned {{stage}}", "lower", event=True)
    for percent, name in {50: "median", 99: "99th percentile"}.items()
}  # fmt: skip
HEALING = Metric("event_healing_s", "s until healthy", S, "time from the last event until the file system was healthy", "lower",
                 event=True)  # fmt: skip
HEALING_ENERGY = Metric("event_healing_j", "J until healthy", J,
                        "energy of the servers without the switch from the last event until the file "
                        "system was healthy",
                        "lower", energy=True, event=True)  # fmt: skip
STALLED = Metric(
    "event_stalled_s",
    "s stalled",
    S,
    "time after the first event in which no call of a client returned, the mean of clients",
    "lower",
    event=True,
)
LONGEST_STALL = Metric(
    "event_longest_stall_s",
    "s of longest stall",
    S,
    "longest time after the first event in which no call of a client returned",
    "lower",
    event=True,
)
GAINED = Metric("event_gained_bytes", "MiB gained", MEBIBYTES,
                "bytes of users' data, as copies or parts, that hosts which joined held in the end", event=True)  # fmt: skip
PER_GAINED = Metric("event_gained_per_byte_j", "kJ/TiB gained", KJ_PER_TIB,
                    "energy of the servers without the switch from the last event until the file system was "
                    "healthy / bytes "
                    "that hosts which joined held in the end", "lower", energy=True, event=True)  # fmt: skip
LATE = Metric(
    "event_late_s",
    "s late",
    S,
    "most by which an event was done later than planned, wall time",
    "lower",
    event=True,
)
METRICS = (
    RATE,
    POWER,
    *PERCENTILES.values(),
    HEALING,
    HEALING_ENERGY,
    STALLED,
    LONGEST_STALL,
    GAINED,
    PER_GAINED,
    LATE,
)

LEAST_S = 1.0  # of a stage, wall time: two samples of a client's log
PAUSES_RATIO = 0.05  # of the time before the first event, from which pauses are the load's own


def measure(load: "Load") -> Numbers:
    """Return what the events of a trial cost; nothing of a trial without."""
    record, series, results, emulated = load.record, load.reading.series, load.results, load.emulated
    if not record.events:
        return Numbers()
    from perjoule.trial.logs import calls, inside_s, loading, logs, stalls_s

    first_s, last_s = record.events[0].began_s, record.events[-1].ended_s
    of_clients = logs(series, results)
    began_s, ended_s = loading(results, of_clients)
    both = bool(of_clients) and _both(record, results)
    of_clients = [] if both else of_clients
    healthy_s = healthy_since(record.events, record.health)
    numbers = {LATE.key: max(happened.late_s for happened in record.events)}
    spans = stages(record, began_s, ended_s)
    for stage, (from_s, to_s) in spans.items():
        if of_clients:
            moved_bytes = sum(float(log.value @ inside_s(log, from_s, to_s)) for log in of_clients)
            numbers[RATE.of(stage).key] = moved_bytes / emulated(to_s - from_s)
        if (drawn_j := load.reading.servers(from_s, to_s).net_j) is not None:
            numbers[POWER.of(stage).key] = drawn_j / (to_s - from_s)
    if healthy_s is not None:
        numbers[HEALING.key] = emulated(healthy_s - last_s)
        if (healing_j := load.reading.servers(last_s, healthy_s).net_j) is not None:
            numbers[HEALING_ENERGY.key] = emulated(healing_j)
    gains = [happened.gained_bytes for happened in record.events if happened.gained_bytes is not None]
    if gains:
        numbers[GAINED.key] = float(sum(gains))
    alone = len({(happened.event.kind, happened.event.at_s) for happened in record.events}) == 1 and all(
        r.direction == "idle" for r in results
    )
    if alone and sum(gains) and HEALING_ENERGY.key in numbers:
        numbers[PER_GAINED.key] = numbers[HEALING_ENERGY.key] / sum(gains)
    if of_clients and first_s < ended_s:
        stalls = [stalls_s(log, max(began_s, first_s), ended_s) for log in of_clients]
        numbers[STALLED.key] = emulated(sum(map(sum, stalls)) / len(stalls))
        numbers[LONGEST_STALL.key] = emulated(max(max(client_s, default=0.0) for client_s in stalls))
    took_s = _latencies_s(calls(series, results), spans, ended_s)
    numbers |= {key: emulated(one_s) for key, one_s in took_s.items() if isfinite(one_s)}
    mixed = (EVENTS.both_directions(),) if both else ()
    longer = [metric_of(key).label for key, one_s in took_s.items() if one_s == inf]
    untold = (EVENTS.latencies_too_long(metrics=", ".join(longer)),) if longer else ()
    return Numbers.plain(numbers, (*mixed, *untold, *_doubts(load, of_clients, began_s, first_s)))


def stages(record: Record, began_s: float, ended_s: float) -> Mapping[str, tuple[float, float]]:
    """Return the stages of a load that are long enough, wall time."""
    first_s, last_s = record.events[0].began_s, record.events[-1].ended_s
    healthy_s = healthy_since(record.events, record.health)
    edges = {"before": (began_s, first_s), "healing": (last_s, ended_s if healthy_s is None else healthy_s)}
    edges |= {"during": (first_s, last_s)} if len(record.events) > 1 else {}
    edges |= {"after": (healthy_s, ended_s)} if healthy_s is not None else {}
    cut = {name: (max(from_s, began_s), min(to_s, ended_s)) for name, (from_s, to_s) in edges.items()}
    return {name: (from_s, to_s) for name, (from_s, to_s) in cut.items() if to_s - from_s >= LEAST_S}


def _latencies_s(
    returned: "Calls", spans: Mapping[str, tuple[float, float]], ended_s: float
) -> dict[str, float]:
    """Return the percentiles of each stage, wall time; of the last one also with the calls after the logs'
    last whole samples.
    """
    return {
        metric.of(stage).key: returned.percentile_s(percent, from_s, to_s if to_s < ended_s else inf)
        for stage, (from_s, to_s) in spans.items()
        for percent, metric in PERCENTILES.items()
    }


def _both(record: Record, results: Sequence[ClientResult]) -> bool:
    """Whether a client also did what is not of these results: its log has the bytes of all that it did."""
    hosts, directions = {result.host for result in results}, {result.direction for result in results}
    every = record.outcome.results if record.outcome else ()
    return any(result.host in hosts and result.direction not in directions for result in every)


def _doubts(load: "Load", logs: Sequence[Series], began_s: float, first_s: float) -> Iterator[Doubt]:
    from perjoule.trial.logs import stalls_s

    record = load.record
    if at_scale := load.reading.dilation.text:
        yield UNDILATED.timeouts(scale=at_scale)
    if healthy_since(record.events, record.health) is None:
        last = next(
            (health.words for health in reversed(record.health) if health.words),
            "it was not asked often enough",
        )
        yield EVENTS.not_healthy(state=last)
    paused_s = sum(sum(stalls_s(log, began_s, first_s)) for log in logs)
    if logs and first_s > began_s and paused_s > PAUSES_RATIO * len(logs) * (first_s - began_s):
        yield EVENTS.pauses()
