"""The content of the report, computed from the records and series by `perjoule.analysis`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perjoule.figures.alignment import Found
from perjoule.figures.overhead import Overhead
from perjoule.figures.power import Samples
from perjoule.figures.timeline import Timeline
from perjoule.model import Campaign, Cell, Channel, Point, Record, Replacement
from perjoule.model.doubts import Doubt
from perjoule.model.spectrum import MassSpectrum
from perjoule.papers import published
from perjoule.papers.claims import Judged, judged
from perjoule.papers.comparison import Held, held
from perjoule.papers.facts import Pair, beside, measured
from perjoule.results.metered import alignments
from perjoule.results.muons import mass_spectrum
from perjoule.statistics.cells import as_read
from perjoule.statistics.replacement import machines, replacements
from perjoule.statistics.winners import Finding, best
from perjoule.store import Results
from perjoule.store.patterns import read_patterns
from perjoule.summary import summary
from perjoule.summary.campaign import campaign_of, name_of
from perjoule.summary.computing import of_trial
from perjoule.summary.metered import Metered
from perjoule.trial.reading import Reading

TIMELINES_COUNT = 200  # in one page; more would make it slow to open


@dataclass(frozen=True)
class Content:
    """The content of a report."""

    name: str
    asked: Campaign | None  # None: it uses something that this perjoule no longer knows
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
    mass_spectrum: MassSpectrum | None  # the spectrum of a muon analysis
    metered: tuple[Metered, ...] = ()  # what meters said of each valid trial
    doubts: tuple[Doubt, ...] = ()  # of the campaign as a whole
    alignments: tuple[Found, ...] = ()  # load patterns, found in the meters
    channels: Mapping[Channel, float] = field(default_factory=dict[Channel, float])  # of power or energy: s between samples
    reproduces: str = ""  # the paper whose study it repeats
    pairs: tuple[Pair, ...] = ()  # that paper's numbers, each with the measured one
    held: tuple[Held, ...] = ()  # that paper's numbers next to the measured ones
    claims: tuple[Judged, ...] = ()  # and its claims, judged here

    @property
    def description(self) -> str:
        """The campaign's own description."""
        return self.asked.description.strip() if self.asked else ""

    @property
    def seed(self) -> int | None:
        """The seed of its order, if known."""
        return self.asked.seed if self.asked else None

    @property
    def edp_weight(self) -> int:
        """The weight of time in its energy-delay product."""
        return self.asked.edp_weight if self.asked else 1

    @property
    def at_scale(self) -> str:
        """The time dilation of emulated testbeds, "scale 0.2"; "" if they differ."""
        texts = {Reading(record).dilation.text for record in self.records if record.hosts}
        return texts.pop() if len(texts) == 1 else ""

    @property
    def clusters(self) -> tuple[str, ...]:
        """The catalogue's clusters on which trials ran."""
        return tuple(dict.fromkeys(r.cluster for r in self.records if r.cluster))

    @property
    def modelled(self) -> bool:
        """Whether any watts are modelled."""
        return any("modelled" in cell.grade.split("+") for cell in self.cells)


def content(results: Results) -> Content:
    """Gather the content of a report from the numbers of its trials."""
    records = results.latest()
    found: list[Point] = []
    seen: list[Metered] = []
    timelines: dict[str, Timeline] = {}
    power: dict[tuple[str, str, str], list[float]] = {}
    overheads: dict[tuple[str, str], Overhead] = {}
    channels: dict[Channel, float] = {}
    most_clients = max((r.trial.clients_count for r in records), default=0)
    trials = [(record, of_trial(results, record)) for record in records]
    for record, own in trials:
        found += own.points
        seen += [own.metered] if own.metered else []
        channels |= dict(own.periods)
        if own.timeline and len(timelines) < TIMELINES_COUNT:
            timelines[record.trial.id] = own.timeline
        if record.trial.clients_count == most_clients:
            filesystem = record.trial.filesystem.label
            if own.overhead:
                overheads.setdefault((filesystem, own.overhead.direction), own.overhead)
            for point in own.points:
                power.setdefault((filesystem, record.trial.workload.label, point.direction), []).extend(own.watts)
    asked = campaign_of(results)
    whole = summary(results, trials)
    reproduces = asked.reproduces if asked and asked.reproduces in published.names() else ""
    pairs, beside_it, claims = _reproduced(reproduces, records, whole.cells) if reproduces else ((), (), ())
    return Content(
        name=name_of(results),
        asked=asked,
        text=results.campaign_text,
        overrides=results.overrides,
        records=records,
        points=tuple(found),
        metered=tuple(seen),
        alignments=alignments(read_patterns(results.folder)),
        cells=whole.cells,
        channels=channels,
        reproduces=reproduces,
        pairs=pairs,
        held=beside_it,
        claims=claims,
        power={
            key: power[key] for key in sorted(power, key=lambda key: [*map(as_read, key)]) if power[key]
        },  # as cells are ordered and coloured
        timelines=timelines,
        overheads=tuple(overheads.values()),
        winners=best(records, whole.cells),
        replacements=replacements(machines(records, whole.cells)),
        mass_spectrum=mass_spectrum(results, records),
        doubts=whole.doubts,
    )


def _reproduced(
    name: str, records: Sequence[Record], summary: Sequence[Cell]
) -> tuple[tuple[Pair, ...], tuple[Held, ...], tuple[Judged, ...]]:
    """Compare measurements with a paper: its numbers (except shares, whose wholes are compared), and its claims."""
    paper, own = published.paper(name), measured(records, summary)
    pairs = beside(paper, own)
    wholes = [pair for pair in pairs if pair.measured.quantity != "share"]
    return pairs, held(paper, wholes, records, summary), judged(paper, own)
