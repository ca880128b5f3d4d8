"""Commands about public lists of verified results: publish, list."""

import sys
from pathlib import Path

import click

from perjoule.cli import exits
from perjoule.cli.parameters import InOrder, examples
from perjoule.cli.terminal.display import err, out
from perjoule.cli.terminal.outputs import OutputFolder
from perjoule.model.units import counted

_path = click.Path(path_type=Path)


@click.command(
    "publish",
    short_help="Check a bundle and add it to a public list.",
    epilog=examples(
        "perjoule export results/lab --bundle lab.zip --license CC-BY-4.0 --author A",
        "perjoule publish lab.zip --into list/",
        "perjoule list build list/ --to site/",
    ),
)
@click.argument("bundle", type=_path, metavar="BUNDLE.zip")
@click.option(
    "--into",
    type=OutputFolder(),
    required=True,
    metavar="LIST",
    help="The list: a folder under version control.",
)
def publish_command(bundle: Path, into: Path) -> None:
    """Check BUNDLE.zip and add it to LIST: a folder of bundles, which need no server.

    The bundle must verify: every number is recomputed from its raw data. It needs a license, an author, and
    power that was not simulated. Numbers that are physically implausible, or of one repetition, get no rank.
    See `perjoule docs publish`.
    """
    from perjoule import publishing

    with exits.place(into):
        entry, target = publishing.add(bundle, into)
    ranked = sum(not row.objections for row in entry.rows)
    out.print(
        f"{target}: {entry.checked_count} numbers and files checked, {ranked} of {len(entry.rows)} numbers "
        "can be ranked"
    )
    for reason in dict.fromkeys(reason for row in entry.rows for reason in row.objections):
        err.print(f"no rank: {reason}", style="yellow", soft_wrap=True)
    out.print(f"commit it, then: perjoule list build {into} --to site", soft_wrap=True)


@click.group(
    "list",
    cls=InOrder,
    short_help="Make the site of a public list of results.",
    epilog=examples("perjoule list build list/ --to site/"),
)
def list_group() -> None:
    """Make the site of a public list, to which `perjoule publish` adds bundles."""


@list_group.command(
    "build",
    short_help="Check all bundles and write the static site.",
    epilog=examples("perjoule list build list/ --to site/"),
)
@click.argument("folder", type=_path, metavar="LIST")
@click.option(
    "--to",
    type=OutputFolder(),
    required=True,
    metavar="SITE",
    help="A new folder, or an earlier site to replace.",
)
def build(folder: Path, to: Path) -> None:
    """Check every bundle of LIST again, recompute every number, and write the static site.

    A bundle that fails is left out and named; the exit code is then 1. Any web server can serve SITE, and it
    works from a disk.
    """
    from perjoule import publishing

    with exits.place(to):
        built = publishing.build(folder, to)
    for refusal in built.refused:
        err.print(f"left out: {refusal}", style="red", soft_wrap=True)
    count = sum(len(entry.rows) for entry in built.entries)
    out.print(
        f"{built.page}: {counted(len(built.entries), 'publication')}, {counted(count, 'number')}",
        soft_wrap=True,
    )
    if built.refused:
        sys.exit(1)
