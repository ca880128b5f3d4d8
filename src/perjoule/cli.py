"""Arguments to one call; the only file that exits."""

import json
import os
import shlex
import shutil
import sys
import time
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path

import click

from perjoule import __version__, campaign, catalogue, drivers, options, run, stops, store
from perjoule.display import Progress, counted, err, out, show, show_checks, show_line, trial_text
from perjoule.errors import CampaignError, Interrupted, MachineError, WorkloadError
from perjoule.model import Campaign
from perjoule.options import InOrder, all_kinds, completing, examples
from perjoule.protocols import Check
from perjoule.table import amplification_table, table, winners_table
from perjoule.testbeds import virtual
from perjoule.units import MIB, bytes_text, seconds_text

# `report` and `verify` are imported where they are used: that takes longer than `--help`, completion and an error should.

LEAST_FREE_BYTES = 256 * MIB  # of a results folder's disk; a campaign's results are some MiB per trial


@click.group(
    cls=InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": options.HELP_WIDTH},
    epilog=examples(
        "perjoule doctor                     what this machine can and can't do",
        "sudo perjoule demo                  MooseFS, GlusterFS and CephFS, compared",
        "perjoule demo --simulate            the same with nothing real behind it",
        "perjoule check examples/green-storage.toml",
        "perjoule run examples/local.toml",
        'eval "$(_PERJOULE_COMPLETE=bash_source perjoule)"',
        "                                    completion (or zsh_source, fish_source)",
    )
    + "\n\n\b\nExit codes: 0 well, 1 finished with invalid trials, 2 campaign wrong,\n"
    "3 machine not ready, 4 workload failed, 5 interrupted and resumable.",
)
@click.version_option(__version__, prog_name="perjoule")
def cli() -> None:
    """The lab for the energy efficiency of storage: bring a file system up, load it, meter it, judge it."""


@cli.command(
    short_help="The main job: three parallel file systems compared.",
    epilog=examples(
        "sudo perjoule demo", "sudo perjoule demo --set repetitions=1 --into results/quick", "perjoule demo --simulate"
    ),
)
@options.into
@options.overrides
@options.simulate
def demo(into: Path | None, overrides: tuple[str, ...], simulate: bool) -> None:
    """The main job: three parallel file systems on a virtual cluster like green-storage's, from bring-up to MiB/J.

    Takes about ten minutes on two cores. Ctrl-C stops it cleanly; `perjoule resume DIR` goes on.
    """
    _start(_read_demo(overrides, simulate), into)


@cli.command(
    "run", epilog=examples("perjoule run examples/demo.toml --set repetitions=1", "perjoule run my.toml --into results/my")
)
@options.file
@options.into
@options.overrides
@options.shrink
@options.simulate
def run_command(file: Path, into: Path | None, overrides: tuple[str, ...], shrink: int | None, simulate: bool) -> None:
    """Run a campaign and write its report."""
    _start(_read(file, overrides, shrink, simulate), into, file.parent)


@cli.command(
    short_help="Go on with a campaign that was interrupted.",
    epilog=examples("perjoule resume results/demo-20261121-101500", "perjoule resume results/demo --failed"),
)
@options.folder
@click.option("--failed", is_flag=True, help="Measure failed trials again too.")
def resume(folder: Path, failed: bool) -> None:
    """Go on with a campaign that was interrupted: measure what is missing and write its report."""
    results = store.open_results(folder)
    source = str(folder / "campaign.toml")
    _go_on(campaign.parse(results.campaign_text, source=source, overrides=results.overrides), results, folder, failed)


def _read(file: Path, overrides: tuple[str, ...], shrink: int | None = None, simulate: bool = False) -> Campaign:
    simulated = ("simulate=true",) if simulate else ()
    return campaign.read(file, (*overrides, *simulated, *((f"shrink={shrink}",) if shrink else ())))


def _read_demo(overrides: tuple[str, ...] = (), simulate: bool = False) -> Campaign:
    with as_file(files("perjoule") / "demo.toml") as file:
        return _read(file, overrides, simulate=simulate)


def _start(asked: Campaign, into: Path | None, source: Path | None = None) -> None:
    folder = into or Path("results") / f"{asked.name}-{time.strftime('%Y%m%d-%H%M%S')}"
    run.require((*run.checks(asked), _room(folder)))
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    _go_on(asked, results, made[-1] if made else folder, source=source)


def _room(folder: Path) -> Check:
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    disk = shutil.disk_usage(there)
    ok = disk.free >= LEAST_FREE_BYTES or disk.total == 0  # what has no size (/proc) says itself what is wrong with it
    fix = f"make room for {bytes_text(LEAST_FREE_BYTES)}, or choose a folder on another disk by --into"
    return Check(f"disk of {folder}", ok, f"only {bytes_text(disk.free)} left", fix)


def _go_on(asked: Campaign, results: store.Results, top: Path, again_failed: bool = False, source: Path | None = None) -> None:
    """Measure what is missing and conclude; `top` is the outermost folder that is ours, `source` where the campaign lies."""
    missing = {trial.id for trial in run.missing(asked, results, again_failed=again_failed)}
    plan = campaign.plan(asked)
    share_s = plan.deployments_s / max(1, len(plan.steps))
    planned_s = {step.trial.id: step.duration_s + share_s for step in plan.steps if step.trial.id in missing}
    todo = f"{counted(len(missing), 'trial')}, about {seconds_text(sum(planned_s.values()))}" if missing else "nothing is missing"
    err.print(f"{asked.name}: {todo}; into {results.folder}")
    try:
        with Progress(planned_s, stops.stopping) as progress:
            run.run(asked, results, progress, again_failed=again_failed, folder=source)
        code = _conclude(asked, results)
    except (CampaignError, MachineError):
        if not run.missing(asked, results):  # one file system was refused, the others were measured
            _conclude(asked, results)
        raise
    except KeyboardInterrupt:
        advice = f"go on with: perjoule resume {shlex.quote(str(results.folder))}"
        raise Interrupted("interrupted, all taken down", next=advice) from None
    finally:
        _give_back(top)
    sys.exit(code)


def _conclude(asked: Campaign, results: store.Results) -> int:
    from perjoule import report

    records, cells = results.latest(), report.cells(results)
    show(table(cells), cells, records)
    with stops.place(results.folder):
        out.print(f"\nreport: {report.write(results, results.folder / 'report.html')}")
    wanted = {trial.id for trial in asked.trials}
    failed = [r for r in records if r.status == "failed" and r.trial.id in wanted]
    for record in failed:
        err.print(f"failed: {trial_text(record.trial)}: {record.reason}", style="red")
    return 0 if not failed else WorkloadError.exit_code if len(failed) == len(asked.trials) else 1


def _give_back(top: Path) -> None:
    """Under sudo, let what was made belong to who asked for it."""
    if os.geteuid() == 0 and "SUDO_UID" in os.environ:
        for path in (top, *top.rglob("*")):
            os.chown(path, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]), follow_symlinks=False)


@cli.command(
    short_help="Dry run: the trials in order, bytes, time.",
    epilog=examples("perjoule check examples/green-storage.toml", "perjoule check my.toml --shrink 100"),
)
@options.file
@options.overrides
@options.shrink
def check(file: Path, overrides: tuple[str, ...], shrink: int | None) -> None:
    """Dry run: the trials in order, the bytes to be moved, an estimate of the time. Touches nothing."""
    asked = _read(file, overrides, shrink)
    plan = campaign.plan(asked)
    for number, step in enumerate(plan.steps, start=1):
        out.print(f"{number:4}  {trial_text(step.trial)}  {bytes_text(step.moved_bytes)}  {seconds_text(step.duration_s)}")
    out.print(
        f"\n{asked.name}: {counted(len(plan.steps), 'trial')} on {counted(len(asked.groups), 'deployment')}, "
        f"{bytes_text(plan.moved_bytes)} to be moved, about {seconds_text(plan.duration_s)}; seed {asked.seed}"
    )


@cli.command(
    "show",
    short_help="Print the table of a results folder.",
    epilog=examples("perjoule show results/demo", "perjoule show results/demo --winners", "perjoule show results/demo --bytes"),
)
@options.folder
@click.option("--winners", "best", is_flag=True, help="The best file system for each workload, or that there is none.")
@click.option("--bytes", "amplification", is_flag=True, help="Bytes per user byte, beside what redundancy alone explains.")
def show_command(folder: Path, best: bool, amplification: bool) -> None:
    """Print the table of a results folder: means with 95 % intervals, and the maximum beside."""
    from perjoule import report

    results = _measured(folder)
    cells = report.cells(results)
    if best:
        show(winners_table(report.winners(results, cells)), (), ())
    if amplification:
        show(amplification_table(cells), (), ())
    if not (best or amplification):
        show(table(cells), cells, results.latest())


@cli.command(
    "report",
    short_help="Write the report of a results folder again.",
    epilog=examples("perjoule report results/demo", "perjoule report results/demo --figures figures/"),
)
@options.folder
@click.option("--figures", type=click.Path(path_type=Path), help="Write each figure as SVG and PDF into this folder.")
def report_command(folder: Path, figures: Path | None) -> None:
    """Write the report of a results folder again: one HTML file that works offline."""
    from perjoule import report

    results = _measured(folder)
    with stops.place(figures or folder):
        for path in report.figures(results, figures) if figures else [report.write(results, folder / "report.html")]:
            out.print(path)


@cli.command("verify", short_help="Recompute every number from raw.", epilog=examples("perjoule verify results/demo"))
@options.folder
def verify_command(folder: Path) -> None:
    """Recompute every printed number of a results folder from its raw files. Exit code 1 when something differs."""
    from perjoule import verify

    findings = verify.verify(_measured(folder))
    for finding in findings.differences:
        out.print(finding, style="red")
    out.print(f"{findings.checked_count} numbers and files checked, {len(findings.differences)} differ")
    if findings.differences:
        sys.exit(1)


def _measured(folder: Path) -> store.Results:
    results = store.open_results(folder)
    if not results.done():
        advice = f"measure with: perjoule resume {shlex.quote(str(folder))}"
        raise MachineError("no trial has been measured here yet", where=str(folder), next=advice)
    return results


@cli.command(
    short_help="Bring a virtual cluster up to play with.",
    epilog=examples(
        "sudo perjoule up moosefs",
        "sudo perjoule up cephfs --clients 2 --set copies=3 --set testbed.scale=0.1",
        "sudo perjoule up               (hosts alone)",
    ),
)
@click.argument("kind", required=False, shell_complete=completing(lambda: drivers.kinds("filesystems")))
@click.option("--clients", default=1, show_default=True, type=click.IntRange(1, 64), help="How many client hosts.")
@click.option(
    "--cluster",
    default="odroid-hc4",
    show_default=True,
    help="Cluster of the catalogue to be like.",
    shell_complete=completing(catalogue.names),
)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="An option of the file system, or testbed.OPTION.")
def up(kind: str | None, clients: int, cluster: str, overrides: tuple[str, ...]) -> None:
    """Bring a virtual cluster, and the file system KIND on it, up to play with; `perjoule down --all` removes it."""
    bed, filesystem = campaign.playground(kind, cluster, overrides)
    run.require((*bed.checks(), *(filesystem.checks() if filesystem else ())))
    with ExitStack() as stack:
        began_s = time.monotonic()
        hosts = stack.enter_context(bed.hold(clients, keep=True))
        mounted = stack.enter_context(filesystem.mount(hosts)) if filesystem else None
        took_s = time.monotonic() - began_s
        out.print(f"{counted(len(hosts.servers), 'server')} and {counted(clients, 'client')} up after {took_s:.1f} s")
        for host in hosts.all:
            where = f", file system on {mounted.directories[host.name]}" if mounted and host.name in mounted.directories else ""
            out.print(_entrance(host.name + where, bed.holder_pid(host)), soft_wrap=True)
        out.print(f"`perjoule down {hosts.facts['run']}` takes it down")
        sys.stdout.flush()
        os._exit(0)  # without leaving the `with` blocks: that would take down what is to stay


@cli.command(
    short_help="Remove what killed runs left, and what `up` made.",
    epilog=examples(
        "sudo perjoule down             what killed runs left behind",
        "sudo perjoule down 1ec067e1    and this cluster made by `up`",
        "sudo perjoule down --all       and all clusters made by `up`",
    ),
)
@click.argument("kept", required=False, metavar="[RUN]", shell_complete=completing(lambda: [one.id for one in virtual.kept()]))
@click.option("--all", "everything", is_flag=True, help="Also all clusters that `perjoule up` made.")
def down(kept: str | None, everything: bool) -> None:
    """Remove what is left of our hosts: processes, namespaces, mounts, loop devices, cgroups. Touches nothing that runs.

    Clusters that `perjoule up` made stay, and are listed with the commands to enter them, unless they are named.
    """
    known = [one.id for one in virtual.kept()]
    if kept and kept not in known:
        advice = f"there is {', '.join(known)}" if known else "there is none"
        raise CampaignError(f'`perjoule up` made no cluster "{kept}"', next=advice)
    removed = (*virtual.clean(everything=everything), *(virtual.clean(everything=True, run=kept) if kept else ()))
    for words in removed:
        out.print(f"removed {words}")
    left = virtual.kept()
    for one, pids in left.items():
        out.print(f"kept run {one.id}, made by `perjoule up`; `perjoule down {one.id}` removes it")
        for name, pid in sorted(pids.items()):
            out.print(_entrance(name, pid), soft_wrap=True)
    if not removed and not left:
        out.print("nothing left behind")


def _entrance(name: str, pid: int) -> str:
    return f"  {name}: nsenter -t {pid} -a"


@cli.command(short_help="Say what this machine can and can't do.", epilog=examples("perjoule doctor"))
def doctor() -> None:
    """Say what this machine can and can't do, and how to mend each. Exit code 3 when `perjoule demo` can't run."""
    found = {part: {kind: campaign.example(part, kind).checks() for kind in drivers.kinds(part)} for part in drivers.PROTOCOLS}
    show_checks(tuple({one.name: one for kinds in found.values() for checks in kinds.values() for one in checks}.values()))
    out.print()
    for part, kinds in found.items():
        unready = [kind for kind, checks in kinds.items() if any(one.needed and not one.ok for one in checks)]
        lacking = f"; not ready: {', '.join(unready)}" if unready else ""
        show_line(f"{part:11} ready: {', '.join(kind for kind in kinds if kind not in unready)}{lacking}")
    run.require(run.checks(_read_demo()))
    out.print("`perjoule demo` can run")


@cli.command(
    "drivers",
    short_help="List file systems, workloads, meters, testbeds.",
    epilog=examples("perjoule drivers", "perjoule drivers cephfs", "perjoule drivers --schema > campaign.schema.json"),
)
@click.argument("kind", required=False, shell_complete=completing(all_kinds))
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a campaign file, for editors.")
def drivers_command(kind: str | None, schema: bool) -> None:
    """List file systems, workloads, meters and testbeds; with a KIND its options and an example."""
    if schema:
        click.echo(json.dumps(campaign.schema(), indent=2))
        return
    for line in campaign.describe(kind):
        show_line(line)


def main() -> None:
    """Run the command line and exit with its code."""
    stops.listen()
    sys.exit(stops.exit_code(lambda: cli.main(standalone_mode=False)))
