"""Everything that the report says, computed from the records and series by `perjoule.analysis`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perjoule import campaign, published
from perjoule.analysis.audit.own import METRICS
from perjoule.analysis.better import Judge
from perjoule.analysis.cells import cells
from perjoule.analysis.claims import Judged, judged
from perjoule.analysis.hosts import roles
from perjoule.analysis.overhead import disk_limits
from perjoule.analysis.paper_comparison import Held, held
from perjoule.analysis.paper_facts import beside, measured
from perjoule.analysis.points import points
from perjoule.analysis.replacement import machines, replacements
from perjoule.analysis.stopping import campaign_widening
from perjoule.analysis.timeline import means, net_power_w, summed
from perjoule.analysis.trends import campaign_doubts
from perjoule.analysis.windows import windows
from perjoule.analysis.winners import BY, Finding, winners
from perjoule.figures.alignment import Found
from perjoule.figures.dimuon import Dimuon
from perjoule.figures.overhead import Overhead
from perjoule.figures.power import Samples
from perjoule.figures.timeline import Timeline
from perjoule.model import WRITE_BACK, Cell, Channel, Point, Quantity, Record, Replacement, Series
from perjoule.model.units import MIB
from perjoule.report.metered import Metered, alignments, metered
from perjoule.report.muons import dimuon
from perjoule.store import Results
from perjoule.store.patterns import read_patterns

STEPS_COUNT = 100  # of a timeline
_MOVED: tuple[Quantity, Quantity] = ("disk_read", "disk_written")
TIMELINES_COUNT = 200  # in one page; more would make it slow to open


@dataclass(frozen=True)
class Content:
    """What a report is made of."""

    name: str
    description: str
    seed: int | None
    edp_weight: int
    text: str  # the campaign file
    overrides: tuple[str, ...]
    records: tuple[Record, ...]  # the last attempt at each trial
    points: tuple[Point, ...]
    cells: tuple[Cell, ...]
    power: Samples
    timelines: Mapping[str, Timeline]  # by trial id
    overheads: tuple[Overhead, ...]  # the first trial with the most clients of each file system and direction
    winners: tuple[Finding, ...]
    replacements: tuple[Replacement, ...]  # of machines by themselves
    dimuon: Dimuon | None  # the spectrum of a muon analysis
    metered: tuple[Metered, ...] = ()  # what meters said of each valid trial
    doubts: tuple[str, ...] = ()  # of the campaign as a whole
    alignments: tuple[Found, ...] = ()  # load patterns, found in the meters
    channels: Mapping[Channel, float] = field(default_factory=dict[Channel, float])  # of power or energy: s between samples
    reproduces: str = ""  # the paper whose study it repeats
    held: tuple[Held, ...] = ()  # that paper's numbers beside the own
    claims: tuple[Judged, ...] = ()  # and its claims, judged here

    @property
    def scale(self) -> float:
        """Time dilation of the testbeds, 1 when they differ."""
        scales = {r.scale for r in self.records if r.hosts}
        return scales.pop() if len(scales) == 1 else 1.0

    @property
    def clusters(self) -> tuple[str, ...]:
        """Clusters of the catalogue that were measured on."""
        return tuple(dict.fromkeys(r.cluster for r in self.records if r.cluster))

    @property
    def modelled(self) -> bool:
        """Whether any watts are modelled."""
        return any("modelled" in cell.grade.split("+") for cell in self.cells)


def content(results: Results) -> Content:
    """Compute the content of a report; each series file is read once."""
    records = results.latest()
    found: list[Point] = []
    seen: list[Metered | None] = []
    timelines: dict[str, Timeline] = {}
    power: dict[tuple[str, str], list[float]] = {}
    overheads: dict[tuple[str, str], Overhead] = {}
    channels: dict[Channel, float] = {}
    most_clients = max((r.trial.clients_count for r in records), default=0)
    for record in records:
        if record.status != "valid" or record.outcome is None:
            continue
        series = results.series(record)
        own = points(record, series)
        found += own
        seen.append(metered(record, series))
        channels |= {s.channel: _period_s(s) for s in series if s.channel.quantity in ("power", "energy")}
        if len(timelines) < TIMELINES_COUNT:
            timelines[record.trial.id] = _timeline(record, series)
        if record.trial.clients_count == most_clients:
            direction = own[0].direction if len(own) == 1 else "mixed"
            if direction != "mixed" and (key := (record.trial.filesystem.label, direction)) not in overheads:
                line = _overhead(record, series, direction)
                overheads |= {key: line} if line else {}
            for point in own:
                watts = power.setdefault((record.trial.filesystem.label, point.direction), [])
                watts += _power_samples(record, series)
    asked = campaign.of_results(results.campaign_text, results.overrides, results.folder)
    weight = asked.edp_weight if asked else 1
    summary = cells(records, found, edp_weight=weight, widening=campaign_widening(asked))
    reproduces = asked.reproduces if asked and asked.reproduces in published.names() else ""
    beside_it, claims = _reproduced(reproduces, records, summary) if reproduces else ((), ())
    return Content(
        name=asked.name if asked else results.folder.name,
        description=asked.description.strip() if asked else "",
        seed=asked.seed if asked else None,
        text=results.campaign_text,
        overrides=results.overrides,
        records=records,
        points=tuple(found),
        metered=tuple(one for one in seen if one is not None),
        alignments=alignments(read_patterns(results.folder)),
        edp_weight=weight,
        cells=summary,
        channels=channels,
        reproduces=reproduces,
        held=beside_it,
        claims=claims,
        power={key: power[key] for key in sorted(power) if power[key]},  # in the order of the cells, so in their colours
        timelines=timelines,
        overheads=tuple(overheads.values()),
        winners=best(records, summary),
        replacements=replacements(machines(records, summary)),
        dimuon=dimuon(results, records),
        doubts=(*campaign_doubts(summary), *_set_aside(results)),
    )


def _set_aside(results: Results) -> tuple[str, ...]:
    """Name the attempts that were measured and are in no number here."""
    names = results.set_aside()
    which = f"attempt {names[0]} was" if len(names) == 1 else f"{len(names)} attempts were"
    return (f"{which} set aside because the journal does not list {'it' if len(names) == 1 else 'them'}",) if names else ()


def best(records: Sequence[Record], summary: Sequence[Cell]) -> tuple[Finding, ...]:
    """Find the best by each metric that ranks file systems."""
    judge = Judge(summary)
    return tuple(one for metric in BY for one in winners(records, summary, metric, judge=judge))


def _reproduced(name: str, records: Sequence[Record], summary: Sequence[Cell]) -> tuple[tuple[Held, ...], tuple[Judged, ...]]:
    """Hold what was measured against a paper: its numbers (shares say what their wholes do), and its claims."""
    paper, own = published.paper(name), measured(records, summary)
    pairs = [pair for pair in beside(paper, own) if METRICS[pair.measured.metric][0] != "share"]
    return held(paper, pairs, records, summary), judged(paper, own)


def _period_s(series: Series) -> float:
    """The usual time between two samples; 0 where there are not two."""
    return float(np.median(np.diff(series.t_s))) if len(series.t_s) > 1 else 0.0


def _overhead(record: Record, series: Sequence[Series], direction: Literal["write", "read"]) -> Overhead | None:
    """What one trial's storage hosts moved over time, where they counted it."""
    assert record.outcome is not None
    span = windows(record, record.outcome.results)
    first_s, last_s = span.began_s, span.ended_s
    tail_s = max([last_s, *(p.ended_s for p in record.phases if p.name == "tail")])
    edges_s = np.linspace(first_s, tail_s, STEPS_COUNT // 2 + 1)
    writes: tuple[Quantity, Quantity] = ("network_received", "disk_written")
    reads: tuple[Quantity, Quantity] = ("network_sent", "disk_read")
    quantities = writes if direction == "write" else reads
    network, disk = (summed(record, series, quantity, "storage", edges_s) for quantity in quantities)
    if not np.isfinite(network).any() or not np.isfinite(disk).any():
        return None
    hosts = roles(record)["storage"]
    limits = disk_limits(record, hosts)
    if limits is not None:
        read, written = (summed(record, series, quantity, "storage", edges_s) for quantity in _MOVED)
        use, of = read / limits[0] + written / limits[1], "what the catalogue's disks can"
    else:
        use, of = summed(record, series, "disk_busy", "storage", edges_s) / len(hosts), "time"
    per = 1 / (MIB * record.scale)
    return Overhead(
        title=record.trial.filesystem.label,
        direction=direction,
        t_s=[round(float(t), 3) for t in ((edges_s[1:] + edges_s[:-1]) / 2 - first_s) * record.scale],
        duration_s=round((last_s - first_s) * record.scale, 3),
        network=_rounded(network * per),
        disk=_rounded(disk * per),
        use_ratio=_rounded(use),
        use=of,
    )


def _power_samples(record: Record, series: Sequence[Series]) -> list[float]:
    assert record.outcome is not None
    span = windows(record, record.outcome.results)
    began_s, ended_s = span.began_s, span.ended_s
    times = next((s.t_s for s in series if s.channel.quantity == "power" and s.channel.host), np.empty(0))
    edges = times[(times >= began_s) & (times <= ended_s)]
    return [float(w) for w in net_power_w(record, series, edges) if isfinite(w)] if len(edges) > 1 else []


def _timeline(record: Record, series: Sequence[Series]) -> Timeline:
    assert record.outcome is not None
    span = windows(record, record.outcome.results)
    first_s, last_s = span.began_s, span.ended_s
    phases = [p for p in record.phases if p.name in ("baseline", "measure", WRITE_BACK, "tail")]
    begin_s, end_s = min([first_s, *(p.began_s for p in phases)]), max([last_s, *(p.ended_s for p in phases)])
    edges_s = np.linspace(begin_s, end_s, STEPS_COUNT + 1)
    middles_s = ((edges_s[1:] + edges_s[:-1]) / 2 - first_s) * record.scale
    per = 1 / (MIB * record.scale)  # wall bytes per second to emulated MiB/s

    def since(moment_s: float) -> float:
        return round((moment_s - first_s) * record.scale, 3)

    def row(quantity: str, factor: float) -> dict[str, Sequence[float | None]]:
        chosen = sorted((s for s in series if s.channel.quantity == quantity and s.channel.host), key=lambda s: s.channel.host)
        return {_whose(s.channel): _rounded(means(s, edges_s) * factor) for s in chosen}

    return Timeline(
        t_s=[round(float(t), 3) for t in middles_s],
        duration_s=since(last_s),
        phases={p.name: (since(p.began_s), since(p.ended_s)) for p in phases},
        marks={"burst ends" if span.durable else "load ends": since(span.burst_s)}
        | ({"disks hold the data": since(span.ended_s)} if span.durable else {}),
        rows={
            "rate": row("goodput", per),
            "watts": _watts(series, edges_s),
            "cpu": row("cpu", 1.0),
            "network": row("network_sent", per),
        },
    )


def _whose(channel: Channel) -> str:
    """The host, and the user where several load from it."""
    return f"{channel.host}, {channel.component}" if channel.component.startswith("user ") else channel.host


def _watts(series: Sequence[Series], edges_s: NDArray[np.float64]) -> dict[str, Sequence[float | None]]:
    summed: dict[str, NDArray[np.float64]] = {}
    for one in series:
        if one.channel.quantity == "power":
            watts = means(one, edges_s)
            before = summed.get(one.channel.component)
            summed[one.channel.component] = watts if before is None else before + watts
    return {name: _rounded(watts) for name, watts in sorted(summed.items())}


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [float(f"{v:.4g}") if isfinite(v) else None for v in values]
