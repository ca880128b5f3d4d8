"""Commands about this machine: up, down, doctor, drivers."""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from perjoule import campaign, catalogue, drivers, views
from perjoule.cli import parameters
from perjoule.cli.checking import MetersAsked
from perjoule.cli.parameters import all_kinds, completing, examples
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import out, show_checks, show_findings, show_line
from perjoule.cli.terminal.inputs import campaign_of
from perjoule.drivers.protocols import Check, Cleaned, Cleans, HasExtras
from perjoule.execution import attached, grants, readiness, resources
from perjoule.model import Campaign, families, metrics
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.units import counted
from perjoule.testbeds import cluster, virtual


@click.command(
    short_help="Bring up a virtual cluster to experiment with.",
    epilog=examples(
        "sudo perjoule up moosefs",
        "sudo perjoule up cephfs --clients 2 --set copies=3 --set testbed.scale=0.1",
        "sudo perjoule up               (hosts only)",
    ),
)
@click.argument("kind", required=False, shell_complete=completing(lambda: drivers.kinds("filesystems")))
@click.option(
    "--clients",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Number of client hosts.",
)
@click.option(
    "--cluster",
    metavar="CLUSTER",
    default="odroid-hc4",
    show_default=True,
    help="Cluster of the catalogue.",
    shell_complete=completing(catalogue.choices),
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the file system, or testbed.OPTION.",
)
def up(kind: str | None, clients: int, cluster: str, overrides: tuple[str, ...]) -> None:
    """Bring up a virtual cluster with the file system KIND to experiment with; `perjoule down --all`
    removes it.
    """
    bed, filesystem = campaign.playground(kind, cluster, overrides)
    assert isinstance(bed, virtual.Virtual)  # what `up` and `down` are for
    readiness.require((*bed.checks(), *(filesystem.checks() if filesystem else ())))
    with ExitStack() as stack:
        began_s = time.monotonic()
        hosts = stack.enter_context(bed.hold(clients, keep=True))
        mounted = stack.enter_context(filesystem.mount(hosts)) if filesystem else None
        took_s = time.monotonic() - began_s
        out.print(
            f"{counted(len(hosts.servers), 'server')} and {counted(clients, 'client')} up after "
            f"{took_s:.1f} s"
        )
        for host in hosts.all:
            mount_text = (
                f", file system on {mounted.directories[host.name]}"
                if mounted and host.name in mounted.directories
                else ""
            )
            out.print(_entrance(host.name + mount_text, bed.holder_pid(host)), soft_wrap=True)
        out.print(f"`perjoule down {hosts.facts['run']}` takes it down")
        sys.stdout.flush()
        os._exit(0)  # without leaving the `with` blocks: that would take down what is to stay


@click.command(
    short_help="Remove what killed runs left behind, and clusters made by `up`.",
    epilog=examples(
        "sudo perjoule down             what killed runs left behind",
        "sudo perjoule down 1ec067e1    and this cluster made by `up`",
        "sudo perjoule down --all       and all clusters made by `up`",
    ),
)
@click.argument(
    "kept",
    required=False,
    metavar="[RUN]",
    shell_complete=completing(lambda: [one.id for one in virtual.kept()]),
)
@click.option("--all", "everything", is_flag=True, help="Also all clusters that `perjoule up` made.")
def down(kept: str | None, everything: bool) -> None:
    """Remove what killed runs left behind: processes, namespaces, mounts, loop devices, cgroups, folders,
    power states.

    Touches nothing that is in use, and lists what it leaves because it does not bear perjoule's mark.
    Clusters made by `perjoule up` stay unless you name them; they are listed with the commands to enter them.
    Exit code 3 if something could not be removed.
    """
    ids = [run.id for run in virtual.kept()]
    if kept and kept not in ids:
        advice = f"known: {', '.join(ids)}" if ids else "none are known"
        raise CampaignError(f'`perjoule up` has not made a cluster "{kept}"', next=advice)
    # one that dies from here on is not stuck, nor is one that root alone may remove
    tried = {kept, *(run.id for run in virtual.dead(everything=everything) if os.geteuid() == 0)}
    removed, failures = False, list[str]()
    for cleaned in _cleanings(kept, everything):
        lines = [
            *(f"put back {line}" for line in cleaned.put_back),
            *(f"removed {line}" for line in cleaned.removed),
            *(f"left {line}" for line in (*cleaned.left, *cleaned.failures)),
        ]
        for line in lines:
            out.print(line, soft_wrap=True)
        removed, failures = removed or bool(lines), [*failures, *cleaned.failures]
    runs = virtual.kept()
    for run, pids in runs.items():
        out.print(f"kept run {run.id}, made by `perjoule up`; `perjoule down {run.id}` removes it")
        for name, pid in sorted(pids.items()):
            out.print(_entrance(name, pid), soft_wrap=True)
    if stuck := [run for run in virtual.dead() if run.id in tried]:
        problem = (
            f"run {', '.join(run.id for run in stuck)} could not be removed entirely: something is still busy"
        )
        raise MachineError(problem, where=str(stuck[0].folder), next="run `perjoule down` again")
    if failures:
        problem = "not all that killed runs left could be removed or put back"
        raise MachineError(
            problem, next="see the reasons above; run `perjoule down` again, as the user who started the run"
        )
    if not (removed or runs):
        unseen = " that this user may see; `sudo perjoule down` sees everything" if os.geteuid() != 0 else ""
        out.print(f"nothing left behind{unseen}")


def _cleanings(kept: str | None, everything: bool) -> Iterator[Cleaned]:
    """Clean up one testbed after the other, after the clusters made by `up` that are to go."""
    if kept or everything:
        yield Cleaned(removed=virtual.clean(everything=True, run=kept or ""))
    for kind in drivers.usable("testbeds"):
        testbed = drivers.testbed_class(kind)
        if issubclass(testbed, Cleans):
            yield testbed.clean()


def _entrance(name: str, pid: int) -> str:
    return f"  {name}: nsenter -t {pid} -a"


@click.command(
    short_help="Check what this machine, or a campaign's hosts, can and can't do.",
    epilog=examples(
        "perjoule doctor                what this machine can run",
        "perjoule doctor --all          with each thing missing, and its fix",
        "perjoule doctor lab.toml       what the hosts of a campaign lack for it",
        "perjoule doctor lab.toml --sudoers    what its hosts' administrator grants",
        "perjoule doctor --json | jq '.checks[] | select(.ok | not)'",
    ),
)
@click.argument("file", type=click.Path(path_type=Path), metavar="[CAMPAIGN.toml]", required=False)
@parameters.overrides
@parameters.inventory
@parameters.ssh_config
@parameters.programs
@click.option(
    "--helper",
    "asked",
    flag_value="helper",
    help="Print the helper that sudoers can name, for hosts to install.",
)
@click.option(
    "--sudoers", "asked", flag_value="sudoers", help="Print the file for sudoers that a campaign needs."
)
@click.option(
    "--permitted", "asked", flag_value="permitted", help="Print what the helper must permit for a campaign."
)
@click.option("--all", "everything", is_flag=True, help="Also each check, with the fix of what is missing.")
@json_output.option
def doctor(
    file: Path | None,
    overrides: tuple[str, ...],
    inventory: Path | None,
    asked: str | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Check what this machine can and can't do; with --all each check, and the fix of what is missing. Exit
    code 3 if `perjoule demo` can't run.

    With a campaign: check all of its hosts in parallel, and print one table of what they lack, with a fix for
    each finding. Hosts with the same finding share a line. Changes nothing on any host. Exit code 3 if the
    campaign can't run.

    With --helper, --sudoers or --permitted: contact nobody, and print a file that the hosts' administrator
    installs, so that a user who is not root can run the campaign without being allowed to run anything by
    sudo.
    """
    if asked:
        _print_grant(asked, file, overrides, inventory)
        return
    if file:
        _doctor_of(campaign_of(file, parameters.options(overrides), inventory), as_json)
        return
    if overrides or inventory:
        option = "--set" if overrides else "--inventory"
        raise CampaignError(
            f"{option} needs a campaign", next=f"write `perjoule doctor CAMPAIGN.toml {option} ...`"
        )
    checks_of = {part: dict(families.usable(part, _checks)) for part in drivers.PROTOCOLS}
    beds = (campaign.example("testbeds", kind) for kind in checks_of["testbeds"])
    optional = [driver.optional_checks() for driver in beds if isinstance(driver, HasExtras)]
    listed = (
        readiness.drawing(),
        *optional,
        *(checks for kinds in checks_of.values() for checks in kinds.values()),
    )
    _of_others()
    distinct = tuple({check.name: check for checks in listed for check in checks}.values())
    ready = {
        part: {kind: all(check.ok or not check.needed for check in checks) for kind, checks in kinds.items()}
        for part, kinds in checks_of.items()
    }
    if as_json:
        content = {"checks": json_output.checks(distinct), "ready": ready, "left_out": families.left_out()}
        json_output.print_json("doctor", content)
    else:
        if everything:
            show_checks(distinct)
            out.print()
        for part, kinds in ready.items():
            unready = [kind for kind, is_ready in kinds.items() if not is_ready]
            lacking = f"; not ready: {', '.join(unready)}" if unready else ""
            show_line(f"{part:11} ready: {', '.join(kind for kind in kinds if kind not in unready)}{lacking}")
        lacking_count = sum(not check.ok for check in distinct)
        if lacking_count and not everything:
            show_line(f"{counted(lacking_count, 'thing')} missing or limited: `perjoule doctor --all`")
    readiness.require(readiness.checks(campaign.demo()))
    if not as_json:
        out.print("`perjoule demo` can run")


def _checks(member: families.Member) -> tuple[str, Sequence[Check]]:
    """Return what the example of a driver needs here.

    Raises PackageError: that of another package can't be used.
    """
    try:
        return member.name, campaign.example(member.family, member.name).checks()
    except Exception as error:
        if not member.package or isinstance(error, families.PackageError):
            raise
        raise member.error(str(error)) from error


def _of_others() -> list[families.Member]:
    """Return the measures and views of other packages that can be used; who looks for them is warned of
    the rest.
    """
    listed = [member for member, _ in (*metrics.measures(), *views.members())]
    return [member for member in listed if member.package]


def _print_grant(asked: str, file: Path | None, overrides: tuple[str, ...], inventory: Path | None) -> None:
    if asked == "helper":
        click.echo(cluster.helper_text(), nl=False)
        return
    if not file:
        raise CampaignError(
            f"--{asked} needs a campaign", next=f"write `perjoule doctor CAMPAIGN.toml --{asked}`"
        )
    write = {"sudoers": grants.sudoers, "permitted": grants.permitted}[asked]
    click.echo(write(campaign_of(file, parameters.options(overrides), inventory)), nl=False)


def _doctor_of(asked: Campaign, as_json: bool) -> None:
    for error in campaign.impossible(asked).values():
        raise error
    checks = (
        *readiness.checks(asked, ask=MetersAsked().ask),
        *attached.beforehand(asked),
        *resources.checks(asked.trials, Path("results"), settle_s=asked.settle_s),
    )
    if as_json:
        json_output.print_json("doctor", {"campaign": asked.name, "checks": json_output.checks(checks)})
    else:
        show_findings(checks)
    if missing_count := sum(check.needed and not check.ok for check in checks):
        problem = f"{asked.name} can't run: {counted(missing_count, 'requirement')} not met"
        raise MachineError(problem, next="fix what the table lists")
    if uncontacted := [check.name for check in checks if check.placeholder]:
        raise MachineError(
            f"{asked.name} can't run: the addresses of {', '.join(uncontacted)} are the example's",
            next="write those of your hosts",
        )
    if not as_json:
        out.print(f"{asked.name} can run")


@click.command(
    "drivers",
    short_help="List file systems, workloads, meters, testbeds, events.",
    epilog=examples(
        "perjoule drivers", "perjoule drivers cephfs", "perjoule drivers --schema > campaign.schema.json"
    ),
)
@click.argument("kind", required=False, shell_complete=completing(all_kinds))
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a campaign file, for editors.")
def drivers_command(kind: str | None, schema: bool) -> None:
    """List file systems, workloads, meters, testbeds and events; with a KIND its options and an example."""
    if schema:
        click.echo(json.dumps(campaign.schema(), indent=2))
        return
    for line in campaign.describe(kind):
        show_line(line)
    for member in _of_others() if kind is None else ():
        about = (member.load().__doc__ or "").strip().partition("\n")[0]
        show_line(f"{families.FAMILIES[member.family]} {member.name}: {about} (of {member.package})")
