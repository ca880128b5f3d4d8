"""The report's page: content and figures to one HTML file that needs nothing from outside."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perjoule import __version__, published
from perjoule.analysis.fairness import mixes
from perjoule.analysis.scaling import scaling
from perjoule.analysis.winners import Finding
from perjoule.model import Cell, Interval, Record
from perjoule.model.metrics import RANKED, metric_of
from perjoule.report import claims, mixed_users, muons, paper_comparison, scalability
from perjoule.report.content import Content
from perjoule.report.document import document
from perjoule.report.drawings import drawings
from perjoule.report.metered import budget_table, unexplained_table
from perjoule.report.methods import methods
from perjoule.results.joules import WORDS, sides_table, split_table
from perjoule.results.table import Table, amplification_table, number, pair_texts, table, winners_table, with_meter


def page(found: Content, root: str) -> str:
    """Lay the report out as HTML; `root` is the way from it to the results folder."""
    marks, warnings = _badges(found)
    grown = scaling(found.cells)
    return document(
        "report.html",
        found.name,
        dict(drawings(found)),
        {trial: vars(line) for trial, line in found.timelines.items()},
        found=found,
        root=root,
        marks=marks,
        warnings=warnings,
        cards=list(_cards(found.cells, found.winners)),
        results=table(found.cells),
        paper=published.paper(found.reproduces) if found.claims else None,
        claims=claims.claims_table(found.claims, claims.graded(found.records)) if found.claims else None,
        claims_counts=claims.counts(found.claims),
        beside=paper_comparison.alongside_table(found.held) if found.held else None,
        beside_words=paper_comparison.WORDS,
        beside_lines=list(paper_comparison.lines(found.held)),
        winners=winners_table(found.winners),
        users=mixed_users.users_table(mixes(found.points)),
        scaling=scalability.scaling_table(grown),
        laws=scalability.laws_table(grown),
        failed=[record for record in found.records if record.status == "failed"],
        muons=muons.muons_table(found.cells),
        budgets=budget_table(found.metered),
        unexplained=unexplained_table(found.metered),
        sides_words=list(WORDS),
        sides=sides_table(found.cells),
        split=split_table(found.cells),
        amplification=amplification_table(found.cells),
        doubts=[*((words, "the campaign") for words in found.doubts), *_places(found.cells, [c.doubts for c in found.cells])],
        omitted=_places(found.cells, [cell.omitted for cell in found.cells]),
        metrics=_metrics(found.cells),
        methods=methods(found),
        circumstances=list(_circumstances(found)),
        version=__version__,
    )


def _badges(found: Content) -> tuple[list[str], list[str]]:
    """Say in a few words what was measured, and what to keep in mind."""
    valid_count = sum(r.status == "valid" for r in found.records)
    failed_count = len(found.records) - valid_count
    systems = list(dict.fromkeys(cell.filesystem for cell in found.cells))
    marks = [f"{len(systems)} file systems", f"{valid_count} valid trials", *found.clusters]
    marks += [f"seed {found.seed}"] if found.seed is not None else []
    warned = [f"{failed_count} failed trials"] if failed_count else []
    warned += [f"emulated at scale {found.scale:g}"] if found.scale != 1 else []
    warned += ["power is modelled"] if found.modelled else []
    return marks, warned


@dataclass(frozen=True)
class _Card:
    heading: str
    value: str
    legend: str
    verdict: str


def _cards(cells: Sequence[Cell], winners: Sequence[Finding]) -> Iterator[_Card]:
    """Say who is best with the most clients, and than whom for certain."""
    most = max((c.clients_count for c in cells), default=0)
    for direction in ("write", "read", "mixed"):
        for metric in RANKED:
            chosen = [c for c in cells if c.direction == direction and c.clients_count == most and metric in c.metrics]
            if chosen:
                yield _card(chosen, metric, f"{direction}, {most} client{'s' if most > 1 else ''}", winners)


def _card(cells: Sequence[Cell], metric: str, heading: str, winners: Sequence[Finding]) -> _Card:
    best = max(cells, key=lambda c: c.metrics[metric].mean)
    work = ("", best.workload, best.direction, best.clients_count, metric)
    found = next((w for w in winners if (w.among, w.workload, w.direction, w.clients_count, w.metric) == work), None)
    if found is None:
        verdict = "the only one measured"
    else:  # the same best, verdict and numbers as in the table of winners
        best = next(c for c in cells if (c.filesystem, c.workload) == (found.best, found.workload))
        verdict = found.verdict
        if not found.grades:
            ratio, p = pair_texts(next(iter(found.verdicts.values())))
            verdict += f" ({ratio} over {found.compared[1]}, p {p if p.startswith('<') else f'= {p}'})"
    if len({c.workload for c in cells}) > 1:
        heading = f"{best.workload}, {heading}"
    return _Card(heading, f"{with_meter(best, metric)} {metric_of(metric).unit.symbol}", best.legend, verdict)


def _places(cells: Sequence[Cell], said: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """List texts on cells, each once with all its places, the most frequent first."""
    places: dict[str, list[str]] = {}
    for cell, own in zip(cells, said, strict=True):
        for words in own:
            places.setdefault(words, []).append(f"{cell.filesystem} {cell.direction}, {cell.clients_count} clients")
    return [
        (words, "all rows" if len(where) == len(cells) else "; ".join(where[:6]) + (" …" if len(where) > 6 else ""))
        for words, where in sorted(places.items(), key=lambda item: -len(item[1]))
    ]


def _metrics(cells: Sequence[Cell]) -> Table:
    names = list(dict.fromkeys(name for cell in cells for name in cell.metrics))

    def text(interval: Interval | None) -> str:
        return number(interval.mean) if interval and abs(interval.mean) >= 1e-3 else f"{interval.mean:.3g}" if interval else "–"

    rows = ((c.filesystem, c.direction, str(c.clients_count), *(text(c.metrics.get(n)) for n in names)) for c in cells)
    return Table(("file system", "direction", "clients", *names), tuple(rows))


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
