"""Records and figures to one HTML file that works offline, and to SVG and PDF."""

import os
from collections.abc import Sequence
from pathlib import Path

from perjoule import published
from perjoule.analysis.claims import judged as held_against
from perjoule.analysis.fairness import mixes
from perjoule.analysis.paper_facts import measured
from perjoule.analysis.proportionality import proportionality as against_load
from perjoule.analysis.replacement import machines
from perjoule.analysis.replacement import replacements as compared
from perjoule.analysis.scaling import scaling
from perjoule.analysis.stopping import widening_of
from perjoule.analysis.winners import Finding
from perjoule.figures import rendering, vega
from perjoule.figures.columns import Column, fitted
from perjoule.figures.timeline import completed
from perjoule.model import Cell, Replacement
from perjoule.report import claims
from perjoule.report.content import Content, best, content
from perjoule.report.drawings import drawings
from perjoule.report.index import entry, index
from perjoule.report.metered import budget_table, parts_table, unexplained_table
from perjoule.report.mixed_users import users_table
from perjoule.report.page import page
from perjoule.report.proportionality import loads_table, proportionality_table
from perjoule.report.scalability import laws_table, scaling_table
from perjoule.results.table import Table
from perjoule.store import Results
from perjoule.store.disk import replace_file
from perjoule.summary import mark_report, summary
from perjoule.summary.computing import of_trial, points_of

__all__ = [
    "budget_tables",
    "claims_lines",
    "duty_tables",
    "figures",
    "replacements",
    "scaling_tables",
    "users_tables",
    "winners",
    "write",
    "write_index",
]


def winners(results: Results, cells: Sequence[Cell]) -> tuple[Finding, ...]:
    """Find the best file system for each workload of a results folder, from its cells."""
    return best(results.latest(), cells)


def replacements(several: Sequence[Results]) -> tuple[Replacement, ...]:
    """Compare the machines of one results folder or of several: how many of one replace another."""
    return compared([pair for results in several for pair in machines(results.latest(), summary(results).cells)])


def users_tables(results: Results) -> tuple[Table, ...]:
    """Lay out the throughput of several users together and alone; empty if none ran at once."""
    found = mixes(points_of(results, results.latest()), widening_of(summary(results).cells))
    return (users_table(found),) if found else ()


def scaling_tables(results: Results) -> tuple[Table, ...]:
    """Lay out scaling with storage hosts, and the laws; empty if their number was the same throughout."""
    found = scaling(summary(results).cells)
    return (scaling_table(found), laws_table(found)) if found else ()


def duty_tables(results: Results) -> tuple[Table, ...]:
    """Lay out power against load, and how proportional it is; empty if no load was paced at several shares."""
    found = against_load(summary(results).cells)
    return (loads_table(found), proportionality_table(found)) if found else ()


def claims_lines(paper: str, results: Results, cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return whether each claim of a paper holds in a results folder, from its cells. Raises CampaignError: no such paper."""
    records = results.latest()
    found = held_against(published.paper(paper), measured(records, cells))
    return (claims.counts(found), *claims.lines(found, claims.graded(records)))


def budget_tables(results: Results) -> tuple[Table, ...]:
    """Lay out the uncertainty of energies, and power that the meters do not explain; empty if no power was measured."""
    found = [one for record in results.latest() if (one := of_trial(results, record).metered) is not None]
    return tuple(laid for laid in (budget_table(found), unexplained_table(found)) if laid.rows)


def parts_tables(results: Results) -> tuple[Table, ...]:
    """Lay out the joules of each measured part of each host; empty if no meter measured a part."""
    found = [one for record in results.latest() if (one := of_trial(results, record).metered) is not None]
    return tuple(laid for laid in (parts_table(found),) if laid.rows)


def write(results: Results, target: Path) -> Path:
    """Write the report of a results folder, and keep its table for `perjoule verify`."""
    found = content(results)
    results.keep_table(found.cells)
    replace_file(target, page(found, os.path.relpath(results.folder, target.parent)))
    if target == results.folder / "report.html":
        mark_report(results)
    return target


def write_index(several: Sequence[Results], target: Path) -> Path:
    """Write a page over many results folders, and the missing reports among them."""
    for results in several:
        if not (results.folder / "report.html").exists():
            write(results, results.folder / "report.html")
    replace_file(target, index(target.absolute().parent.name, [entry(results, target) for results in several]))
    return target


def figures(results: Results, folder: Path, column: Column = "double") -> tuple[Path, ...]:
    """Write every figure as SVG and as PDF, in the light theme, as wide as a journal's column."""
    found = content(results)
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(path for name, spec in _complete(found) for path in _draw(name, fitted(spec, column, rendering.svg), folder))


def _complete(found: Content) -> Sequence[tuple[str, vega.Spec]]:
    line = next(iter(found.timelines.values()), None)
    drawn = dict(drawings(found))
    if line is not None:
        drawn["timeline"] = completed(drawn["timeline"], line)
    return list(drawn.items())


def _draw(name: str, spec: vega.Spec, folder: Path) -> tuple[Path, Path]:
    svg, pdf = folder / f"{name}.svg", folder / f"{name}.pdf"
    svg.write_text(rendering.svg(spec), encoding="utf-8")
    pdf.write_bytes(rendering.pdf(spec))
    return svg, pdf
