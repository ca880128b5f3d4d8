"""The report's page: content and views to one HTML file that needs nothing from outside."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from perjoule import __version__, views
from perjoule.figures.vega import Spec
from perjoule.model import Record
from perjoule.model.units import counted
from perjoule.report.answers import (
    ANSWERS_COUNT,
    WorkloadAnswer,
    answers,
    question,
    reality,
    redundancy,
    watts,
)
from perjoule.report.document import document
from perjoule.report.methods import metered_hosts, methods
from perjoule.results.limitations import DoubtGroup, limitations
from perjoule.results.table import Table, metrics_table, table
from perjoule.views.content import Content
from perjoule.views.papers import figures as paper
from perjoule.views.view import View

DOUBTS_COUNT = 2  # kinds of doubt that the first screen names: more would push the answer off a phone's


@dataclass(frozen=True)
class ReportPage:
    """What the template shows besides the content itself."""

    content: Content
    root: str  # the way from the page to the results folder

    @cached_property
    def figures(self) -> Mapping[str, Spec]:
        """The figures of all views, by name."""
        return {name: spec for _, name, spec in self._drawn}

    @cached_property
    def _drawn(self) -> list[tuple[View, str, Spec]]:
        return [*views.drawn(self.content)]

    @cached_property
    def lead(self) -> str:
        """The figure of the first screen; "" without any."""
        leading = ((view.lead, name) for view, name, _ in self._drawn if view.lead is not None)
        return min(leading, default=(0, ""))[1]

    @property
    def apart(self) -> list[str]:
        """The figures that stand elsewhere than below "Figures"."""
        return [self.lead, *(reprint.name for reprint in self.paper_figures)]

    @cached_property
    def sections(self) -> list[views.Section]:
        """The tables of each view, of views that have some."""
        return [*views.sections(self.content)]

    @cached_property
    def paper_figures(self) -> tuple[paper.Reprint, ...]:
        """The figures of the paper that were drawn."""
        return paper.reprints(self.content, self.figures)

    @cached_property
    def paper_tables(self) -> Mapping[str, Table]:
        """The tables of the paper, with ours beside."""
        return paper.tables(self.content)

    @property
    def paper_has(self) -> str:
        """The names of both."""
        return paper.summed_up(self.paper_figures, list(self.paper_tables))

    @property
    def claims_counts(self) -> str:
        """How many of the paper's claims hold."""
        from perjoule.results.claims import counts

        return counts(self.content.claims)

    @property
    def question(self) -> str:
        """What the campaign asked."""
        return question(self.content)

    @cached_property
    def _answers(self) -> list[WorkloadAnswer]:
        return list(answers(self.content))

    @property
    def answers(self) -> list[WorkloadAnswer]:
        """The answers of the first screen."""
        return self._answers[:ANSWERS_COUNT]

    @property
    def more_count(self) -> int:
        """How many there are beyond these."""
        return len(self._answers) - ANSWERS_COUNT

    @property
    def facts(self) -> Iterator[tuple[str, str, bool]]:
        """What one must know to read an answer: heading, words, and whether they are a warning."""
        if self.content.cells:
            yield ("Redundancy", *redundancy(self.content.cells))
            yield ("Watts", *watts(self.content.cells, self.content.recalculated_on))
        if self.content.records:
            yield ("Measured on", *reality(self.content))

    @property
    def trials(self) -> tuple[str, bool]:
        """How much was measured, in a few words, and whether that is a warning."""
        valid_count = sum(r.status == "valid" for r in self.content.records)
        marks = [counted(valid_count, "valid trial")]
        marks += [f"seed {self.content.seed}"] if self.content.seed is not None else []
        marks += [counted(len(self.failed), "failed trial")] if self.failed else []
        return ", ".join(marks), bool(self.failed)

    @property
    def results(self) -> Table:
        """The main table."""
        return table(self.content.cells)

    @property
    def metered_hosts(self) -> str:
        """Whose W, J and MiB/J these are."""
        return metered_hosts(self.content)

    @property
    def metrics(self) -> Table:
        """All metrics."""
        return metrics_table(self.content.cells)

    @property
    def failed(self) -> list[Record]:
        """The trials that have no numbers."""
        return [record for record in self.content.records if record.status != "valid"]

    @cached_property
    def doubts(self) -> tuple[DoubtGroup, ...]:
        """The doubts by kind."""
        return limitations(self.content.cells, self.content.doubts)

    @property
    def doubts_named(self) -> str:
        """The worst kinds of doubt."""
        return _named(self.doubts)

    @property
    def omitted(self) -> tuple[DoubtGroup, ...]:
        """The numbers that were left out."""
        return limitations(self.content.cells, (), omitted=True)

    @property
    def methods(self) -> Sequence[str]:
        """How it was measured, as paragraphs."""
        return methods(self.content)

    @property
    def circumstances(self) -> Iterator[tuple[str, str]]:
        """What was measured on, each with its heading."""
        return _circumstances(self.content)


def page(content: Content, root: str) -> str:
    """Lay the report out as HTML; `root` is the way from it to the results folder."""
    laid = ReportPage(content, root)
    timelines = {trial: vars(line) for trial, line in content.timelines.items()}
    return document(
        "report.html", content.name, laid.figures, timelines, content=content, page=laid, version=__version__
    )


def _named(doubts: Sequence[DoubtGroup]) -> str:
    """Name the kinds of doubt that can cost most, and count the others: "A; B; and 3 more"."""
    titles, more_count = [group.kind.title for group in doubts[:DOUBTS_COUNT]], len(doubts) - DOUBTS_COUNT
    return "; ".join([*titles, f"and {more_count} more"] if more_count > 0 else titles)


def _circumstances(content: Content) -> Iterator[tuple[str, str]]:
    """Give what was measured on, each with its heading."""
    deployments: dict[str, list[Record]] = {}  # the facts of a deployment are gathered once, and are its own
    for record in content.records:
        if record.facts:
            text = json.dumps([record.trial.filesystem.label, record.facts], sort_keys=True, default=str)
            deployments.setdefault(text, []).append(record)
    for records in deployments.values():
        count = f"{len(records)} trial{'s' if len(records) > 1 else ''}"
        yield (
            f"Deployment of {records[0].trial.filesystem.label} ({count}), as its daemons report it",
            _json(records[0].facts),
        )
    if content.records:
        yield ("Machine and software", _json(content.records[-1].environment))
    yield ("The campaign", "".join(f"# set {o}\n" for o in content.overrides) + content.text)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, default=str)
