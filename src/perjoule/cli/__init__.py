"""The command line: the only package that exits. The order below is that of the help."""

import importlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, MutableMapping
from typing import cast

import click

from perjoule import __version__
from perjoule.cli import exits, parameters
from perjoule.cli.parameters import InOrder, examples

# Where each command is, and what the list of all says of it, by heading. A module is imported when its command
# is: all of them take ten times as long as `--help` should.
SECTIONS = {
    "Measure": {
        "measure": (
            "meters.measure",
            "measure_command",
            "Measure a folder or disk and a power meter: the first number.",
        ),
        "new": ("shipped", "new_command", "Write an example to start from: a campaign or a need."),
        "check": ("checking", "check", "Dry run: trials, bytes, space, time."),
        "run": ("measuring", "run_command", "Run a campaign and write its report."),
        "resume": ("measuring", "resume", "Continue an interrupted campaign or tuning."),
        "watch": ("watch", "watch", "Watch a run in a browser."),
        "demo": ("measuring", "demo", "Run the demo: three parallel file systems compared."),
        "tune": ("tune", "tune_command", "Find the settings that do best."),
    },
    "Results": {
        "show": ("results", "show_command", "Print the table of a results folder."),
        "report": ("results", "report_command", "Write the report of one results folder, or of many."),
        "verify": ("results", "verify_command", "Recompute every number from the raw data."),
        "compare": ("compare", "compare_command", "Compare results with others, or with a paper."),
        "history": ("history", "history_command", "Show campaigns of one name over time."),
        "export": (
            "exchange",
            "export_command",
            "Export results: CSV, Parquet, LaTeX, or one verifiable file.",
        ),
        "import": ("exchange", "import_command", "Import what other tools measured."),
        "recalculate": ("exchange", "recalculate_command", "Model watts again with corrected coefficients."),
        "publish": ("publishing", "publish_command", "Check a bundle and add it to a public list."),
        "list": ("publishing", "list_group", "Make the site of a public list of results."),
    },
    "Papers": {
        "papers": ("papers", "papers_command", "List published papers, or a paper's numbers."),
        "reproduce": (
            "papers",
            "reproduce_command",
            "Repeat a paper's study: write its campaign, or run it.",
        ),
        "audit": ("audit", "audit_command", "Recompute the derived numbers of a paper or results folder."),
    },
    "Predict and plan": {
        "predict": ("predict", "predict", "Predict throughput and energy on a cluster you don't have."),
        "plan": ("plan", "plan_command", "Find the hardware and file system for a need."),
        "calibrate": ("calibrate", "calibrate", "Measure what predictions of a file system rest on."),
        "ledger": ("ledger", "ledger", "Compare predictions with what was measured later."),
        "catalogue": (
            "catalogue",
            "catalogue_command",
            "List hardware and file systems by name, with sources.",
        ),
    },
    "Machine and help": {
        "doctor": ("machine", "doctor", "Check what this machine, or a campaign's hosts, can and can't do."),
        "meters": ("meters", "meters", "Find, watch, test, record, serve, simulate meters."),
        "up": ("machine", "up", "Bring up a virtual cluster to experiment with."),
        "down": ("machine", "down", "Remove what killed runs left behind, and clusters made by `up`."),
        "drivers": ("machine", "drivers_command", "List file systems, workloads, meters, testbeds, events."),
        "docs": ("shipped", "docs_command", "List the documentation's pages, or read one."),
    },
}
COMMANDS = {name: command for commands in SECTIONS.values() for name, command in commands.items()}


class _Imported(Mapping[str, click.Command]):
    """The commands by name, each imported when it is used."""

    def __getitem__(self, name: str) -> click.Command:
        module, function, _ = COMMANDS[name]
        exits.require_memory()
        return getattr(importlib.import_module(f"perjoule.cli.{module}"), function)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Listed(InOrder):
    """A group that lists its commands without importing them."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them with a line each, below what they are for."""
        width = max(map(len, COMMANDS))  # all in one column
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), line) for name, (_, _, line) in commands.items()])


@click.group(
    cls=_Listed,
    commands=cast("MutableMapping[str, click.Command]", _Imported()),  # none is ever added
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": parameters.HELP_WIDTH},
    epilog=examples(
        "perjoule measure /mnt/nas --meter shelly://192.168.1.50",
        "perjoule doctor                     what this machine can and can't do",
        "sudo perjoule demo                  MooseFS, GlusterFS and CephFS, compared",
        "perjoule demo --simulate            the same, all simulated",
        "perjoule new local                  an example to start from, then:",
        "perjoule check local.toml           what it will do, and how long it takes",
        "perjoule run local.toml",
        'eval "$(_PERJOULE_COMPLETE=bash_source perjoule)"',
        "                                    completion (or zsh_source, fish_source)",
    )
    + "\n\n\b\nExit codes: 0 success, 1 done but something is wrong with the results,\n"
    "2 wrong request, 3 machine not ready, 4 load failed, 5 interrupted: resume it.",
)
@click.version_option(__version__, prog_name="perjoule")
def cli() -> None:
    """The lab for the energy efficiency of storage: deploy a file system, load it, meter it, compare it."""


def main() -> None:
    """Run the command line and exit with its code."""
    if os.geteuid() == 0:  # whatever the login's is: nobody else writes to what is root's
        os.umask(os.umask(0o022) | 0o022)
    exits.listen()
    warnings.showwarning = exits.warned
    sys.exit(exits.exit_code(lambda: cli.main(standalone_mode=False)))
