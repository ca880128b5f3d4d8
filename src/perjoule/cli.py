"""Arguments to one call; the only file that exits."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from importlib.resources import as_file, files
from pathlib import Path
from types import FrameType

import click

from perjoule import __version__, campaign, drivers, report, run, store, verify
from perjoule.display import Progress, err, out, show, trial_text
from perjoule.errors import CampaignError, Interrupted, MachineError, PerjouleError, WorkloadError
from perjoule.model import Campaign
from perjoule.protocols import Check
from perjoule.table import table
from perjoule.testbeds import virtual
from perjoule.units import bytes_text, seconds_text

HELP_WIDTH = 110


def examples(*lines: str) -> str:
    """Lay out examples so that click leaves their lines alone."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": HELP_WIDTH},
    epilog=examples(
        "perjoule doctor                          what this machine can and can't do",
        "perjoule demo                            MooseFS, GlusterFS and CephFS on a virtual low-power cluster",
        "perjoule check examples/green-storage.toml",
        "perjoule run examples/local.toml",
        'eval "$(_PERJOULE_COMPLETE=bash_source perjoule)"    completion for bash (zsh_source, fish_source)',
    )
    + "\n\n\b\nExit codes: 0 well, 1 finished with invalid trials, 2 campaign wrong, 3 machine not ready,\n"
    "4 workload failed, 5 interrupted and resumable.",
)
@click.version_option(__version__, prog_name="perjoule")
def cli() -> None:
    """The lab for the energy efficiency of storage: bring a file system up, load it, meter it, judge it."""


_set = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change an option: filesystem.goal=2")
_shrink = click.option("--shrink", type=click.IntRange(min=1), help="Divide all sizes by this.")
_simulate = click.option("--simulate", is_flag=True, help="Simulated hosts, file systems, loads and meters: needs nothing.")
_into = click.option("--into", type=click.Path(path_type=Path), help="Results folder; the default is results/NAME-TIME.")
_folder = click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
_file = click.argument("file", type=click.Path(path_type=Path), metavar="CAMPAIGN.toml")


def _read(file: Path, overrides: tuple[str, ...], shrink: int | None) -> Campaign:
    return campaign.read(file, (*overrides, *([f"shrink={shrink}"] if shrink else [])))


@cli.command(
    "run", epilog=examples("perjoule run examples/demo.toml --set repetitions=1", "perjoule run my.toml --into results/my")
)
@_file
@_into
@_set
@_shrink
@_simulate
def run_command(file: Path, into: Path | None, overrides: tuple[str, ...], shrink: int | None, simulate: bool) -> None:
    """Run a campaign and write its report."""
    _start(_read(file, (*overrides, *(["simulate=true"] if simulate else [])), shrink), into)


@cli.command(epilog=examples("perjoule demo", "perjoule demo --set repetitions=1 --into results/quick"))
@_into
@_set
@_simulate
def demo(into: Path | None, overrides: tuple[str, ...], simulate: bool) -> None:
    """The main job: three parallel file systems on a virtual cluster like green-storage's, from bring-up to MiB/J.

    Takes about ten minutes on two cores. Ctrl-C stops it cleanly; `perjoule resume DIR` goes on.
    """
    with as_file(files("perjoule") / "demo.toml") as file:
        _start(_read(file, (*overrides, *(["simulate=true"] if simulate else [])), None), into)


def _start(asked: Campaign, into: Path | None) -> None:
    folder = into or Path("results") / f"{asked.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    run.require(run.checks(asked))
    _go_on(asked, store.create(folder, asked.text, asked.name, asked.overrides))


@cli.command(epilog=examples("perjoule resume results/demo-20261121-101500", "perjoule resume DIR --failed"))
@_folder
@click.option("--failed", is_flag=True, help="Measure failed trials again too.")
def resume(folder: Path, failed: bool) -> None:
    """Go on with a campaign that was interrupted."""
    results = store.open_results(folder)
    _go_on(
        campaign.parse(results.campaign_text, source=str(folder / "campaign.toml"), overrides=results.overrides), results, failed
    )


def _go_on(asked: Campaign, results: store.Results, again_failed: bool = False) -> None:
    missing = run.missing(asked, results, again_failed=again_failed)
    estimate_s = campaign.plan(asked).duration_s * len(missing) / max(1, len(asked.trials))
    if missing:
        err.print(f"{asked.name}: {len(missing)} trials, about {seconds_text(estimate_s)}; into {results.folder}")
    try:
        with Progress(len(missing), estimate_s) as progress:
            run.run(asked, results, progress, again_failed=again_failed)
    except CampaignError:
        _conclude(asked, results)  # the other file systems were measured all the same
        raise
    except KeyboardInterrupt:
        raise Interrupted("interrupted, all taken down", next=f"go on with: perjoule resume {results.folder}") from None
    sys.exit(_conclude(asked, results))


def _conclude(asked: Campaign, results: store.Results) -> int:
    show(table(report.cells(results)))
    out.print(f"\nreport: {report.write(results, results.folder / 'report.html')}")
    wanted = {trial.id for trial in asked.trials}
    failed = [r for r in results.latest() if r.status == "failed" and r.trial.id in wanted]
    for record in failed:
        err.print(f"failed: {trial_text(record.trial)}: {record.reason}", style="red")
    return 0 if not failed else WorkloadError.exit_code if len(failed) == len(asked.trials) else 1


@cli.command(epilog=examples("perjoule check examples/green-storage.toml", "perjoule check my.toml --shrink 100"))
@_file
@_set
@_shrink
def check(file: Path, overrides: tuple[str, ...], shrink: int | None) -> None:
    """Dry run: the trials in order, the bytes to be moved, an estimate of the time. Touches nothing."""
    asked = _read(file, overrides, shrink)
    plan = campaign.plan(asked)
    for number, step in enumerate(plan.steps, start=1):
        out.print(f"{number:4}  {trial_text(step.trial)}  {bytes_text(step.moved_bytes)}  {seconds_text(step.duration_s)}")
    out.print(
        f"\n{asked.name}: {len(plan.steps)} trials on {len(asked.groups)} deployments, "
        f"{bytes_text(plan.moved_bytes)} to be moved, about {seconds_text(plan.duration_s)}; seed {asked.seed}"
    )


@cli.command("report", epilog=examples("perjoule report results/demo", "perjoule report results/demo --figures figures/"))
@_folder
@click.option("--figures", type=click.Path(path_type=Path), help="Write each figure as SVG and PDF into this folder.")
def report_command(folder: Path, figures: Path | None) -> None:
    """Write the report of a results folder again: one HTML file that works offline."""
    results = store.open_results(folder)
    if figures is not None:
        for path in report.figures(results, figures):
            out.print(path)
    else:
        out.print(report.write(results, folder / "report.html"))


@cli.command("show", epilog=examples("perjoule show results/demo"))
@_folder
def show_command(folder: Path) -> None:
    """Print the table of a results folder: means with 95 % intervals, and the maximum beside."""
    show(table(report.cells(store.open_results(folder))))


@cli.command("verify", epilog=examples("perjoule verify results/demo"))
@_folder
def verify_command(folder: Path) -> None:
    """Recompute every printed number of a results folder from its raw files. Exit code 1 when something differs."""
    findings = verify.verify(store.open_results(folder))
    for finding in findings.differences:
        out.print(finding, style="red")
    out.print(f"{findings.checked_count} numbers and files checked, {len(findings.differences)} differ")
    if findings.differences:
        sys.exit(1)


@cli.command(
    epilog=examples(
        "perjoule up moosefs",
        "perjoule up cephfs --clients 2 --set copies=3 --set testbed.scale=0.1",
        "perjoule up               (hosts alone)",
    )
)
@click.argument("kind", required=False)
@click.option("--clients", default=1, show_default=True, type=click.IntRange(min=1), help="How many client hosts.")
@click.option("--cluster", default="odroid-hc4", show_default=True, help="Cluster of the catalogue to be like.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="An option of the file system, or testbed.OPTION.")
def up(kind: str | None, clients: int, cluster: str, overrides: tuple[str, ...]) -> None:
    """Bring a virtual cluster, and a file system on it, up to play with; `perjoule down` removes it."""
    bed, filesystem = campaign.playground(kind, cluster, overrides)
    run.require((*bed.checks(), *(filesystem.checks() if filesystem else ())))
    with ExitStack() as stack:
        began_s = time.monotonic()
        hosts = stack.enter_context(bed.hold(clients, keep=True))
        mounted = stack.enter_context(filesystem.mount(hosts)) if filesystem else None
        out.print(f"{len(hosts.servers)} servers and {clients} clients up after {time.monotonic() - began_s:.1f} s")
        for host in hosts.all:
            where = f", file system on {mounted.directories[host.name]}" if mounted and host.name in mounted.directories else ""
            out.print(f"  {host.name}{where}: nsenter -t {bed.holder_pid(host)} -a")
        out.print("`perjoule down --all` takes it down")
        sys.stdout.flush()
        os._exit(0)  # without leaving the `with` blocks: that would take down what is to stay


@cli.command(
    epilog=examples("perjoule down          what killed runs left behind", "perjoule down --all    clusters made by `up` too")
)
@click.option("--all", "everything", is_flag=True, help="Also clusters that `perjoule up` made.")
def down(everything: bool) -> None:
    """Remove what is left of our hosts: processes, namespaces, mounts, loop devices, cgroups. Touches nothing that runs."""
    removed = virtual.clean(everything=everything)
    out.print("\n".join(removed) if removed else "nothing left behind")


@cli.command(epilog=examples("perjoule doctor"))
def doctor() -> None:
    """Say what this machine can and can't do, and how to mend each."""
    found: dict[str, Check] = {}
    for part in drivers.PROTOCOLS:
        for kind in drivers.kinds(part):
            for one in campaign.example(part, kind).checks():
                found.setdefault(one.name, one)
    for one in found.values():
        mark, style = ("ok  ", "green") if one.ok else (("no  ", "red") if one.needed else ("less", "yellow"))
        out.print(f"{mark} {one.name}: {one.detail}", style=style)
        if not one.ok and one.fix:
            out.print(f"       {one.fix}")
    if any(one.needed and not one.ok for one in found.values()):
        sys.exit(MachineError.exit_code)


@cli.command(
    "drivers", epilog=examples("perjoule drivers", "perjoule drivers cephfs", "perjoule drivers --schema > campaign.schema.json")
)
@click.argument("kind", required=False)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a campaign file, for editors.")
def drivers_command(kind: str | None, schema: bool) -> None:
    """List file systems, workloads, meters and testbeds; with a KIND its options and an example."""
    if schema:
        out.print_json(data=campaign.schema())
        return
    for line in campaign.describe(kind):
        out.print(line, markup=False)


def _interrupt(number: int, frame: FrameType | None) -> None:
    # The first signal unwinds every `with`; a second one must not stop the unwinding half way.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, _wait)
    err.print("stopping: taking everything down")
    raise KeyboardInterrupt


def _wait(number: int, frame: FrameType | None) -> None:
    err.print("taking down; please wait")


def _guarded(call: Callable[[], None]) -> int:
    try:
        call()
    except PerjouleError as error:
        err.print(f"perjoule: {error}", style="bold red", markup=False)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return CampaignError.exit_code
    except (KeyboardInterrupt, click.Abort):
        err.print("perjoule: interrupted")
        return Interrupted.exit_code
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        err.print(f"perjoule: {place}{error.strerror}; see `perjoule doctor`", style="bold red", markup=False)
        return MachineError.exit_code
    return 0


def main() -> None:
    """Run the command line and exit with its code."""
    with suppress(ValueError):  # not in the main thread: someone else handles signals
        signal.signal(signal.SIGINT, _interrupt)
        signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(_guarded(lambda: cli.main(standalone_mode=False)))
