"""What the rebuild of failed disks moved and cost, held against what redundancy alone explains.

Without a load, whatever moves beyond what moved before the failure is the rebuild's. With one it is not known whose bytes they
are, so bytes are added up and nothing is divided by those lost. Definitions are in docs/explanations/how-numbers-are-made.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perjoule.energy.hosts import data_hosts, roles
from perjoule.measures.overhead import total
from perjoule.model import REBUILT, Quantity, Redundancy, healthy_since
from perjoule.model.doubts import EVENTS, TRAFFIC, Doubt
from perjoule.trial.reading import Reading

PARTS = frozenset({"fail", "back"})  # of a rebuild: what others move is not distinguishable from it
LEAST_S = 1.0  # of the time before the failure, for a rate
EXPLAINED_RATIO = 0.1  # by which bytes may differ from those that redundancy explains
MOVED: Mapping[Quantity, str] = {
    "network_received": "rebuild_network_received_{role}_bytes",
    "network_sent": "rebuild_network_sent_{role}_bytes",
    "disk_read": "rebuild_disk_read_{role}_bytes",
    "disk_written": "rebuild_disk_written_{role}_bytes",
}
WAYS: Mapping[Quantity, str] = {"network_received": "network", "disk_read": "disk_read", "disk_written": "disk_written"}
SUBJECTS = {"network": "crossed the network", "disk_read": "were read from disks", "disk_written": "were written to disks"}


@dataclass(frozen=True)
class Rebuild:
    """The metrics of a trial in which disks failed, and their doubts."""

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    doubts: tuple[Doubt, ...] = ()


def explained(kept: Redundancy) -> Mapping[str, float]:
    """Return the bytes that redundancy alone moves for each byte that a failed disk held.

    A copy is read once, sent once and written once. A part of a code of k data parts needs k others, read on k hosts. One host
    computes it: either the one that gets it, to which k parts are sent, or one that has a part, to which k - 1 are sent, and
    which sends the new one.
    """
    parts_count = float(kept.data_count or 1)
    return {"network": parts_count, "disk_read": parts_count, "disk_written": float(kept.beneath_count)}


def rebuild(reading: Reading, began_s: float) -> Rebuild:
    """Return what the rebuild cost; nothing if no disk failed.

    Only what was lost, if it was not rebuilt by the end of the trial, or if something else happened in it.

    Args:
        reading: with the failures and the file system's answers after them.
        began_s: when the window of the load or of its absence began.
    """
    record, series, emulated = reading.record, reading.series, reading.dilation.emulated
    failed = [one for one in record.events if one.event.kind == "fail"]
    healthy_s = healthy_since(record.events, record.health)
    if not failed:
        return Rebuild()
    lost_bytes = sum(one.lost_bytes or 0 for one in failed)
    metrics = {"rebuild_lost_bytes": float(lost_bytes)}
    written = next((phase for phase in record.phases if phase.name == REBUILT), None)
    if others := sorted({one.event.kind for one in record.events} - PARTS):
        what = f"{'another event' if len(others) == 1 else 'other events'} ({', '.join(others)})"
        verb = "was" if len(others) == 1 else "were"
        why = f"{what} {verb} in the trial, which may move bytes too"
        return Rebuild(metrics, (EVENTS.doubt(f"the rebuild has no numbers of its own: {why}"),))
    if healthy_s is None or written is None:
        return Rebuild(metrics)
    first_s, last_s = failed[0].began_s, written.ended_s
    metrics["rebuild_s"] = emulated(healthy_s - first_s)
    for role, names in roles(record).items():
        for quantity, metric in MOVED.items():
            if (moved := total(series, quantity, names, first_s, last_s).value) is not None:
                metrics[metric.format(role=role)] = moved
    still = record.outcome is not None and all(r.direction == "idle" for r in record.outcome.results)
    if not still or not lost_bytes or first_s - began_s < LEAST_S:
        why = "less than a second was measured before it" if still and lost_bytes else "the disk held nothing" if still else ""
        return Rebuild(metrics, (EVENTS.doubt(f"the rebuild is not compared with the redundancy: {why}"),) if why else ())
    lengthening = (last_s - first_s) / (first_s - began_s)  # of the time before, to that of the rebuild
    for quantity, way in WAYS.items():
        spans = ((first_s, last_s), (began_s, first_s))
        moved, before = (total(series, quantity, data_hosts(record), *span).value for span in spans)
        if moved is not None and before is not None:
            metrics[f"rebuild_{way}_ratio"] = (moved - before * lengthening) / lost_bytes
    whole_j, moved_j, before_j = (
        reading.servers(*span).net_j for span in ((first_s, healthy_s), (first_s, last_s), (began_s, first_s))
    )
    if whole_j is not None:
        metrics["rebuild_energy_per_byte_j"] = emulated(whole_j) / lost_bytes
    if moved_j is not None and before_j is not None:
        metrics["rebuild_added_per_byte_j"] = emulated(moved_j - before_j * lengthening) / lost_bytes
    if record.redundancy is None:
        return Rebuild(metrics)
    due = {way: ratio for way, ratio in explained(record.redundancy).items() if f"rebuild_{way}_ratio" in metrics}
    apart = [way for way, ratio in due.items() if abs(metrics[f"rebuild_{way}_ratio"] / ratio - 1) > EXPLAINED_RATIO]
    doubts = (_doubt(way, metrics[f"rebuild_{way}_ratio"], due[way]) for way in apart)
    return Rebuild(metrics | {f"derived_rebuild_{way}_ratio": ratio for way, ratio in due.items()}, tuple(doubts))


def _doubt(way: str, measured: float, due: float) -> Doubt:
    size = "more" if measured > due else "fewer"
    return TRAFFIC.doubt(
        f"rebuild: {size} bytes {SUBJECTS[way]} than the {due:g} for each lost byte that redundancy explains, by more than "
        f"{100 * EXPLAINED_RATIO:.0f} %"
    )
