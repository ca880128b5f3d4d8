"""What views are made from: the numbers of a results folder, each computed when it is first needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from perjoule.model import Campaign, Cell, Channel, Point, Record, Replacement
from perjoule.model.doubts import Doubt
from perjoule.results.limitations import simulated_notes
from perjoule.store import Results
from perjoule.store.recalculated import Recalculation, recalculation_of
from perjoule.summary import Summary, summary

# what computes is imported where it is used: that takes longer than `--help` or an error should
if TYPE_CHECKING:
    from perjoule.papers.claims import Judged
    from perjoule.papers.comparison import NumberComparison
    from perjoule.papers.facts import MeasuredMetric, NumberPair
    from perjoule.papers.published import Paper
    from perjoule.statistics.proportionality import Proportionality
    from perjoule.statistics.scaling import Scaling
    from perjoule.statistics.users import Mix
    from perjoule.statistics.winners import Finding
    from perjoule.summary.metered import MeteredTrial
    from perjoule.summary.timeline import Timeline
    from perjoule.summary.traffic import Overhead
    from perjoule.summary.trial import TrialSummary

TIMELINES_COUNT = 200  # in one page; more would make it slow to open
Samples = Mapping[tuple[str, str, str], list[float]]  # (file system, workload, direction) -> watts


@dataclass(frozen=True)
class Content:
    """The content of a results folder, and the folders whose machines are compared with its own.

    All may raise MachineError.
    """

    results: Results
    beside: tuple[Results, ...] = ()
    # by trial id: numbers that somebody has computed already
    known: "Mapping[str, TrialSummary]" = field(default_factory=dict[str, "TrialSummary"])

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The last attempt at each trial."""
        return self.results.latest()

    @cached_property
    def trials(self) -> "tuple[tuple[Record, TrialSummary], ...]":
        """These records with their numbers."""
        from perjoule.summary.computing import of_trial

        return tuple(
            (record, self.known.get(record.trial.id) or of_trial(self.results, record))
            for record in self.records
        )

    @cached_property
    def summary(self) -> Summary:
        """The cells, and the rest of the table."""
        return summary(self.results, lambda: self.trials)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The rows of the table."""
        return self.summary.cells

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubts of the campaign as a whole."""
        return self.summary.doubts

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The points of all trials."""
        return tuple(point for _, numbers in self.trials for point in numbers.points)

    @cached_property
    def metered(self) -> "tuple[MeteredTrial, ...]":
        """What meters said of each valid trial."""
        return tuple(numbers.metered for _, numbers in self.trials if numbers.metered)

    @cached_property
    def channels(self) -> Mapping[Channel, float]:
        """The channels of power or energy, with the seconds between samples."""
        return {channel: period_s for _, numbers in self.trials for channel, period_s in numbers.periods}

    @cached_property
    def timelines(self) -> "Mapping[str, Timeline]":
        """The first trials over time, by trial id."""
        lines = [(record.trial.id, numbers.timeline) for record, numbers in self.trials if numbers.timeline]
        return dict(lines[:TIMELINES_COUNT])

    @cached_property
    def most_count(self) -> int:
        """The largest number of clients of a trial."""
        return max((record.trial.clients_count for record in self.records), default=0)

    @cached_property
    def power(self) -> Samples:
        """The watts of all repetitions with the most clients, as cells are ordered and coloured."""
        from perjoule.statistics.cells import as_read

        watts: dict[tuple[str, str, str], list[float]] = {}
        for record, numbers in self.trials:
            for point in numbers.points if record.trial.clients_count == self.most_count else ():
                key = (record.trial.filesystem.label, record.trial.workload.label, point.direction)
                watts.setdefault(key, []).extend(numbers.watts)
        return {key: watts[key] for key in sorted(watts, key=lambda key: [*map(as_read, key)]) if watts[key]}

    @cached_property
    def overheads(self) -> "tuple[Overhead, ...]":
        """The traffic of the first trial with the most clients of each file system and direction."""
        first: dict[tuple[str, str], Overhead] = {}
        for record, numbers in self.trials:
            if numbers.overhead and record.trial.clients_count == self.most_count:
                first.setdefault(
                    (record.trial.filesystem.label, numbers.overhead.direction), numbers.overhead
                )
        return tuple(first.values())

    @cached_property
    def mixes(self) -> "tuple[Mix, ...]":
        """Several users at once."""
        from perjoule.statistics.stopping import widening_of
        from perjoule.statistics.users import mixes

        return mixes(self.points, widening_of(self.cells))

    @cached_property
    def winners(self) -> "tuple[Finding, ...]":
        """The best file system for each workload."""
        from perjoule.statistics.winners import best

        return best(self.records, self.cells)

    @cached_property
    def scaling(self) -> "tuple[Scaling, ...]":
        """What more storage hosts gave."""
        from perjoule.statistics.scaling import scaling

        return scaling(self.cells)

    @cached_property
    def proportionality(self) -> "tuple[Proportionality, ...]":
        """Power against load."""
        from perjoule.statistics.proportionality import proportionality

        return proportionality(self.cells)

    @cached_property
    def replacements(self) -> tuple[Replacement, ...]:
        """How many of one machine replace another, of all folders."""
        from perjoule.statistics.instruments import told_apart
        from perjoule.statistics.replacement import machines, replacements

        records = list(self.records)
        measured = [*machines(self.records, self.cells)]
        for folder in map(Content, self.beside):
            apart = told_apart(folder.cells, folder.records, records, folder.name)
            measured += machines(folder.records, apart)
            records += folder.records
        return replacements(measured)

    @cached_property
    def recalculation(self) -> Recalculation | None:
        """What was recalculated, if its watts were modelled again."""
        return recalculation_of(self.results.folder)

    @cached_property
    def metered_hosts(self) -> tuple[bool, bool]:
        """Whether W, J and MiB/J of a trial are those of servers, and whether of clients that hold the data."""
        from perjoule.energy.hosts import held_by_clients

        of_clients = {held_by_clients(record) for record in self.records}
        return of_clients != {True}, True in of_clients

    @property
    def power_axis(self) -> str:
        """Whose watts figures draw."""
        of_servers, of_clients = self.metered_hosts
        phrases = ("servers without switch",) * of_servers + ("clients with the data",) * of_clients
        return " or ".join(phrases)

    @cached_property
    def name(self) -> str:
        """The campaign's name."""
        return self.campaign.name if self.campaign else self.results.folder.resolve().name

    @cached_property
    def campaign(self) -> Campaign | None:
        """The campaign; None if it uses something that this perjoule no longer knows."""
        from perjoule.summary.campaign import campaign_of

        return campaign_of(self.results)

    @cached_property
    def text(self) -> str:
        """The campaign file."""
        return self.results.campaign_text

    @cached_property
    def overrides(self) -> tuple[str, ...]:
        """What was set besides."""
        return self.results.overrides

    @property
    def description(self) -> str:
        """The campaign's own description."""
        return self.campaign.description.strip() if self.campaign else ""

    @property
    def seed(self) -> int | None:
        """The seed of its order, if known."""
        return self.campaign.seed if self.campaign else None

    @property
    def edp_weight(self) -> int:
        """The weight of time in its energy-delay product."""
        return self.campaign.edp_weight if self.campaign else 1

    @property
    def clusters(self) -> tuple[str, ...]:
        """The catalogue's clusters on which trials ran."""
        return tuple(dict.fromkeys(r.cluster for r in self.records if r.cluster))

    @cached_property
    def reproduces(self) -> str:
        """The paper whose study it repeats; "" if none."""
        name = self.campaign.reproduces if self.campaign else ""
        if not name:
            return ""
        from perjoule.papers import published

        return name if name in published.names() else ""

    @cached_property
    def paper(self) -> "Paper":
        """That paper, where there is one."""
        from perjoule.papers import published

        return published.paper(self.reproduces)

    @cached_property
    def _facts(self) -> "tuple[MeasuredMetric, ...]":
        """The measurements with the facts that papers use."""
        from perjoule.papers.facts import measured

        return measured(self.records, self.cells)

    @cached_property
    def pairs(self) -> "tuple[NumberPair, ...]":
        """That paper's numbers, each with the measured one."""
        from perjoule.papers.facts import beside

        return beside(self.paper, self._facts) if self.reproduces else ()

    @cached_property
    def comparisons(self) -> "tuple[NumberComparison, ...]":
        """That paper's numbers next to the measured ones, except shares, whose wholes are compared."""
        from perjoule.papers.comparison import held

        wholes = [pair for pair in self.pairs if pair.measured.quantity != "share"]
        return held(self.paper, wholes, self.records, self.cells) if self.reproduces else ()

    @cached_property
    def claims(self) -> "tuple[Judged, ...]":
        """That paper's claims, judged here."""
        from perjoule.papers.claims import judged

        return judged(self.paper, self._facts) if self.reproduces else ()

    @cached_property
    def at_scale(self) -> str:
        """The time dilation of emulated testbeds, "scale 0.2"; "" if they differ."""
        from perjoule.trial.reading import Reading

        texts = {Reading(record).dilation.text for record in self.records if record.hosts}
        return texts.pop() if len(texts) == 1 else ""

    @cached_property
    def recalculated_on(self) -> str:
        """The day on which its modelled watts were recalculated; "" if they are as they were measured."""
        return self.recalculation.date if self.recalculation else ""

    @cached_property
    def modelled(self) -> bool:
        """Whether any watts are modelled."""
        return any("modelled" in cell.grade.split("+") for cell in self.cells)

    @property
    def with_most(self) -> list[Cell]:
        """The cells with the most clients."""
        most_count = max((cell.clients_count for cell in self.cells), default=0)
        return [cell for cell in self.cells if cell.clients_count == most_count]

    def has(self, metric: str) -> bool:
        """Whether any cell has a metric."""
        return any(metric in cell.metrics for cell in self.cells)

    @cached_property
    def notes(self) -> Sequence[str]:
        """How the numbers of a figure without watts were obtained: a line of its subtitle."""
        return self._noted(watts=False)

    @cached_property
    def power_notes(self) -> Sequence[str]:
        """How the numbers of a figure with watts were obtained."""
        return self._noted(watts=True)

    def _noted(self, *, watts: bool) -> tuple[str, ...]:
        notes = [*simulated_notes(self.cells)]
        if self.at_scale:
            notes.append(f"emulated at {self.at_scale}")
        if watts and self.modelled:
            notes.append("watts modelled")
        if watts and len(several := sorted({cell.grade for cell in self.cells if cell.grade})) > 1:
            notes.append(
                f"power of different grades ({', '.join(several)}), not to be ranked against each other"
            )
        return (", ".join(notes),) if notes else ()
