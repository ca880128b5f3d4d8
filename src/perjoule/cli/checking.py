"""`perjoule check`, the dry run."""

import dataclasses
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

import click

from perjoule import campaign
from perjoule.campaign.covered import unmetered
from perjoule.campaign.plan import Plan, short_loads
from perjoule.cli import parameters
from perjoule.cli.parameters import examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show_findings, show_line, show_missing, show_table
from perjoule.cli.terminal.inputs import campaign_of
from perjoule.drivers.names import fold
from perjoule.drivers.protocols import Check, Meter
from perjoule.execution import attached, footprint, readiness, resources, time_limit
from perjoule.model import Campaign
from perjoule.model.errors import PerjouleError
from perjoule.model.units import bytes_text, counted, seconds_text
from perjoule.results.table import Table


@click.command(
    short_help="Dry run: trials, bytes, space, time.",
    epilog=examples(
        "perjoule check green-storage.toml --shrink 100",
        "perjoule check my.toml --list              every trial, in order",
        "perjoule check lab.toml --connect          ask its hosts and meters, too",
        "perjoule check lab.toml --hosts            programs, ports, paths per host",
    ),
)
@parameters.file
@parameters.overrides
@parameters.shrink
@parameters.inventory
@parameters.ssh_config
@parameters.programs
@click.option(
    "--list", "listing", is_flag=True, help="Also list the trials, in order, with bytes and time of each."
)
@click.option(
    "--hosts", "by_host", is_flag=True, help="Also print what is run, written and listened on, on each host."
)
@click.option(
    "--connect",
    is_flag=True,
    help="Also ask hosts, meters and clusters of others whether they have what the campaign needs.",
)
@json_output.option
def check(
    file: Path,
    overrides: tuple[str, ...],
    shrink: int | None,
    inventory: Path | None,
    listing: bool,
    by_host: bool,
    connect: bool,
    as_json: bool,
) -> None:
    """Dry run: print how many trials there are, what they move, the space needed, the estimated time and what
    is missing here.

    Changes nothing, on this machine or any other. Connects to hosts and meters only with --connect. What this
    machine lacks is a warning, since the campaign may run on another; with --connect the exit code is 3.
    """
    asked = campaign_of(file, parameters.options(overrides, shrink), inventory)
    for error in campaign.impossible(asked).values():
        raise error
    plan, without = campaign.plan(asked), readiness.unable(asked)
    space = resources.checks(asked.trials, Path("results"), settle_s=asked.settle_s)
    meters = MetersAsked()
    answers = readiness.checks(asked, without, connect=connect, ask=meters.ask)
    answers += attached.beforehand(asked) if connect else ()
    short = tuple(short_loads(plan, meters.update_s))
    missing = readiness.missing(answers)
    required = (*space, *answers) if connect else space
    if as_json:
        unable = {filesystem: str(error) for (_, filesystem), error in without.items()}
        content = _content(asked, plan, unable, required, missing, short)
        if by_host:
            content["hosts"] = [
                dataclasses.asdict(hosts_footprint) for hosts_footprint in footprint.footprints(asked)
            ]
        json_output.print_json("check", content)
    else:
        _show(asked, plan, [(filesystem, error) for (_, filesystem), error in without.items()], space, short)
        if connect:
            show_findings(answers)
        if listing:
            _list(plan)
        if by_host:
            _show_hosts(asked)
        if not connect:
            show_missing(missing)
    readiness.require(required)


class MetersAsked:
    """Asks the meters of a campaign what each shows, and keeps how often each updates."""

    def __init__(self) -> None:
        self.update_s: dict[str, float] = {}  # by label

    def ask(self, meters: Mapping[str, Meter]) -> tuple[Check, ...]:
        """Return what each shows, or why it does not answer."""
        from perjoule.monitoring import asking

        answers = asking.answered(meters)
        self.update_s = {
            label: speed.update_s
            for label, (_, speed) in answers.items()
            if speed and isfinite(speed.update_s)
        }
        return tuple(check for checks, _ in answers.values() for check in checks)


def _show(
    asked: Campaign,
    plan: Plan,
    without: Sequence[tuple[str, PerjouleError]],
    space: Sequence[Check],
    short: Sequence[str],
) -> None:
    out.print(
        f"{asked.name}: {counted(len(plan.steps), 'trial')} on {counted(len(asked.groups), 'deployment')}, "
        f"{bytes_text(plan.moved_bytes)} to be moved, about {_duration_text(plan)}; seed {asked.seed}"
    )
    for filesystem, error in without:
        out.print(f"{filesystem} can't be measured on this machine: {error}. The other file systems can.")
    if asked.until is not None:
        out.print(
            f"at most: each combination is repeated {asked.least_count} to {asked.until.most_count} times, "
            f"until the interval of {asked.until.metric} is within ± {100 * asked.until.interval_ratio:g} %"
        )
    if unfit := time_limit.beforehand(plan, asked.trials):
        out.print(unfit)
    for check in space:
        out.print(f"{check.name}: {check.detail}")
    for line in (*short, *unmetered(asked.trials)):
        out.print(line, style="yellow")


def _duration_text(plan: Plan) -> str:
    """As "26 min 6 s"; with a stop rule from the shortest on, as "10 min 2 s to 26 min 6 s"."""
    texts = (seconds_text(plan.least_duration_s), seconds_text(plan.duration_s))
    return " to ".join(dict.fromkeys(texts)) + (f" ({plan.guess})" if plan.guess else "")


def _list(plan: Plan) -> None:
    out.print()
    rows = (
        (str(number), step.trial.text, bytes_text(step.moved_bytes), seconds_text(step.duration_s))
        for number, step in enumerate(plan.steps, start=1)
    )
    show_table(Table(("", "trial", "moves", "takes"), tuple(rows), ("trial",)))


def _show_hosts(campaign: Campaign) -> None:
    """Print what is done on hosts, those with the same in one paragraph."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for host_footprint in footprint.footprints(campaign):
        alike.setdefault(host_footprint.lines(), []).append(host_footprint.host)
    for lines, hosts in alike.items():
        out.print(f"\n{fold(hosts)}: {lines[0]}", soft_wrap=True, markup=False, highlight=False)
        for line in lines[1:]:
            out.print(f"  {line}", soft_wrap=True, markup=False, highlight=False)
    if alike:
        out.print(f"\non each, of the system's own: {' '.join(footprint.TOOLS.split())}", soft_wrap=True)
    else:
        show_line("no host is another machine; `perjoule doctor CAMPAIGN.toml` says what this one needs")


def _content(
    asked: Campaign,
    plan: Plan,
    unable: Mapping[str, str],
    checks: Sequence[Check],
    missing: Sequence[Check],
    short: Sequence[str],
) -> dict[str, object]:
    """Return the JSON content: the trials in order, what they need, and what is missing."""
    steps = [
        {
            "trial": step.trial.id,
            "testbed": step.trial.testbed.label,
            "filesystem": step.trial.filesystem.label,
            "workload": step.trial.workload.label,
            "clients_count": step.trial.clients_count,
            "repetition": step.trial.repetition,
            "moved_bytes": step.moved_bytes,
            "duration_s": step.duration_s,
        }
        for step in plan.steps
    ]
    return {
        "campaign": asked.name,
        "seed": asked.seed,
        "deployments_count": len(asked.groups),
        "moved_bytes": plan.moved_bytes,
        "duration_s": plan.duration_s,
        "time_limit": time_limit.beforehand(plan, asked.trials),
        "unable": unable,
        "checks": json_output.checks(checks),
        "missing": json_output.checks(missing),
        "short_loads": list(short),
        "unmetered": list(unmetered(asked.trials)),
        "trials": steps,
    }
