"""Commands that read a results folder: show, report, verify."""

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perjoule import store, views
from perjoule.cli import exits, parameters
from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show, show_line
from perjoule.cli.terminal.outputs import OutputFolder, require_file
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.units import BYTES, quantity
from perjoule.results.limitations import doubted_trials, limitations, simulated_notes
from perjoule.results.table import best_first, table
from perjoule.summary import summary
from perjoule.views.content import Content
from perjoule.views.view import Flag

if TYPE_CHECKING:
    from perjoule.figures.columns import Column
    from perjoule.results.verification import Findings

CAMPAIGN = "campaign.toml"  # identifies a results folder

# `report` and `verify` are imported where they are used: that takes longer than `--help`, completion and an
# error should.


def with_views(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option of each view."""
    for flag in reversed(views.flags()):
        command = click.option(f"--{flag.name}", is_flag=True, help=flag.help)(command)
    return command


def chosen_views(given: Mapping[str, bool]) -> list[Flag]:
    """Return the options that were given, of the parameters of a command `with_views`."""
    return [flag for flag in views.flags() if given[flag.name.replace("-", "_")]]


def show_views(flag: Flag, content: Content, *, wide: bool = False) -> None:
    """Print the tables that have rows, with all columns if `wide`. Raises MachineError: none has."""
    folder = str(content.results.folder)
    tables = [tables.lay(content) for view in views.every() if view.flag == flag for tables in view.tables]
    if not any(laid.rows for laid in tables):
        raise MachineError(flag.none, where=folder, next=flag.advice)
    for laid in tables:
        if laid.rows:
            show(laid, (), (), wide=wide, whole="--wide")
    beside = (
        f"{results.folder.name}: {note}"
        for results in content.beside
        for note in simulated_notes(summary(results).cells)
    )
    for line in (*simulated_notes(content.cells), *beside, *flag.notes(content)):
        show_line(line)


@click.command(
    "show",
    short_help="Print the table of a results folder.",
    epilog=examples(
        "perjoule show results/demo",
        "perjoule show results/demo --winners",
        "perjoule show results/demo --doubts",
        "perjoule show results/demo --json | jq .rows",
    ),
)
@parameters.folder
@with_views
@click.option(
    "--with",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Add the results of another machine.",
)
@click.option("--wide", is_flag=True, help="All columns, however wide the terminal is.")
@click.option(
    "--doubts", is_flag=True, help="Each doubt with its trials, and the command that measures them again."
)
@json_output.option
def show_command(
    folder: Path, others: tuple[Path, ...], wide: bool, doubts: bool, as_json: bool, **wanted: bool
) -> None:
    """Print the table of a results folder: means with 95 % intervals, and maxima."""
    flags = chosen_views(wanted)
    if as_json and (flags or doubts):
        raise CampaignError("--json prints all views at once", next="leave out the other options")
    if others and not as_json and not any(flag.beside for flag in flags):
        comparing = ", ".join(f"--{flag.name}" for flag in views.flags() if flag.beside)
        raise CampaignError("--with DIR changes nothing here", next=f"it goes with {comparing}")
    content = Content(measured(folder), tuple(map(measured, others)))
    if as_json:
        from perjoule.views.data import as_data

        json_output.print_json("show", as_data(content))
        return
    for flag in flags:
        show_views(flag, content, wide=wide)
    if doubts:
        _show_doubts(content)
    if not flags and not doubts:
        cells = best_first(content.cells)
        show(table(cells), cells, content.summary.scales, wide=wide, whole="--wide")
        for doubt in content.doubts:
            show_line(f"doubt of the campaign: {doubt}")
        if any(cell.doubts for cell in content.cells):
            show_line("`--doubts` names the trials, and the command that measures them again")


def _show_doubts(content: Content) -> None:
    """Print each doubt of rows and of the campaign, and what each of its trials says."""
    trials: dict[str, None] = {}
    for group in limitations(content.cells, content.doubts):
        out.print(group.kind.title, style="bold")
        for line in group.lines:
            by_trial = doubted_trials(content.points, line)
            trials |= dict.fromkeys(by_trial)
            show_line(f"  {line.rows}: {line.text}{line.more}")
            for trial, texts in by_trial.items():
                show_line(f"    {trial}: {'; '.join(texts)}")
    if not trials:
        out.print("no trial has a doubt of its own")
    elif again := trials.keys() - {record.trial.id for record in content.records if record.imported}:
        words = ["perjoule", "resume", str(content.results.folder)]
        show_line(
            f"measure these again: {shlex.join([*words, *(f'--trial={trial}' for trial in trials if trial in again)])}"
        )


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

    several = (
        ()
        if figures or (folder / CAMPAIGN).exists()
        else sorted(path.parent for path in folder.glob(f"*/{CAMPAIGN}"))
    )
    page = folder / ("index.html" if several else "report.html")
    if not figures and folder.is_dir():
        require_file(page)
    if several:
        opened = [results for results in map(store.open_results, several) if results.done()]
        if not opened:
            raise MachineError(
                "no trial has been measured here yet",
                where=str(folder),
                next="perjoule resume one of its folders",
            )
        with exits.place(folder):
            show_line(str(report.write_index(opened, page)))
        return
    results = measured(folder)
    with exits.place(figures or folder):
        for path in report.figures(results, figures, column) if figures else [report.write(results, page)]:
            show_line(str(path))


@click.command(
    "verify",
    short_help="Recompute every number from the raw data.",
    epilog=examples(
        "perjoule verify results/demo",
        "perjoule verify demo.zip",
        "perjoule verify list/bundles/*.zip",
        "perjoule verify results/demo --json",
    ),
)
@parameters.folders
@click.option("--most", metavar="SIZE", help='Size to which a bundle may unpack: "16 GiB" by default.')
@json_output.option
def verify_command(folders: tuple[Path, ...], most: str | None, as_json: bool) -> None:
    """Recompute every printed number of results folders, or of bundles of them, from their raw files.

    Exit code 1 if something differs. Of several, each is verified, whatever is wrong with others, and the exit
    code is the highest.
    """
    most_bytes = _most_bytes(most) if most else None
    several = len(folders) > 1
    contents: list[dict[str, object]] = []
    code = 0
    for folder in folders:
        try:
            findings = _verified(folder, most_bytes)
        except MachineError as error:
            if not several:
                raise
            code = max(code, exits.print_error(error))
            contents.append({"folder": folder, "error": error.data})
            continue
        code = max(code, 1 if findings.differences else 0)
        contents.append({**({"folder": folder} if several else {}), **json_output.plain(findings)})
        if not as_json:
            _show_findings(findings, f"{folder}: " if several else "")
    if as_json:
        json_output.print_json("verify", {"results": contents} if several else contents[0])
    if code:
        sys.exit(code)


def _verified(folder: Path, most_bytes: int | None) -> "Findings":
    """Verify a results folder or a bundle. Raises MachineError: it can't be read."""
    if folder.is_file():
        from perjoule import exporting

        return exporting.verify_bundle(
            folder, exporting.MOST_UNPACKED_BYTES if most_bytes is None else most_bytes
        )
    from perjoule.results import verification

    return verification.verify(measured(folder))


def _show_findings(findings: "Findings", name: str) -> None:
    """Print what differs, what was not checked, and counts of both, after the name of what was verified."""
    for finding in findings.differences:
        out.print(f"{name}{finding}", style="red")
    for note in findings.notes:
        out.print(f"{name}{note}", style="yellow")
    out.print(f"{name}{findings.checked_count} numbers and files checked, {len(findings.differences)} differ")


def _most_bytes(size: str) -> int:
    try:
        return int(quantity(size, BYTES))
    except ValueError as error:
        raise CampaignError(str(error), where="--most") from None


def measured(folder: Path) -> store.Results:
    """Open a results folder that has measurements. Raises MachineError."""
    results = store.open_results(folder)
    if not results.done():
        advice = f"measure with: perjoule resume {shlex.quote(str(folder))}"
        raise MachineError("no trial has been measured here yet", where=str(folder), next=advice)
    return results
