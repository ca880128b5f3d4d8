"""The report's page: content and figures to one HTML file that needs nothing from outside."""

import json
from collections.abc import Iterator, Sequence

from perjoule import __version__
from perjoule.measures.fairness import mixes
from perjoule.model import Record
from perjoule.model.units import counted
from perjoule.papers import published
from perjoule.report import paper_figures
from perjoule.report.answers import ANSWERS_COUNT, answers, question, reality, redundancy, watts
from perjoule.report.content import Content
from perjoule.report.document import document
from perjoule.report.drawings import drawings
from perjoule.report.methods import methods
from perjoule.results import claims, paper_comparison
from perjoule.results.ageing import ageing_table, wear_table
from perjoule.results.events import events_table
from perjoule.results.idle import idle_table
from perjoule.results.joules import sides_table, split_table
from perjoule.results.limitations import Group, limitations
from perjoule.results.metered import budget_table, parts_table, unexplained_table
from perjoule.results.mixed_users import users_table
from perjoule.results.muons import muons_table
from perjoule.results.proportionality import duty_tables
from perjoule.results.rebuild import rebuild_table, rebuilt_bytes_table
from perjoule.results.scalability import scaling_tables
from perjoule.results.table import amplification_table, metrics_table, table, winners_table
from perjoule.statistics.stopping import widening_of

DOUBTS_COUNT = 2  # kinds of doubt that the first screen names: more would push the answer off a phone's
LEADING = ("efficiency", "throughput", "edp", "cost", "idle", "beside")  # the first of these is on the first screen


def page(found: Content, root: str) -> str:
    """Lay the report out as HTML; `root` is the way from it to the results folder."""
    marks, warnings = _marks(found)
    figures = dict(drawings(found))
    lead = next((name for name in LEADING if name in figures), "")
    given = list(answers(found))
    doubts = limitations(found.cells, found.doubts)
    there, tables = paper_figures.shown(found, figures), paper_figures.tables(found)
    (duty, proportionality), (growth, laws) = duty_tables(found.cells), scaling_tables(found.cells)
    return document(
        "report.html",
        found.name,
        figures,
        {trial: vars(line) for trial, line in found.timelines.items()},
        found=found,
        root=root,
        marks=marks,
        warnings=warnings,
        question=question(found),
        answers=given[:ANSWERS_COUNT],
        more_answers=len(given) - ANSWERS_COUNT,
        facts=list(_facts(found)),
        lead=lead,
        results=table(found.cells),
        paper=published.paper(found.reproduces) if found.reproduces else None,
        paper_figures=there,
        paper_tables=tables,
        paper_has=paper_figures.summed_up(there, list(tables)),
        apart=[lead, *(one.name for one in there)],
        claims=claims.claims_table(found.claims, claims.graded(found.records)) if found.claims else None,
        claims_counts=claims.counts(found.claims),
        beside=paper_comparison.alongside_table(found.held) if found.held else None,
        beside_lines=list(paper_comparison.lines(found.held)),
        winners=winners_table(found.winners),
        duty=duty,
        proportionality=proportionality,
        wear=wear_table(found.records, found.cells) if (went := ageing_table(found.records)).rows else went,
        aged=went,
        events=events_table(found.cells),
        rebuild=rebuild_table(found.cells),
        rebuilt_bytes=rebuilt_bytes_table(found.cells),
        idle=idle_table(found.cells),
        users=users_table(mixes(found.points, widening_of(found.cells))),
        scaling=growth,
        laws=laws,
        failed=[record for record in found.records if record.status == "failed"],
        muons=muons_table(found.cells),
        budgets=budget_table(found.metered),
        unexplained=unexplained_table(found.metered),
        parts=parts_table(found.metered),
        sides=sides_table(found.cells),
        split=split_table(found.cells),
        amplification=amplification_table(found.cells),
        doubts=doubts,
        doubts_named=_named(doubts),
        omitted=limitations(found.cells, (), omitted=True),
        metrics=metrics_table(found.cells),
        methods=methods(found),
        circumstances=list(_circumstances(found)),
        version=__version__,
    )


def _named(doubts: Sequence[Group]) -> str:
    """Name the kinds of doubt that can cost most, and count the others: "A; B; and 3 more"."""
    named, more_count = [group.kind.title for group in doubts[:DOUBTS_COUNT]], len(doubts) - DOUBTS_COUNT
    return "; ".join([*named, f"and {more_count} more"] if more_count > 0 else named)


def _marks(found: Content) -> tuple[list[str], list[str]]:
    """Say in a few words how much was measured, and what to keep in mind."""
    valid_count = sum(r.status == "valid" for r in found.records)
    failed_count = len(found.records) - valid_count
    marks = [counted(valid_count, "valid trial")]
    marks += [f"seed {found.seed}"] if found.seed is not None else []
    return marks, [counted(failed_count, "failed trial")] if failed_count else []


def _facts(found: Content) -> Iterator[tuple[str, str, bool]]:
    """Give what one must know to read an answer: heading, words, and whether they are a warning."""
    if found.cells:
        yield ("Redundancy", *redundancy(found.cells))
        yield ("Watts", *watts(found.cells))
    if found.records:
        yield ("Measured on", *reality(found))


def _circumstances(found: Content) -> Iterator[tuple[str, str]]:
    """Give what was measured on, each with its heading."""
    deployments: dict[str, list[Record]] = {}  # the facts of a deployment are gathered once, and are its own
    for record in found.records:
        if record.facts:
            text = json.dumps([record.trial.filesystem.label, record.facts], sort_keys=True, default=str)
            deployments.setdefault(text, []).append(record)
    for records in deployments.values():
        count = f"{len(records)} trial{'s' if len(records) > 1 else ''}"
        yield (f"Deployment of {records[0].trial.filesystem.label} ({count}), as its daemons report it", _json(records[0].facts))
    if found.records:
        yield ("Machine and software", _json(found.records[-1].environment))
    yield ("The campaign", "".join(f"# set {o}\n" for o in found.overrides) + found.text)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, default=str)
