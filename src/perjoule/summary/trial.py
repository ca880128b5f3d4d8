"""One trial's record and series to everything that is shown of it: its points, metered data, and data of figures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perjoule.energy.hosts import roles
from perjoule.figures.overhead import Overhead
from perjoule.figures.timeline import Timeline
from perjoule.measures.overhead import disk_limits
from perjoule.measures.points import points_of
from perjoule.model import WRITE_BACK, Channel, Point, Quantity, Record, Series, healthy_since
from perjoule.model.metrics import metric_of
from perjoule.summary.metered import Metered, metered
from perjoule.trial.reading import Reading
from perjoule.trial.timeline import components_w, means, net_power_w, summed
from perjoule.trial.windows import windows

STEPS_COUNT = 100  # of a timeline
_MOVED: tuple[Quantity, Quantity] = ("disk_read", "disk_written")
_RATE = metric_of("throughput_bytes_per_s").unit


@dataclass(frozen=True)
class TrialSummary:
    """The numbers of a valid trial; a failed one has none."""

    points: tuple[Point, ...] = ()
    metered: Metered | None = None
    timeline: Timeline | None = None
    overhead: Overhead | None = None  # where one direction was loaded
    watts: tuple[float, ...] = ()  # of the servers, a value per sample of the window
    periods: tuple[tuple[Channel, float], ...] = ()  # of channels of power or energy: s between samples


def trial_summary(record: Record, series: Sequence[Series]) -> TrialSummary:
    """Compute the numbers of a trial."""
    if record.status != "valid" or record.outcome is None:
        return TrialSummary()
    reading = Reading(record, series)
    own = points_of(reading)
    direction = own[0].direction if len(own) == 1 else "mixed"
    return TrialSummary(
        points=own,
        metered=metered(reading),
        timeline=_timeline(reading),
        overhead=_overhead(reading, direction) if direction in ("write", "read") else None,
        watts=tuple(_power_samples(reading)),
        periods=tuple((s.channel, _period_s(s)) for s in series if s.channel.quantity in ("power", "energy")),
    )


def _period_s(series: Series) -> float:
    """Return the usual time between two samples; 0 for fewer than two."""
    return float(np.median(np.diff(series.t_s))) if len(series.t_s) > 1 else 0.0


def _overhead(reading: Reading, direction: Literal["write", "read"]) -> Overhead | None:
    """Return the network and disk traffic of one trial's storage hosts over time, if they counted it."""
    record, dilation = reading.record, reading.dilation
    assert record.outcome is not None
    span = windows(record, record.outcome.results)
    first_s, last_s = span.began_s, span.ended_s
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
        read, written = (summed(reading, quantity, "storage", edges_s) for quantity in _MOVED)
        use, of = read / limits[0] + written / limits[1], "the catalogue's rate"
    else:
        use, of = summed(reading, "disk_busy", "storage", edges_s) / len(hosts), "time"
    per = 1 / dilation.emulated(_RATE.per)
    return Overhead(
        title=record.trial.filesystem.label,
        direction=direction,
        t_s=[round(float(t), 3) for t in dilation.emulated((edges_s[1:] + edges_s[:-1]) / 2 - first_s)],
        duration_s=round(dilation.emulated(last_s - first_s), 3),
        network=_rounded(network * per),
        disk=_rounded(disk * per),
        use_ratio=_rounded(use),
        use=of,
    )


def _power_samples(reading: Reading) -> list[float]:
    assert reading.record.outcome is not None
    span = windows(reading.record, reading.record.outcome.results)
    return [float(w) for w in net_power_w(reading, span.began_s, span.ended_s) if isfinite(w)]


def _timeline(reading: Reading) -> Timeline:
    record, dilation = reading.record, reading.dilation
    assert record.outcome is not None
    span = windows(record, record.outcome.results)
    first_s, last_s = span.began_s, span.ended_s
    phases = [p for p in record.phases if p.name in ("baseline", "measure", WRITE_BACK, "tail")]
    begin_s, end_s = min([first_s, *(p.began_s for p in phases)]), max([last_s, *(p.ended_s for p in phases)])
    edges_s = np.linspace(begin_s, end_s, STEPS_COUNT + 1)
    middles_s = dilation.emulated((edges_s[1:] + edges_s[:-1]) / 2 - first_s)
    per = 1 / dilation.emulated(_RATE.per)  # wall bytes per second to the unit of emulated throughput

    def since(moment_s: float) -> float:
        return round(dilation.emulated(moment_s - first_s), 3)

    def row(quantity: str, factor: float) -> dict[str, Sequence[float | None]]:
        chosen = [s for s in reading.series if s.channel.quantity == quantity and s.channel.host]
        chosen.sort(key=lambda s: s.channel.host)
        return {_whose(s.channel): _rounded(means(s, edges_s) * factor) for s in chosen}

    return Timeline(
        t_s=[round(float(t), 3) for t in middles_s],
        duration_s=since(last_s),
        phases={p.name: [since(p.began_s), since(p.ended_s)] for p in phases},
        marks={"burst ends" if span.durable else "load ends": since(span.burst_s)}
        | ({"disks hold the data": since(span.ended_s)} if span.durable else {})
        | {name: since(moment_s) for name, moment_s in _moments(record)},
        rows={
            "rate": row("goodput", per),
            "watts": {name: _rounded(w) for name, w in components_w(reading, edges_s).items()},
            "cpu": row("cpu", 1.0),
            "network": row("network_sent", per),
        },
    )


def _moments(record: Record) -> Iterator[tuple[str, float]]:
    """Return what happened to servers, and when the file system was healthy again."""
    for number, one in enumerate(record.events):
        before = sum(other.event.text == one.event.text for other in record.events[:number])
        yield f"{one.event.text}{f' ({before + 1})' if before else ''}", one.began_s
    if (healthy_s := healthy_since(record.events, record.health)) is not None:
        yield "healthy", healthy_s


def _whose(channel: Channel) -> str:
    """Return the host, and the user if several load from it."""
    return f"{channel.host}, {channel.component}" if channel.component.startswith("user ") else channel.host


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{v:.4g}") if isfinite(v) else None for v in values]
