"""Arguments to one call; the only room that exits. The order below is that of the help."""

import sys

import click

from perjoule import __version__
from perjoule.cli import compare, exchange, exits, machine, measuring, meters, papers, parameters, results
from perjoule.cli.parameters import InOrder, examples


@click.group(
    cls=InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": parameters.HELP_WIDTH},
    epilog=examples(
        "perjoule doctor                     what this machine can and can't do",
        "sudo perjoule demo                  MooseFS, GlusterFS and CephFS, compared",
        "perjoule demo --simulate            the same, all simulated",
        "perjoule check examples/green-storage.toml",
        "perjoule run examples/local.toml",
        'eval "$(_PERJOULE_COMPLETE=bash_source perjoule)"',
        "                                    completion (or zsh_source, fish_source)",
    )
    + "\n\n\b\nExit codes: 0 well, 1 finished with invalid trials, 2 campaign wrong,\n"
    "3 machine not ready, 4 workload failed, 5 interrupted (resumable).",
)
@click.version_option(__version__, prog_name="perjoule")
def cli() -> None:
    """The lab for the energy efficiency of storage: bring a file system up, load it, meter it, judge it."""


COMMANDS = (
    measuring.demo,
    measuring.run_command,
    measuring.resume,
    measuring.check,
    results.show_command,
    results.report_command,
    results.verify_command,
    compare.compare_command,
    exchange.import_command,
    exchange.export_command,
    papers.papers_command,
    papers.audit_command,
    papers.reproduce_command,
    meters.meters,
    machine.up,
    machine.down,
    machine.doctor,
    machine.drivers_command,
)
for _command in COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """Run the command line and exit with its code."""
    exits.listen()
    sys.exit(exits.exit_code(lambda: cli.main(standalone_mode=False)))
