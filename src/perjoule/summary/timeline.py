"""One trial over time: rates by client, watts by component, CPU and network by host, between its marks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from perjoule.model import WRITE_BACK, Channel, Record, healthy_since
from perjoule.model.metrics import RATES, metric_of
from perjoule.trial.reading import Reading
from perjoule.trial.timeline import components_w, means

STEPS_COUNT = 100
RATE = metric_of(RATES[0]).unit


@dataclass(frozen=True)
class Timeline:
    """Rates on one time grid: `t_s` are its steps' middles from the first client's start; None is a gap."""

    t_s: Sequence[float]
    duration_s: float  # of the headline window
    # "rate", "watts", "cpu", "network" -> name -> value per step
    rows: Mapping[str, Mapping[str, Sequence[float | None]]]
    # name -> begin, end
    phases: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    # what happened -> when: "burst ends"
    marks: Mapping[str, float] = field(default_factory=dict[str, float])


def timeline(reading: Reading) -> Timeline:
    """Lay out a valid trial on one time grid."""
    record, dilation = reading.record, reading.dilation
    span = reading.span
    first_s, last_s = span.began_s, span.ended_s
    phases = [p for p in record.phases if p.name in ("baseline", "measure", WRITE_BACK, "tail")]
    begin_s, end_s = min([first_s, *(p.began_s for p in phases)]), max([last_s, *(p.ended_s for p in phases)])
    edges_s = np.linspace(begin_s, end_s, STEPS_COUNT + 1)
    middles_s = dilation.emulated((edges_s[1:] + edges_s[:-1]) / 2 - first_s)
    per = 1 / dilation.emulated(RATE.per)  # wall bytes per second to the unit of emulated throughput

    def since(moment_s: float) -> float:
        return round(dilation.emulated(moment_s - first_s), 3)

    def row(quantity: str, factor: float) -> dict[str, Sequence[float | None]]:
        of_quantity = [s for s in reading.series if s.channel.quantity == quantity and s.channel.host]
        of_quantity.sort(key=lambda s: s.channel.host)
        return {_whose(s.channel): rounded(means(s, edges_s) * factor) for s in of_quantity}

    return Timeline(
        t_s=[round(float(t), 3) for t in middles_s],
        duration_s=since(last_s),
        phases={p.name: [since(p.began_s), since(p.ended_s)] for p in phases},
        marks={"burst ends" if span.durable else "load ends": since(span.burst_s)}
        | ({"disks hold the data": since(span.ended_s)} if span.durable else {})
        | {name: since(moment_s) for name, moment_s in _moments(record)},
        rows={
            "rate": row("goodput", per),
            "watts": {name: rounded(w) for name, w in components_w(reading, edges_s).items()},
            "cpu": row("cpu", 1.0),
            "network": row("network_sent", per),
        },
    )


def _moments(record: Record) -> Iterator[tuple[str, float]]:
    """Return what happened to servers, and when the file system was healthy again."""
    for number, happened in enumerate(record.events):
        before = sum(earlier.event.text == happened.event.text for earlier in record.events[:number])
        yield f"{happened.event.text}{f' ({before + 1})' if before else ''}", happened.began_s
    if (healthy_s := healthy_since(record.events, record.health)) is not None:
        yield "healthy", healthy_s


def _whose(channel: Channel) -> str:
    """Return the host, and the user if several load from it."""
    return f"{channel.host}, {channel.component}" if channel.component.startswith("user ") else channel.host


def rounded(values: NDArray[np.float64]) -> list[float | None]:
    """Return values with the digits that a figure shows; None for a gap."""
    return [float(f"{v:.4g}") if isfinite(v) else None for v in values]
