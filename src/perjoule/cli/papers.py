"""Commands about published numbers: papers, reproduce."""

import shlex
import sys
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path

import click

from perjoule import campaign
from perjoule.campaign.defaults import TESTBED
from perjoule.campaign.making import replication
from perjoule.campaign.source import text_of
from perjoule.cli import parameters
from perjoule.cli.measuring import measured
from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import err, out, show_line
from perjoule.cli.terminal.outputs import OutputFile, write
from perjoule.model import Campaign
from perjoule.model.errors import CampaignError
from perjoule.model.units import counted
from perjoule.papers import published
from perjoule.papers.published import Paper, PrintedNumber


@click.command(
    "papers",
    short_help="List published papers, or a paper's numbers.",
    epilog=examples(
        "perjoule papers",
        'perjoule papers green-storage --table "Table II"',
        "perjoule papers cubieboard --quantity power --json",
    ),
)
@click.argument(
    "name", metavar="[PAPER|FILE.toml]", required=False, shell_complete=parameters.completing(published.names)
)
@click.option(
    "--quantity",
    type=click.Choice(list(published.QUANTITIES)),
    metavar="QUANTITY",
    help="Only these numbers.",
)
@click.option(
    "--table", "place", metavar="PLACE", help='Only numbers of this table or section, as in "Table II".'
)
@json_output.option
def papers_command(name: str | None, quantity: str | None, place: str | None, as_json: bool) -> None:
    """List the papers that perjoule knows, or every number that PAPER prints."""
    if name is None:
        papers = [published.paper(name) for name in published.names()]
        if as_json:
            json_output.print_json("papers", {"papers": [_about(paper) for paper in papers]})
        else:
            for paper in papers:
                _show_paper(paper)
        return
    paper = paper_named(name)
    figures = [
        figure
        for figure in paper.figures
        if quantity in (None, figure.quantity) and place in (None, figure.place)
    ]
    numbers = _chosen(paper, quantity, place)
    if as_json:
        json_output.print_json("papers", {"paper": paper.name, "numbers": numbers, "figures": figures})
        return
    for group_place, group in groupby(numbers, key=lambda number: number.place):
        listed = list(group)
        out.print(group_place, style="bold")
        if listed[0].source:
            show_line(f"  {listed[0].source} ({listed[0].date})")
        for number in listed:
            is_what = "" if number.statistic in ("unknown", "nominal") else f", {number.statistic}"
            note = f"; {number.note}" if number.note else ""
            show_line(f"  {number.printed}: {number.name}{is_what} [{number.id}]{note}")
    for figure in figures:
        out.print(figure.place, style="bold")
        places = dict.fromkeys(number.place for number in paper.shown(figure))
        printed = f"{counted(len(paper.shown(figure)), 'number')} of {', '.join(places)}"
        show_line(f"  {figure.caption}: {printed if places else 'prints no value'}")
        if axis := figure.axis:
            show_line(f"  {axis.words}: axis of {figure.quantity} ({axis.scale}), a bound on what it shows")


def paper_named(name: str) -> Paper:
    """Find a paper by its name, or read it from a file."""
    path = Path(name)
    if name in published.names() or path.suffix != ".toml":
        return published.paper(name)
    return published.read(
        text_of(path, "paper", "`perjoule docs papers` describes such a file; `perjoule papers` lists names"),
        name.removesuffix(".toml"),
    )


def _chosen(paper: Paper, quantity: str | None, place: str | None) -> list[PrintedNumber]:
    places = list(
        dict.fromkeys(
            (*(number.place for number in paper.numbers), *(number.place for number in paper.figures))
        )
    )
    if place is not None and place not in places:
        near = get_close_matches(place, places, n=1)
        raise CampaignError(
            f'{paper.name} has no "{place}"', next=f'did you mean "{near[0]}"?' if near else ", ".join(places)
        )
    return [
        number
        for number in paper.numbers
        if quantity in (None, number.quantity) and place in (None, number.place)
    ]


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
        "kind": paper.kind,
    }


def _show_paper(paper: Paper) -> None:
    out.print(
        f"{paper.name}: {counted(len(paper.numbers), 'number')}, {paper.year or 'year not printed'}",
        style="bold",
    )
    show_line(f"  {paper.title}")
    show_line(f"  {paper.reference}{f', doi:{paper.doi}' if paper.doi else ''}")
    for label, fact in (("clusters", "cluster"), ("file systems", "filesystem")):
        if paper.values(fact):
            show_line(f"  {label}: {', '.join(paper.values(fact))}")


@click.command(
    "reproduce",
    short_help="Repeat a paper's study: write its campaign, or run it.",
    epilog=examples(
        "sudo perjoule reproduce green-storage --scale 0.1",
        "perjoule reproduce green-storage --scale 0.1 --write green.toml",
        "perjoule reproduce green-storage --testbed mine.toml --write green.toml",
        "perjoule reproduce green-storage --also orangefs --write green.toml",
        "perjoule reproduce green-storage --simulate",
    ),
)
@click.argument("name", metavar="PAPER", shell_complete=parameters.completing(published.names))
@parameters.scale("Speed of the virtual hosts; by default one that suits two cores.")
@click.option(
    "--testbed",
    default=TESTBED,
    show_default=True,
    metavar=f"{TESTBED}|FILE.toml",
    help="Where to run: a file with your [testbed] and [[meter]].",
)
@click.option(
    "--shrink",
    metavar="N",
    type=click.IntRange(min=1),
    help=(
        "Divide the paper's sizes by N; by default, such that virtual hosts need at most 45 minutes, and by 1 "
        "with --testbed FILE."
    ),
)
@click.option(
    "--repetitions",
    metavar="N",
    type=click.IntRange(min=1),
    help="Repetitions of each data point; the paper's by default.",
)
@click.option(
    "--also",
    multiple=True,
    metavar="KIND",
    help=(
        "Measure this file system of the paper's as well, which no distribution has, where you have installed "
        "it: orangefs, beegfs."
    ),
)
@click.option(
    "--write", "target", type=OutputFile(), metavar="FILE.toml", help="Only write the campaign; run nothing."
)
@parameters.into
@parameters.simulate
def reproduce_command(
    name: str,
    scale: float | None,
    testbed: str,
    shrink: int | None,
    repetitions: int | None,
    also: tuple[str, ...],
    target: Path | None,
    into: Path | None,
    simulate: bool,
) -> None:
    """Repeat the study of PAPER as far as possible: its file systems and workload, on virtual hosts or your
    own.

    A paper with several studies has a results folder, or a file, for each: DIR/STUDY, FILE-STUDY.toml.

    The report shows the paper's numbers next to yours, and says for each claim of the paper whether it holds
    here.
    """
    testbed_file = None if testbed == TESTBED else Path(testbed)
    found = replication.reproductions(name)
    asked: list[tuple[Campaign, str, str]] = []  # with its text and study
    for study in found:
        text = replication.written(
            study,
            scale=scale,
            shrink=shrink,
            repetitions=repetitions,
            testbed=testbed_file,
            also=also,
            simulate=simulate,
        )
        source = _of_study(target, study.study).name if target else f"{study.study or name}.toml"
        asked.append((campaign.parse(text, source=source), text, study.study))
        for part in replication.lacking(study, also):
            err.print(f"can't be repeated{f' by {study.study}' if study.study else ''}: {part}")
    codes: list[int] = []
    for plan, text, study in asked:
        if target is None:
            codes.append(measured(plan, into / study if into else None)[1])
        else:
            file = _of_study(target, study)
            write(file, text)
            trials = counted(len(plan.trials), "trial")
            show_line(f"{file}: {trials}; perjoule check {shlex.quote(str(file))} says how long they take")
    sys.exit(max(codes, default=0))


def _of_study(target: Path, study: str) -> Path:
    """Return the file of one of a paper's studies; that of the only one is the one asked for."""
    return target.with_stem(f"{target.stem}-{study}") if study else target
