"""A write's numbers up to the last client's fsync, from the channels of its headline."""

from dataclasses import replace

from perjoule.energy.hosts import server_names
from perjoule.measures.energies import Energies, Work, energies
from perjoule.measures.overhead import total, window
from perjoule.measures.throughput import rates
from perjoule.model.metrics import METRICS
from perjoule.trial.reading import Reading
from perjoule.trial.windows import Windows


def burst(reading: Reading, span: Windows, work: Work) -> Energies:
    """Return a write's numbers up to the last client's fsync, and the share that was on disk by then; none of a read."""
    if not span.durable:
        return Energies({})
    until_fsync = replace(work, duration_s=reading.dilation.emulated(span.burst_s - span.began_s))
    power = energies(reading, span.began_s, span.burst_s, until_fsync)
    numbers = {**rates(reading.record, until_fsync), **power.metrics}
    metrics = {f"burst_{name}": value for name, value in numbers.items() if f"burst_{name}" in METRICS}
    if (share := durable_ratio(reading, span)) is not None:
        metrics["durable_ratio"] = share
    missed = () if power.grade == reading.metering.servers.grade else power.doubts
    return Energies(
        metrics,
        doubts=tuple(doubt.of("until the clients' fsync") for doubt in missed),
        shared={f"burst_{name}": errors for name, errors in power.shared.items() if f"burst_{name}" in metrics},
    )


def durable_ratio(reading: Reading, found: Windows) -> float | None:
    """Return the share of the disks' writes until the headline's end that were on disk when the burst ended.

    None without a write-back, without counters of all disks, or if nothing was written.
    """
    if not found.durable:
        return None
    began_s, _ = window(reading.record, found.began_s, found.ended_s)
    hosts, ends_s = server_names(reading.record), (found.burst_s, found.ended_s)
    early, all_bytes = (total(reading.series, "disk_written", hosts, began_s, end_s).value for end_s in ends_s)
    return None if early is None or not all_bytes else early / all_bytes
