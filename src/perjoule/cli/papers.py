"""Commands about published numbers: papers, audit, reproduce."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path

import click

from perjoule import campaign, published
from perjoule.analysis.audit import Verdict, audit, audit_cells
from perjoule.analysis.plausibility import doubts
from perjoule.campaign import replication
from perjoule.campaign.defaults import TESTBED
from perjoule.cli import exits, parameters
from perjoule.cli.display import counted, err, out, show_line
from perjoule.cli.measuring import start
from perjoule.cli.outputs import OutputFile
from perjoule.cli.parameters import examples
from perjoule.model.errors import CampaignError
from perjoule.published import Number, Paper

_SHOWN = 4  # places for one reason


@click.command(
    "papers",
    short_help="List published papers, or a paper's numbers.",
    epilog=examples(
        "perjoule papers",
        'perjoule papers green-storage --table "Table II"',
        "perjoule papers cubieboard --quantity power --json",
    ),
)
@click.argument("name", metavar="[PAPER|FILE.toml]", required=False, shell_complete=parameters.completing(published.names))
@click.option("--quantity", type=click.Choice(list(published.QUANTITIES)), metavar="QUANTITY", help="Only these numbers.")
@click.option("--table", "place", metavar="PLACE", help='Only numbers of this table or section, as in "Table II".')
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output: SI units, and the text as printed.")
def papers_command(name: str | None, quantity: str | None, place: str | None, as_json: bool) -> None:
    """List the papers that perjoule knows, or every number that PAPER prints."""
    if name is None:
        found = [published.paper(one) for one in published.names()]
        if as_json:
            click.echo(json.dumps([_about(paper) for paper in found], indent=2, ensure_ascii=False))
        else:
            for paper in found:
                _show_paper(paper)
        return
    paper = paper_named(name)
    numbers = _chosen(paper, quantity, place)
    if as_json:
        click.echo(json.dumps([_as_json(one) for one in numbers], indent=2, ensure_ascii=False))
        return
    for where, group in groupby(numbers, key=lambda one: one.place):
        out.print(where, style="bold")
        for one in group:
            is_what = "" if one.statistic in ("unknown", "nominal") else f", {one.statistic}"
            note = f"; {one.note}" if one.note else ""
            show_line(f"  {one.printed}: {one.name}{is_what} [{one.id}]{note}")


def paper_named(name: str) -> Paper:
    """Find a paper by its name, or read it from a file."""
    path = Path(name)
    if name in published.names() or path.suffix != ".toml":
        return published.paper(name)
    with exits.place(path):
        return published.read(path.read_text("utf-8"), name.removesuffix(".toml"))


def _chosen(paper: Paper, quantity: str | None, place: str | None) -> list[Number]:
    places = list(dict.fromkeys(one.place for one in paper.numbers))
    if place is not None and place not in places:
        near = get_close_matches(place, places, n=1)
        raise CampaignError(f'{paper.name} has no "{place}"', next=f'did you mean "{near[0]}"?' if near else ", ".join(places))
    return [one for one in paper.numbers if quantity in (None, one.quantity) and place in (None, one.place)]


def _about(paper: Paper) -> dict[str, object]:
    return {
        "name": paper.name,
        "title": paper.title,
        "authors": paper.authors,
        "year": paper.year,
        "reference": paper.reference,
        "doi": paper.doi,
        "numbers_count": len(paper.numbers),
        "clusters": paper.values("cluster"),
        "filesystems": paper.values("filesystem"),
        "notes": paper.notes,
    }


def _show_paper(paper: Paper) -> None:
    out.print(f"{paper.name}: {len(paper.numbers)} numbers, {paper.year or 'year not printed'}", style="bold")
    show_line(f"  {paper.title}")
    show_line(f"  {paper.reference}{f', doi:{paper.doi}' if paper.doi else ''}")
    for words, fact in (("clusters", "cluster"), ("file systems", "filesystem")):
        if paper.values(fact):
            show_line(f"  {words}: {', '.join(paper.values(fact))}")


def _as_json(one: Number) -> dict[str, object]:
    """Return a number as JSON data; the open end of "at least" is null."""
    return {**asdict(one), "high": None if one.high == float("inf") else one.high}


@click.command(
    "audit",
    short_help="Recompute the derived numbers of a paper or results folder.",
    epilog=examples("perjoule audit green-storage", "perjoule audit all --strict", "perjoule audit results/demo --json"),
)
@click.argument(
    "target", metavar="PAPER|all|FILE.toml|DIR", shell_complete=parameters.completing(lambda: ("all", *published.names()))
)
@click.option("--strict", is_flag=True, help="Exit code 1 when something disagrees.")
@click.option("--all", "everything", is_flag=True, help="Also list what agrees.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output: every verdict.")
def audit_command(target: str, strict: bool, everything: bool, as_json: bool) -> None:
    """Recompute every derived number of a paper, or of a results folder, and check its throughputs against physical bounds.

    Prints what agrees, what doesn't (printed, recomputed, likely cause) and what can't be checked, and why.
    """
    found = _audited(target)
    if as_json:
        content = {name: [asdict(verdict) for verdict in verdicts] for name, verdicts in found.items()}
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        for name, verdicts in found.items():
            _show(name, verdicts, everything)
    if strict and any(verdict.kind == "disagrees" for verdicts in found.values() for verdict in verdicts):
        sys.exit(1)


def _audited(target: str) -> dict[str, Sequence[Verdict]]:
    if target == "all":
        return {name: audit(published.paper(name)) for name in published.names()}
    if target not in published.names() and "/" in target and not Path(target).exists():
        raise CampaignError(
            "no such folder or file", where=target, next="name a paper without a path, as `perjoule papers` lists it"
        )
    if target not in published.names() and Path(target).is_dir():
        return {target: _of_results(Path(target))}
    return {target: audit(paper_named(target))}


def _of_results(folder: Path) -> tuple[Verdict, ...]:
    from perjoule.cli.results import measured
    from perjoule.results import verification
    from perjoule.summary import summary

    results = measured(folder)
    stored = results.table()
    records = [record for record in results.latest() if record.status == "valid"]
    implausible = {doubt for record in records for doubt in doubts(record, results.series(record))}
    clusters = {record.cluster for record in records}
    cells = stored if stored is not None else summary(results).cells
    found = audit_cells(cells, clusters.pop() if len(clusters) == 1 else "", implausible)
    rule = "the stored data reproduce the shown numbers"
    differences = verification.verify(results).differences
    return (*found, *(Verdict("disagrees", rule, "files", "stored numbers", recomputed=one) for one in differences))


def _show(name: str, verdicts: Sequence[Verdict], everything: bool) -> None:
    kinds = {kind: [v for v in verdicts if v.kind == kind] for kind in ("disagrees", "agrees", "unchecked")}
    checks_count = len(kinds["agrees"]) + len(kinds["disagrees"])
    out.print(f"{name}: {counted(checks_count, 'check')}, {len(kinds['disagrees'])} disagree", style="bold")
    resting = [v for v in kinds["agrees"] if v.rests_on]
    if kinds["disagrees"]:
        out.print("Disagrees", style="red")
        for verdict in kinds["disagrees"]:
            _show_disagreement(verdict)
    if resting:
        out.print("Agrees, but depends on a number that disagrees", style="yellow")
        for verdict in resting:
            show_line(f"  {verdict.place}: {verdict.what}: {verdict.printed}")
            show_line(f"    {verdict.rests_on}")
    if kinds["unchecked"]:
        out.print("Can't be checked", style="yellow")
        _show_unchecked(kinds["unchecked"])
    if everything:
        out.print("Agrees", style="green")
        for verdict in kinds["agrees"]:
            shown = f": printed {verdict.printed}, recomputed {verdict.recomputed}" if verdict.printed else ""
            show_line(f"  {verdict.place}: {verdict.what}{shown} ({verdict.rule})")
    elif kinds["agrees"]:
        rules = {rule: sum(v.rule == rule for v in kinds["agrees"]) for rule in dict.fromkeys(v.rule for v in kinds["agrees"])}
        out.print("Agrees", style="green")
        for rule, count in rules.items():
            show_line(f"  {count:4d}  {rule}")


def _show_disagreement(verdict: Verdict) -> None:
    show_line(f"  {verdict.place}: {verdict.what}")
    if verdict.printed:
        show_line(f"    printed {verdict.printed}, recomputed {verdict.recomputed} ({verdict.rule})")
        show_line(f"    of {verdict.of}")
        show_line(f"    likely cause: {verdict.cause or 'no single error explains it'}")
    else:
        show_line(f"    {verdict.of + ': ' if verdict.of else ''}{verdict.recomputed}")


def _show_unchecked(verdicts: Sequence[Verdict]) -> None:
    """Print each reason once, with the numbers that it keeps from being checked."""
    for cause, rule in dict.fromkeys((v.cause, v.rule) for v in verdicts):
        there = [v for v in verdicts if (v.cause, v.rule) == (cause, rule)]
        show_line(f"  {cause}{f' ({rule})' if rule else ''}")
        places = {place: [v for v in there if v.place == place] for place in dict.fromkeys(v.place for v in there)}
        for place, group in list(places.items())[:_SHOWN]:
            what = ", ".join(v.printed for v in group) if len(group) > 1 and group[0].printed else "; ".join(map(_named, group))
            show_line(f"    {place}: {what}")
        if len(places) > _SHOWN:
            out.print(f"    and {len(places) - _SHOWN} more")


def _named(verdict: Verdict) -> str:
    return f"{verdict.printed}, {verdict.what}" if verdict.printed else verdict.what


@click.command(
    "reproduce",
    short_help="Repeat a paper's study: write its campaign, or run it.",
    epilog=examples(
        "sudo perjoule reproduce green-storage --scale 0.1",
        "perjoule reproduce green-storage --scale 0.1 --write green.toml",
        "perjoule reproduce green-storage --testbed mine.toml --write green.toml",
        "perjoule reproduce green-storage --simulate",
    ),
)
@click.argument("name", metavar="PAPER", shell_complete=parameters.completing(published.names))
@click.option("--scale", type=click.FloatRange(min=0, max=1, min_open=True), help="Speed of the virtual hosts.")
@click.option(
    "--testbed", default=TESTBED, metavar=f"{TESTBED}|FILE.toml", help="Where to run: a file with your [testbed] and [[meter]]."
)
@parameters.shrink
@click.option("--repetitions", type=click.IntRange(min=1), help="Repetitions of each data point; the paper's by default.")
@click.option("--write", "target", type=OutputFile(), metavar="FILE.toml", help="Only write the campaign; run nothing.")
@parameters.into
@parameters.simulate
def reproduce_command(
    name: str,
    scale: float | None,
    testbed: str,
    shrink: int | None,
    repetitions: int | None,
    target: Path | None,
    into: Path | None,
    simulate: bool,
) -> None:
    """Repeat the study of PAPER as far as possible: its file systems and workload, on virtual hosts or your own.

    The report shows the paper's numbers next to yours, and says for each claim of the paper whether it holds here.
    """
    own = None if testbed == TESTBED else Path(testbed)
    text = replication.written(name, scale=scale, shrink=shrink, repetitions=repetitions, testbed=own, simulate=simulate)
    asked = campaign.parse(text, source=target.name if target else f"{name}.toml")
    for missing in replication.reproduction(name).missing:
        err.print(f"can't be repeated: {missing}")
    if target is None:
        start(asked, into)
    else:
        with exits.place(target):
            target.write_text(text, encoding="utf-8")
        show_line(f"{target}: {counted(len(asked.trials), 'trial')}; perjoule check {target} says how long they take")
