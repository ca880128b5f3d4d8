"""The command that models watts again with the coefficients that the catalogue has today: recalculate."""

from pathlib import Path

import click

from perjoule.cli import exits, parameters
from perjoule.cli.giving import given_back
from perjoule.cli.parameters import examples
from perjoule.cli.terminal.display import out, show
from perjoule.cli.terminal.outputs import OutputFolder


@click.command(
    "recalculate",
    short_help="Model watts again with corrected coefficients.",
    epilog=examples(
        "perjoule recalculate results/demo --into results/demo-again",
        "perjoule recalculate demo.zip --into results/demo-again",
        "perjoule verify results/demo-again",
    ),
)
@parameters.folder
@click.option("--into", type=OutputFolder(), required=True, metavar="NEW", help="The new results folder: absent or empty.")
def recalculate_command(folder: Path, into: Path) -> None:
    """Compute the modelled watts of a results folder, or of a bundle, again, after the catalogue's coefficients were corrected.

    Work is read from the counters in DIR, which is only read, and must verify. All that was measured is copied to NEW byte for
    byte; what meters read never changes. NEW and its report state what moved. See docs/how-to/recalculate.md.
    """
    from perjoule import exporting, report
    from perjoule.store import open_results
    from perjoule.views.content import Content
    from perjoule.views.power import recalculated

    with exits.place(into):
        recalculation = exporting.recalculate(folder, into, report.write)
    with given_back(into, [into]):
        cells = Content(open_results(into)).cells
    show(recalculated.coefficients_table(recalculation), (), ())
    show(recalculated.rows_table(recalculation, cells), (), ())
    out.print(f"report: {into / 'report.html'}", soft_wrap=True)
