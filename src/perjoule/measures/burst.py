"""A write's numbers up to the last client's fsync, from the channels of its headline, and the share that
was on disk by then.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from perjoule.energy.hosts import server_names
from perjoule.measures import energies, throughput
from perjoule.model import Numbers
from perjoule.model.metrics import DURABLE, PERCENT, Metric, metric_of

if TYPE_CHECKING:
    from perjoule.trial.load import Load

DURABLE_RATIO = Metric(DURABLE, "% on disk", PERCENT,
                 "what the servers' disks had written at the burst's end / at the headline's", "higher")  # fmt: skip
METRICS = (DURABLE_RATIO,)


def measure(load: "Load") -> Numbers:
    """Return the numbers of the burst; none of a load that no write-back closes."""
    span = load.span
    if not span.durable:
        return Numbers()
    duration_s = load.emulated(span.burst_s - span.began_s)
    power = energies.of_window(
        load.reading, span.began_s, span.burst_s, replace(energies.work(load), duration_s=duration_s)
    )
    rates = Numbers.plain(throughput.rates(load.record, load.moved_bytes, load.operations_count, duration_s))
    numbers = {
        metric_of(key).burst: number.bare
        for key, number in {**rates.by_key, **power.by_key}.items()
        if number.value is not None
    }
    numbers.pop("", None)
    missed = () if power.grade == load.reading.metering.servers.grade else power.doubts
    doubts = tuple(doubt.about("until the clients' fsync") for doubt in missed)
    return Numbers({**numbers, **Numbers.plain(durable_ratio(load)).by_key}, doubts)


def durable_ratio(load: "Load") -> dict[str, float]:
    """Return the share of the disks' writes until the headline's end that were on disk when the burst ended.

    None without counters of all disks, or if nothing was written.
    """
    span, hosts = load.span, server_names(load.record)
    began_s, _ = load.around(span.began_s, span.ended_s)
    early, all_bytes = (
        load.total("disk_written", hosts, began_s, end_s).value for end_s in (span.burst_s, span.ended_s)
    )
    return {} if early is None or not all_bytes else {DURABLE: early / all_bytes}
