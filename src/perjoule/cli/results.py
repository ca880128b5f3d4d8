"""Commands that read a results folder: show, report, verify."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule import store
from perjoule.cli import exits, json_output, parameters
from perjoule.cli.display import omissions, out, show, show_line
from perjoule.cli.outputs import OutputFolder, require_file
from perjoule.cli.parameters import examples
from perjoule.model import Cell
from perjoule.model.errors import CampaignError, MachineError
from perjoule.results.ageing import ageing_table, wear_table
from perjoule.results.events import events_table
from perjoule.results.idle import idle_table
from perjoule.results.joules import sides_table, split_table
from perjoule.results.rebuild import rebuild_table, rebuilt_bytes_table
from perjoule.results.table import Table, amplification_table, replacement_table, table, winners_table

if TYPE_CHECKING:
    from perjoule.figures.columns import Column

CAMPAIGN = "campaign.toml"  # identifies a results folder

# `report` and `verify` are imported where they are used: that takes longer than `--help`, completion and an error should.


@click.command(
    "show",
    short_help="Print the table of a results folder.",
    epilog=examples(
        "perjoule show results/demo", "perjoule show results/demo --winners", "perjoule show results/demo --json | jq .rows"
    ),
)
@parameters.folder
@click.option("--users", is_flag=True, help="Throughput of several users together and alone, and fairness.")
@click.option("--scaling", is_flag=True, help="Scaling with storage hosts: % of ideal, and the fitted law.")
@click.option("--winners", "best", is_flag=True, help="The best file system for each workload, or none.")
@click.option("--bytes", "amplification", is_flag=True, help="Bytes moved per user byte, next to what redundancy explains.")
@click.option("--joules", is_flag=True, help="Energy of servers, of clients and of all, by device, and where the joules went.")
@click.option("--idle", is_flag=True, help="What idle file systems draw and do by themselves, by role.")
@click.option("--aged", is_flag=True, help="What file systems went through before their trials, and what that changed.")
@click.option("--events", is_flag=True, help="Rate and power before, during and after events, and the cost of healing.")
@click.option("--duty", is_flag=True, help="Power against load: energy proportionality, and energy per byte at each load.")
@click.option("--budget", is_flag=True, help="Uncertainty budget of the energies, and power that the meters do not explain.")
@click.option("--replacement", is_flag=True, help="How many low-power machines replace a server, and their power.")
@click.option(
    "--with", "others", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="Add the results of another machine."
)
@json_output.option
def show_command(
    folder: Path,
    users: bool,
    scaling: bool,
    best: bool,
    amplification: bool,
    joules: bool,
    idle: bool,
    aged: bool,
    events: bool,
    duty: bool,
    budget: bool,
    replacement: bool,
    others: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Print the table of a results folder: means with 95 % intervals, and maxima."""
    from perjoule.summary import summary

    views = users or scaling or best or amplification or joules or idle or aged or events or duty or budget or replacement
    if as_json and views:
        raise CampaignError("--json prints all views at once", next="leave out the other options")
    results, beside = measured(folder), [measured(other) for other in others]
    if as_json:
        from perjoule.report.data import data

        json_output.print_json("show", data([results, *beside]))
        return
    found = summary(results)
    cells = found.cells
    if not views:
        show(table(cells), cells, found.scales)
        for doubt in found.doubts:
            show_line(f"doubt of the campaign: {doubt}")
        return
    from perjoule import report

    if users:
        _show(report.users_tables(results), folder, "no trial here has several users at once", "see docs/how-to/mixed-users.md")
    if scaling:
        _show(
            report.scaling_tables(results),
            folder,
            "the number of storage hosts was the same in all trials",
            "see docs/how-to/scaling.md",
        )
    if best:
        show(winners_table(report.winners(results, cells)), (), ())
    if amplification:
        show(amplification_table(cells), (), ())
    if joules:
        _show_joules(cells, report.parts_tables(results), folder)
    if idle:
        found_idle = [laid for laid in (idle_table(cells),) if laid.rows]
        _show(found_idle, folder, "no trial here was idle", "see docs/how-to/idle.md")
    if aged:
        records = results.latest()
        found_aged = [laid for laid in (wear_table(records, cells), ageing_table(records)) if laid.rows]
        _show(found_aged, folder, "no file system here was aged", "see docs/how-to/aged.md")
    if events:
        found_events = [laid for laid in (events_table(cells), rebuild_table(cells), rebuilt_bytes_table(cells)) if laid.rows]
        _show(found_events, folder, "nothing happened to servers in the trials here", "see docs/how-to/events.md")
    if duty:
        _show(report.duty_tables(results), folder, "no load here was paced at several shares", "see docs/how-to/duty.md")
    if budget:
        nothing = "no energy here has an uncertainty budget: no meter states its errors"
        _show(report.budget_tables(results), folder, nothing, "see docs/explanations/uncertainty.md")
    if replacement:
        replaced = report.replacements([results, *beside])
        if not replaced:
            what = "no two stand-alone machines here ran the same workload with metered power"
            raise MachineError(what, where=str(folder), next="add the results of another machine: --with DIR")
        show(replacement_table(replaced), (), ())


def _show_joules(cells: Sequence[Cell], parts: Sequence[Table], folder: Path) -> None:
    found = [laid for laid in (sides_table(cells), split_table(cells), *parts) if laid.rows]
    _show(found, folder, "no energy is known here", "see docs/how-to/meters.md")
    for line in omissions(cells):
        show_line(line)


def _show(tables: Sequence[Table], folder: Path, none: str, advice: str) -> None:
    if not tables:
        raise MachineError(none, where=str(folder), next=advice)
    for laid in tables:
        show(laid, (), ())


@click.command(
    "report",
    short_help="Write the report of one results folder, or of many.",
    epilog=examples(
        "perjoule report results/demo",
        "perjoule report results/demo --figures figures/",
        "perjoule report results/demo --figures figures/ --column single",
        "perjoule report results/",
    ),
)
@parameters.folder
@click.option("--figures", type=OutputFolder(), help="Write each figure as SVG and PDF into this folder.")
@click.option(
    "--column",
    type=click.Choice(["single", "double"]),
    default="double",
    show_default=True,
    help="Width of the figures: 3.5 or 7.16 inches, as journals have them.",
)
def report_command(folder: Path, figures: Path | None, column: "Column") -> None:
    """Write the report of a results folder again: one HTML file that works offline.

    For a folder of several results folders, write index.html, a page over all of them.
    """
    from perjoule import report

    several = () if figures or (folder / CAMPAIGN).exists() else sorted(path.parent for path in folder.glob(f"*/{CAMPAIGN}"))
    page = folder / ("index.html" if several else "report.html")
    if not figures and folder.is_dir():
        require_file(page)
    if several:
        opened = [results for results in map(store.open_results, several) if results.done()]
        if not opened:
            raise MachineError(
                "no trial has been measured here yet", where=str(folder), next="perjoule resume one of its folders"
            )
        with exits.place(folder):
            out.print(report.write_index(opened, page))
        return
    results = measured(folder)
    with exits.place(figures or folder):
        for path in report.figures(results, figures, column) if figures else [report.write(results, page)]:
            out.print(path)


@click.command(
    "verify",
    short_help="Recompute every number from the raw data.",
    epilog=examples("perjoule verify results/demo", "perjoule verify demo.zip", "perjoule verify results/demo --json"),
)
@parameters.folder
@json_output.option
def verify_command(folder: Path, as_json: bool) -> None:
    """Recompute every printed number of a results folder, or of a bundle of one, from its raw files.

    Exit code 1 if something differs.
    """
    from perjoule import exporting
    from perjoule.results import verification

    findings = exporting.verify_bundle(folder) if folder.is_file() else verification.verify(measured(folder))
    if as_json:
        json_output.print_json("verify", json_output.plain(findings))
    else:
        for finding in findings.differences:
            out.print(finding, style="red")
        for note in findings.notes:
            out.print(note, style="yellow")
        out.print(f"{findings.checked_count} numbers and files checked, {len(findings.differences)} differ")
    if findings.differences:
        sys.exit(1)


def measured(folder: Path) -> store.Results:
    """Open a results folder that has measurements. Raises MachineError."""
    results = store.open_results(folder)
    if not results.done():
        advice = f"measure with: perjoule resume {shlex.quote(str(folder))}"
        raise MachineError("no trial has been measured here yet", where=str(folder), next=advice)
    return results
