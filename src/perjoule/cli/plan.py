"""The command that finds hardware for a need: plan."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule.cli import parameters
from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import err, out, show_line, show_table
from perjoule.cli.terminal.outputs import OutputFile, write
from perjoule.cli.terminal.tables import wrapped_at_words

if TYPE_CHECKING:
    from perjoule.planning import Answer


def _print_schema(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from perjoule.planning.schema import schema

        click.echo(json.dumps(schema(), indent=2))
        context.exit()


@click.command(
    "plan",
    short_help="Find the hardware and file system for a need.",
    epilog=examples(
        "perjoule plan archive.toml",
        "perjoule plan archive.toml --page plan.html",
        "perjoule plan archive.toml --candidate 1",
        "perjoule plan archive.toml --candidate 1 --write measure.toml",
        "perjoule plan archive.toml --json",
        "perjoule plan --schema > need.schema.json",
    ),
)
@click.argument("file", type=click.Path(path_type=Path), metavar="NEED.toml")
@click.option("--all", "everything", is_flag=True, help="List the whole front instead of a dozen candidates.")
@click.option(
    "--candidate",
    "number",
    type=click.IntRange(min=1),
    metavar="N",
    help="Describe candidate N of the front.",
)
@click.option(
    "--page", "target", type=OutputFile(), metavar="FILE.html", help="Write a page to explore the front with."
)
@click.option(
    "--write",
    "campaign",
    type=OutputFile(),
    metavar="FILE.toml",
    help="Write a campaign that measures the candidate.",
)
@parameters.scale("With --write: on virtual hosts of this speed.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of a need, for editors.",
)
@json_output.option
def plan_command(
    file: Path,
    everything: bool,
    number: int | None,
    target: Path | None,
    campaign: Path | None,
    scale: float | None,
    as_json: bool,
) -> None:
    """Find the clusters that meet NEED.toml with the least energy, money and carbon, and the most throughput.

    Computes every combination of the catalogue's servers, disks, networks and file systems; none beats a
    candidate of the front at everything. Bands are the 5th to 95th percentile of draws of all uncertain
    values. If nothing meets the need, the output has the nearest candidate and the limits to move, and the
    exit code is 1. See `perjoule docs plan` for keys and definitions.
    """
    from perjoule import planning
    from perjoule.model.errors import CampaignError
    from perjoule.planning.texts import as_data

    found = planning.answer(planning.read(file))
    if number is not None and found.rows and number > len(found.rows):
        problem = f"the front has {len(found.rows)} candidates, and no number {number}"
        raise CampaignError(
            problem, where="--candidate", next=f"perjoule plan {shlex.quote(str(file))} --all lists them"
        )
    if (campaign or scale) and not (number and campaign):
        raise CampaignError(
            "a campaign measures one candidate",
            where="--write",
            next="name it by --candidate N, and a file by --write",
        )
    if as_json:
        json_output.print_json("plan", as_data(found))
    elif found.rows:
        _show(found, everything, number)
    else:
        _show_impossible(found)
    if campaign is not None and number is not None and found.rows:
        from perjoule.planning.measuring import written

        text = written(found, found.rows[number - 1], scale)
        write(campaign, text)
        err.print(
            f"{campaign}: perjoule check {shlex.quote(str(campaign))} says how long it takes", soft_wrap=True
        )
    if target is not None:
        from perjoule.planning.exploring import page

        write(target, page(found))
    if not found.rows:
        sys.exit(1)


def _show(answer: "Answer", everything: bool, number: int | None) -> None:
    from perjoule.planning import texts
    from perjoule.planning.answer import LEAST_REGRET
    from perjoule.results.table import Table

    need = answer.question.need
    if number is not None:
        for line in texts.about(answer.rows[number - 1]):
            show_line(line)
        return
    out.print(
        f"{need.name}: {answer.candidates_count} candidates, {answer.possible_count} meet the need, "
        f"{len(answer.rows)} are on the front",
        style="bold",
    )
    rows = answer.rows if everything else texts.shown(answer)
    table = Table(texts.HEADERS, tuple(texts.cells(row) for row in rows), texts.WORDS)
    if hidden := show_table(table, spare=texts.SPARE).hidden:
        show_line(f"not shown for lack of width: {', '.join(hidden)}; --candidate N has it")
    if len(rows) < len(answer.rows):
        out.print(
            f"{len(rows)} of {len(answer.rows)} are shown: the best at something, and some between; --all lists all"
        )
    out.print(f"{texts.TOTALS}: all of {need.years:g} years, from the wall, with the switch")
    best = answer.pick(LEAST_REGRET)
    out.print()
    out.print(
        "\n".join(wrapped_at_words(f"{texts.least_regret(answer)}, candidate {best.id}:", out.width)),
        style="bold",
    )
    for line in (*texts.about(best), *filter(None, [texts.less_regret(answer)])):
        show_line(f"  {line}")
    changes = texts.main_changes(answer)
    out.print(
        "\nwhat changes the ranking:" if changes else "\nno value within its interval changes the ranking",
        style="bold",
    )
    for change in changes:
        show_line(f"  {texts.change_text(change, answer.space.titles)}")


def _show_impossible(answer: "Answer") -> None:
    from perjoule.planning import texts
    from perjoule.planning.enumeration import constraints

    need = answer.question.need
    assert answer.nearest is not None
    out.print(f"{need.name}: none of {answer.candidates_count} candidates meets the need", style="bold red")
    out.print(texts.heading(answer), style="bold")
    for move in answer.moves:
        show_line(f"  {texts.move_text(move)}")
    missed = "; ".join(texts.misses(answer.nearest, constraints(need)))
    show_line(f"nearest: {answer.nearest.text}: {missed}")
    if more := texts.most_tried(answer):
        show_line(more)
