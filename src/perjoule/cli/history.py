"""The command that shows campaigns of one name over time."""

import sys
from pathlib import Path

import click

from perjoule import store
from perjoule.cli import parameters
from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show, show_line
from perjoule.cli.terminal.outputs import OutputFile, write
from perjoule.model.units import counted


@click.command(
    "history",
    short_help="Show campaigns of one name over time.",
    epilog=examples(
        "perjoule history results/nightly-*",
        "perjoule history results/ --report history.html",
        "perjoule history results/ --metric MiB/J --fail-on-worse --junit history.xml",
    ),
)
@parameters.folders
@click.option(
    "--metric", "metrics", multiple=True, metavar="METRIC", help='Only this metric: "MiB/J", "W", "s".'
)
@click.option("--report", "target", type=OutputFile(), metavar="FILE.html", help="Write a page with figures.")
@click.option(
    "--fail-on-worse", is_flag=True, help="Exit code 1 if the newest level of a metric is worse than before."
)
@parameters.junit
@json_output.option
def history_command(
    folders: tuple[Path, ...],
    metrics: tuple[str, ...],
    target: Path | None,
    fail_on_worse: bool,
    junit_file: Path | None,
    as_json: bool,
) -> None:
    """Show each metric over the campaigns of one name, with the steps in it, and what changed there.

    DIRS are results folders, or folders of them. Without any change, the chance of one or more false steps is
    at most 5 %; steps need four campaigns or more.
    """
    from perjoule.model.metrics import BY_LABEL
    from perjoule.results import history as over_time
    from perjoule.results.comparison import DEFAULT_LABELS, checked_label
    from perjoule.results.history import table

    keys = [BY_LABEL[checked_label(label)].key for label in metrics or DEFAULT_LABELS]
    history_found = over_time.history(over_time.folders_below(folders, store.open_results), keys)
    if as_json:
        json_output.print_json("history", table.as_data(history_found))
    else:
        out.print(f"{history_found.name}: {counted(len(history_found.moments), 'campaign')}", style="bold")
        show(table.history_table(history_found), (), ())
        for at, changes in history_found.changes.items():
            moment = history_found.moments[at]
            show_line(
                f"{moment.name} ({moment.day}), a step: "
                f"{'; '.join(changes) or 'no difference in options or environment'}"
            )
        for folder in history_found.left_out:
            show_line(f"left out: {folder}: it has no valid trial")
    if target is not None:
        from perjoule.report import history as report

        write(target, report.page(history_found))
    if junit_file is not None:
        from perjoule.results import junit

        write(junit_file, junit.document(history_found.name, junit.of_history(history_found)))
    if fail_on_worse and history_found.worse:
        sys.exit(1)
