"""What the rebuild of failed disks moved and cost, held against what redundancy alone explains.

Without a load, whatever moves beyond what moved before the failure is the rebuild's. With one it is not known
whose bytes they are, so bytes are added up and nothing is divided by those lost. Definitions are in
docs/explanations/how-numbers-are-made.md.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from perjoule.energy.hosts import data_hosts
from perjoule.model import REBUILT, Numbers, Quantity, Redundancy, healthy_since
from perjoule.model.doubts import EVENTS, TRAFFIC, Doubt
from perjoule.model.metrics import BYTE_PER_BYTE, KJ_PER_TIB, MEBIBYTES, Metric, S

if TYPE_CHECKING:
    from perjoule.trial.load import Load

LOST = Metric("rebuild_lost_bytes", "MiB lost", MEBIBYTES, "bytes of users' data, as copies or parts, that failed disks held",
              rebuild=True)  # fmt: skip
TIME = Metric("rebuild_s", "s until rebuilt", S, "time from the failure of a disk until the file system was healthy", "lower",
              rebuild=True)  # fmt: skip
RATIOS: Mapping[Quantity, Metric] = {
    "network_received": Metric("rebuild_network_ratio", "rebuild network", BYTE_PER_BYTE,
                               "bytes that data hosts received for the rebuild / bytes that failed disks held", "lower",
                               rebuild=True),
    "disk_read": Metric("rebuild_disk_read_ratio", "rebuild disk read", BYTE_PER_BYTE,
                        "bytes that disks of data hosts read for the rebuild / bytes that failed disks held", "lower",
                        rebuild=True),
    "disk_written": Metric("rebuild_disk_written_ratio", "rebuild disk written", BYTE_PER_BYTE,
                           "bytes that disks of data hosts wrote for the rebuild / bytes that failed disks held", "lower",
                           rebuild=True),
}  # fmt: skip
DERIVED: Mapping[Quantity, Metric] = {
    "network_received": Metric("derived_rebuild_network_ratio", "rebuild network, derived", BYTE_PER_BYTE,
                               "what redundancy explains of bytes that data hosts received for the rebuild", rebuild=True),
    "disk_read": Metric("derived_rebuild_disk_read_ratio", "rebuild disk read, derived", BYTE_PER_BYTE,
                        "what redundancy explains of bytes that disks of data hosts read for the rebuild", rebuild=True),
    "disk_written": Metric("derived_rebuild_disk_written_ratio", "rebuild disk written, derived", BYTE_PER_BYTE,
                           "what redundancy explains of bytes that disks of data hosts wrote for the rebuild", rebuild=True),
}  # fmt: skip
ENERGY = Metric("rebuild_energy_per_byte_j", "rebuild kJ/TiB", KJ_PER_TIB,
                "energy of the servers without the switch from the failure until healthy / bytes that "
                "failed disks held",
                "lower", energy=True, rebuild=True)  # fmt: skip
ADDED = Metric("rebuild_added_per_byte_j", "rebuild kJ/TiB added", KJ_PER_TIB,
               "energy of the rebuild beyond what the servers drew before the failure / bytes that failed disks held", "lower",
               energy=True, rebuild=True)  # fmt: skip
MOVED: Mapping[Quantity, Metric] = {
    "network_received": Metric("rebuild_network_received_{role}_bytes", "rebuild received", MEBIBYTES,
                               "bytes that {role} received during the rebuild", "lower"),
    "network_sent": Metric("rebuild_network_sent_{role}_bytes", "rebuild sent", MEBIBYTES,
                           "bytes that {role} sent during the rebuild", "lower"),
    "disk_read": Metric("rebuild_disk_read_{role}_bytes", "rebuild disk read", MEBIBYTES,
                        "bytes that disks of {role} read during the rebuild", "lower"),
    "disk_written": Metric("rebuild_disk_written_{role}_bytes", "rebuild disk written", MEBIBYTES,
                           "bytes that disks of {role} wrote during the rebuild", "lower"),
}  # fmt: skip
METRICS = (
    *(LOST, TIME),
    *(metric for quantity, ratio in RATIOS.items() for metric in (ratio, DERIVED[quantity])),
    *(ENERGY, ADDED, *MOVED.values()),
)

PARTS = frozenset({"fail", "back"})  # of a rebuild: what others move is not distinguishable from it
LEAST_S = 1.0  # of the time before the failure, for a rate
EXPLAINED_RATIO = 0.1  # by which bytes may differ from those that redundancy explains
SUBJECTS: Mapping[Quantity, str] = {
    "network_received": "crossed the network",
    "disk_read": "were read from disks",
    "disk_written": "were written to disks",
}


def explained(redundancy: Redundancy) -> Mapping[Quantity, float]:
    """Return the bytes that redundancy alone moves for each byte that a failed disk held.

    A copy is read once, sent once and written once. A part of a code of k data parts needs k others, read on
    k hosts. One host computes it: either the one that gets it, to which k parts are sent, or one that has a
    part, to which k - 1 are sent, and which sends the new one.
    """
    parts_count = float(redundancy.data_count or 1)
    return {
        "network_received": parts_count,
        "disk_read": parts_count,
        "disk_written": float(redundancy.beneath_count),
    }


def measure(load: "Load") -> Numbers:
    """Return what the rebuild cost; nothing if no disk failed.

    Only what was lost, if it was not rebuilt by the end of the trial, or if something else happened in it.
    """
    record, reading, emulated, (began_s, _) = load.record, load.reading, load.emulated, load.window
    failed = [happened for happened in record.events if happened.event.kind == "fail"]
    healthy_s = healthy_since(record.events, record.health)
    if not failed:
        return Numbers()
    lost_bytes = sum(happened.lost_bytes or 0 for happened in failed)
    numbers = {LOST.key: float(lost_bytes)}
    written = next((phase for phase in record.phases if phase.name == REBUILT), None)
    if other_kinds := sorted({happened.event.kind for happened in record.events} - PARTS):
        return Numbers.plain(
            numbers, (EVENTS.rebuild_beside(events=", ".join(other_kinds), count=len(other_kinds)),)
        )
    if healthy_s is None or written is None:
        return Numbers.plain(numbers)
    first_s, last_s = failed[0].began_s, written.ended_s
    numbers[TIME.key] = emulated(healthy_s - first_s)
    for role, names in load.roles.items():
        for quantity, metric in MOVED.items():
            if (moved := load.total(quantity, names, first_s, last_s).value) is not None:
                numbers[metric.of(role).key] = moved
    still = record.outcome is not None and all(r.direction == "idle" for r in record.outcome.results)
    if not still or not lost_bytes or first_s - began_s < LEAST_S:
        why = EVENTS.nothing_before_rebuild() if lost_bytes else EVENTS.nothing_to_rebuild()
        return Numbers.plain(numbers, (why,) if still else ())
    lengthening = (last_s - first_s) / (first_s - began_s)  # of the time before, to that of the rebuild
    for quantity, ratio in RATIOS.items():
        spans = ((first_s, last_s), (began_s, first_s))
        moved, before = (load.total(quantity, data_hosts(record), *span).value for span in spans)
        if moved is not None and before is not None:
            numbers[ratio.key] = (moved - before * lengthening) / lost_bytes
    whole_j, moved_j, before_j = (
        reading.servers(*span).net_j for span in ((first_s, healthy_s), (first_s, last_s), (began_s, first_s))
    )
    if whole_j is not None:
        numbers[ENERGY.key] = emulated(whole_j) / lost_bytes
    if moved_j is not None and before_j is not None:
        numbers[ADDED.key] = emulated(moved_j - before_j * lengthening) / lost_bytes
    if record.redundancy is None:
        return Numbers.plain(numbers)
    due: list[tuple[Quantity, float, float]] = [
        (quantity, ratio, numbers[RATIOS[quantity].key])
        for quantity, ratio in explained(record.redundancy).items()
        if RATIOS[quantity].key in numbers
    ]
    numbers |= {DERIVED[quantity].key: ratio for quantity, ratio, _ in due}
    apart = (
        _doubt(quantity, measured, ratio)
        for quantity, ratio, measured in due
        if abs(measured / ratio - 1) > EXPLAINED_RATIO
    )
    return Numbers.plain(numbers, tuple(apart))


def _doubt(quantity: Quantity, measured: float, due: float) -> Doubt:
    more = measured > due
    return TRAFFIC.rebuild(
        subject=SUBJECTS[quantity], more=more, derived_ratio=due, margin_ratio=EXPLAINED_RATIO
    )
