"""Network and disk traffic of one trial's storage hosts over time, and how busy their disks were."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perjoule.energy.hosts import roles
from perjoule.measures.overhead import disk_limits
from perjoule.model import Quantity
from perjoule.summary.timeline import RATE, STEPS_COUNT, rounded
from perjoule.trial.counters import ACCESS
from perjoule.trial.reading import Reading
from perjoule.trial.timeline import summed


@dataclass(frozen=True)
class Overhead:
    """One trial's storage hosts together, on one time grid: `t_s` are its steps' middles; None is a gap."""

    title: str
    direction: Literal["write", "read"]
    t_s: Sequence[float]
    duration_s: float  # of the headline window
    network: Sequence[float | None]  # MiB/s received while users write, sent while they read
    disk: Sequence[float | None]  # MiB/s written while users write, read while they read
    use_ratio: Sequence[float | None]  # of the disks, where it is known
    use: str = ""  # what that share is of


def overhead(reading: Reading, direction: Literal["write", "read"]) -> Overhead | None:
    """Return the network and disk traffic of one trial's storage hosts over time, if they counted it."""
    record, dilation = reading.record, reading.dilation
    first_s, last_s = reading.span.began_s, reading.span.ended_s
    tail_s = max([last_s, *(p.ended_s for p in record.phases if p.name == "tail")])
    edges_s = np.linspace(first_s, tail_s, STEPS_COUNT // 2 + 1)
    writes: tuple[Quantity, Quantity] = ("network_received", "disk_written")
    reads: tuple[Quantity, Quantity] = ("network_sent", "disk_read")
    quantities = writes if direction == "write" else reads
    network, disk = (summed(reading, quantity, "storage", edges_s) for quantity in quantities)
    if not np.isfinite(network).any() or not np.isfinite(disk).any():
        return None
    hosts = roles(record)["storage"]
    limits = disk_limits(reading, hosts)
    if limits is not None:
        read, written = (summed(reading, quantity, "storage", edges_s) for quantity in ACCESS)
        use, of = read / limits[0] + written / limits[1], "the catalogue's rate"
    else:
        use, of = summed(reading, "disk_busy", "storage", edges_s) / len(hosts), "time"
    per = 1 / dilation.emulated(RATE.per)
    return Overhead(
        title=record.trial.filesystem.label,
        direction=direction,
        t_s=[round(float(t), 3) for t in dilation.emulated((edges_s[1:] + edges_s[:-1]) / 2 - first_s)],
        duration_s=round(dilation.emulated(last_s - first_s), 3),
        network=rounded(network * per),
        disk=rounded(disk * per),
        use_ratio=rounded(use),
        use=of,
    )
