"""Commands that measure: demo, run, resume."""

import shlex
import sys
import time
from collections.abc import Container, Sequence
from pathlib import Path

import click

from perjoule import campaign, store
from perjoule.campaign.covered import unmetered
from perjoule.campaign.making.first import boundary_of
from perjoule.cli import exits, parameters
from perjoule.cli.parameters import examples
from perjoule.cli.serving import Listening
from perjoule.cli.serving import live as live_page
from perjoule.cli.terminal import reporting
from perjoule.cli.terminal.consent import confirmed
from perjoule.cli.terminal.display import err, out, show, show_line
from perjoule.cli.terminal.few import show_cells
from perjoule.cli.terminal.giving import given_back
from perjoule.cli.terminal.inputs import campaign_of
from perjoule.cli.terminal.outputs import require_folder
from perjoule.cli.terminal.progress import ProgressDisplay
from perjoule.cli.tune import go_on
from perjoule.cli.watch import beside
from perjoule.execution import readiness, resources, runner, time_limit
from perjoule.execution.remaining import Remaining, account_of
from perjoule.model import Campaign
from perjoule.model.errors import CampaignError, MachineError, WorkloadError
from perjoule.model.units import counted, seconds_text
from perjoule.papers import published
from perjoule.results.table import best_first, table
from perjoule.summary import summary
from perjoule.tuning import folder as tuning


@click.command(
    short_help="Run the demo: three parallel file systems compared.",
    epilog=examples(
        "sudo perjoule demo",
        "sudo perjoule demo --set repetitions=1 --into results/quick",
        "perjoule demo --simulate",
    ),
)
@parameters.into
@parameters.overrides
@parameters.simulate
@live_page
def demo(into: Path | None, overrides: tuple[str, ...], simulate: bool, live: Listening | None) -> None:
    """Run the demo: three parallel file systems on a virtual cluster like that of green-storage, from
    bring-up to MiB/J.

    Takes about five minutes on two cores: it repeats until intervals are narrow. Ctrl-C takes everything down;
    `perjoule resume DIR` continues.
    """
    start(campaign.demo(parameters.options(overrides, simulate=simulate)), into, live=live)


@click.command(
    "run",
    epilog=examples(
        "perjoule run demo.toml --set repetitions=1",
        "perjoule run my.toml --into results/my --live",
        "perjoule run my.toml --live --port 9619     with /metrics for Prometheus",
        "sudo perjoule run ssd.toml --overwrite ata-KINGSTON_SV300S37A120G_50026B7",
    ),
)
@parameters.file
@parameters.into
@parameters.overrides
@parameters.shrink
@parameters.simulate
@live_page
@parameters.inventory
@parameters.ssh_config
@parameters.programs
@parameters.overwrite
def run_command(
    file: Path,
    into: Path | None,
    overrides: tuple[str, ...],
    shrink: int | None,
    simulate: bool,
    live: Listening | None,
    inventory: Path | None,
    devices: tuple[str, ...],
) -> None:
    """Run a campaign and write its report."""
    asked = campaign_of(file, parameters.options(overrides, shrink, simulate=simulate), inventory)
    start(asked, into, file.parent, devices, live=live)


@click.command(
    short_help="Continue an interrupted campaign or tuning.",
    epilog=examples("perjoule resume results/demo-20261121-101500", "perjoule resume results/demo --failed"),
)
@parameters.folder
@click.option("--failed", is_flag=True, help="Also measure failed trials again.")
@click.option(
    "--trial",
    "again",
    multiple=True,
    metavar="ID",
    help="Also measure this trial again; every attempt is kept, the last one counts.",
)
@live_page
@parameters.ssh_config
@parameters.programs
@parameters.overwrite
def resume(
    folder: Path, failed: bool, again: tuple[str, ...], live: Listening | None, devices: tuple[str, ...]
) -> None:
    """Continue an interrupted campaign or tuning: measure what is missing and write the report."""
    if tuning.is_tuning(folder):
        if live:
            raise CampaignError("a tuning continues without --live", where=str(folder), next="leave it out")
        if again:
            raise CampaignError("a tuning continues without --trial", where=str(folder), next="leave it out")
        go_on(folder, devices, again_failed=failed)
        return
    results = store.open_results(folder)
    if any(record.imported for record in results.latest()):
        raise CampaignError(
            "its trials were imported, so there is no campaign to continue",
            where=str(folder),
            next="`perjoule import` adds to it",
        )
    source = str(folder / "campaign.toml")
    asked = campaign.parse(
        results.campaign_text,
        source=source,
        overrides=results.overrides,
        folder=folder,
        owner=Path(source).stat().st_uid,
    )
    if strange := set(again) - {trial.id for trial in asked.trials}:
        raise CampaignError(
            f'there is no trial "{min(strange)}"', where=str(folder), next=f"see ls {folder / 'trials'}"
        )
    asked = confirmed(asked, runner.missing(asked, results, again_failed=failed, again=again), devices)
    with beside(folder, live):
        sys.exit(_go_on(asked, results, (), failed, again=again))


def start(
    asked: Campaign,
    into: Path | None,
    source: Path | None = None,
    devices: tuple[str, ...] = (),
    *,
    live: Listening | None = None,
) -> None:
    """Measure a campaign into a folder, conclude, and exit; `source` is the folder of its file, `devices`
    the confirmed ones.
    """
    _, code = measured(asked, into, source, devices, live=live)
    sys.exit(code)


def measured(
    asked: Campaign,
    into: Path | None,
    source: Path | None = None,
    devices: tuple[str, ...] = (),
    *,
    live: Listening | None = None,
    takes_s: float | None = None,
) -> tuple[store.Results, int]:
    """Do as `start` does, but return the results and the exit code.

    `takes_s` is how long all trials take, where a probe tells better than the hardware.
    """
    folder = into or Path("results") / f"{asked.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    require_folder(folder)
    ready = readiness.look(asked)
    readiness.require((*ready.checks, *resources.checks(asked.trials, folder, settle_s=asked.settle_s)))
    asked = confirmed(asked, asked.trials, devices)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    results = store.create(folder, asked.text, asked.name, asked.overrides, asked.files)
    with beside(folder, live):
        return results, _go_on(asked, results, made, ready=ready, source=source, takes_s=takes_s)


def _go_on(
    asked: Campaign,
    results: store.Results,
    made: Sequence[Path],
    again_failed: bool = False,
    ready: readiness.Ready | None = None,
    source: Path | None = None,
    takes_s: float | None = None,
    again: Container[str] = (),
) -> int:
    """Measure what is missing and conclude; `made` are its folder and those above it, if they are new.

    `source` is the folder of the campaign's file.

    Returns the exit code.
    """
    missing = {trial.id for trial in runner.missing(asked, results, again_failed=again_failed, again=again)}
    plan = campaign.plan(asked)
    account = (
        account_of(plan, missing)
        if takes_s is None
        else Remaining(dict.fromkeys(missing, takes_s / len(asked.trials)))
    )
    guess = f" ({plan.guess})" if takes_s is None and plan.guess else ""
    todo = (
        f"{counted(len(missing), 'trial')}, about {seconds_text(account.left_s())}{guess}"
        if missing
        else "nothing is missing"
    )
    err.print(f"{asked.name}: {todo}; into {results.folder}")
    for check in readiness.drawing():
        err.print(f"{check.name}: {check.detail}; {check.fix}", style="yellow")
    if unfit := time_limit.beforehand(plan, [trial for trial in asked.trials if trial.id in missing]):
        err.print(unfit, style="yellow")
    for line in unmetered(asked.trials) if takes_s is None else ():  # `measure` has said it
        err.print(line, style="yellow")
    going_on = f"continue with: perjoule resume {shlex.quote(str(results.folder))}"
    with exits.interruptible(going_on), given_back(results.folder, made):
        try:
            with ProgressDisplay(account, exits.stopping) as progress:
                runner.run(
                    asked,
                    results,
                    progress,
                    ready=ready,
                    again_failed=again_failed,
                    again=again,
                    folder=source,
                    account=account,
                )
            return _conclude(asked, results)
        except (CampaignError, MachineError):
            if not runner.missing(asked, results):  # one file system was refused, the others were measured
                _conclude(asked, results)
            raise


def _show(asked: Campaign, results: store.Results) -> None:
    """Print the few lines of a first measurement, else a table."""
    if (boundary := boundary_of(asked)) is not None:
        show_cells(results, boundary)
        return
    numbers = summary(results)
    whole = f"perjoule show {shlex.quote(str(results.folder))} --wide"
    cells = best_first(numbers.cells)
    show(table(cells), cells, numbers.scales, whole=whole)


def _conclude(asked: Campaign, results: store.Results) -> int:
    records, page = results.latest(), results.folder / "report.html"
    _show(asked, results)
    if asked.reproduces in published.names():
        from perjoule.results.claims import claims_lines

        for line in claims_lines(asked.reproduces, records, summary(results).cells):
            show_line(line)
    with exits.place(results.folder):
        written = reporting.conclude(results, page)
    out.print(f"\n{written}")
    ids = {trial.id for trial in asked.trials}
    failed = [r for r in records if r.status == "failed" and r.trial.id in ids]
    for record in failed:
        err.print(f"failed: {record.trial.text}: {record.reason}", style="red")
    return 0 if not failed else WorkloadError.exit_code if len(failed) == len(asked.trials) else 1
