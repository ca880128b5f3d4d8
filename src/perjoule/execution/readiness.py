"""What a campaign lacks, found before anything is touched: tools, permissions, and layouts that are
possible.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from perjoule import drivers
from perjoule.campaign import impossible
from perjoule.campaign.layouts import Deployed, deployed
from perjoule.drivers.protocols import (
    Check,
    Elsewhere,
    FileSystem,
    HasEvents,
    LooksAtHosts,
    Meter,
    ServerEvent,
    Testbed,
    Workload,
)
from perjoule.execution import host_disks
from perjoule.figures import rendering
from perjoule.model import Campaign, Trial
from perjoule.model.errors import CampaignError, MachineError, PerjouleError, RequirementsMissing

ROOT = Check("root rights", True, "", "log in as root, or set sudo = true", look="root", on="all")
_TAKEN = "end it, or use hosts where nothing listens there"
_BESIDE = "use other hosts, or set beside_production = true on the testbed"
MOST_ASKED = 32  # meters at a time
MOST_NAMED = 3  # missing things in one sentence


Ask = Callable[[Mapping[str, Meter]], tuple[Check, ...]]  # asks meters, by their labels


class Ready(NamedTuple):
    """What was found before a campaign: what its drivers need and hosts lack, and the file systems that
    can't be measured.
    """

    checks: tuple[Check, ...]
    without: Mapping[Deployed, PerjouleError]


def look(campaign: Campaign) -> Ready:
    """Look at this machine and the hosts, once. Raises CampaignError, as `unable` does."""
    without = unable(campaign)
    return Ready(checks(campaign, without), without)


def checks(
    campaign: Campaign, without: Container[Deployed] = (), *, connect: bool = True, ask: Ask | None = None
) -> tuple[Check, ...]:
    """Return what drivers of a campaign need on this machine, and what a testbed finds that its hosts lack.

    Not the file systems of deployments that it does without, such as `unable`. It contacts hosts and meters
    only if it may `connect`, meters by `ask`, with the label of each.
    """
    checks_by_name: dict[str, Check] = {}
    testbeds = {trial.testbed.label: drivers.testbed(trial.testbed) for trial in campaign.trials}
    here = {label for label, bed in testbeds.items() if not isinstance(bed, Elsewhere)}
    testbeds = {label: bed for label, bed in testbeds.items() if connect or label in here}
    parts: dict[str, Testbed | FileSystem | Workload | Meter] = {
        f"testbed {label}": bed for label, bed in testbeds.items()
    }
    specs = {spec.label: spec for trial in campaign.trials for spec in trial.meters}
    meters = {label: drivers.meter(spec) for label, spec in specs.items()}
    for trial in campaign.trials:
        if trial.testbed.label in here:
            parts[f"workload {trial.workload.label}"] = drivers.workload(trial.workload)
            if deployed(trial) not in without:
                parts[f"filesystem {trial.filesystem.label}"] = drivers.filesystem(trial.filesystem)
    events = [drivers.event(event) for trial in campaign.trials for event in trial.events]
    abilities = {event.needs for event in events if isinstance(event, ServerEvent) and event.needs}
    parts |= {f"meter {label}": meter for label, meter in meters.items()}
    needed = [part.checks() for part in parts.values()]
    needed += [bed.ability_checks(abilities) for bed in testbeds.values() if isinstance(bed, HasEvents)]
    for part_checks in needed:
        checks_by_name |= {
            check.name: check
            for check in part_checks
            if check.name not in checks_by_name or checks_by_name[check.name].ok
        }
    answered = (
        (ask or answers)(
            {label: meter for label, meter in meters.items() if all(check.ok for check in meter.checks())}
        )
        if connect
        else ()
    )
    trials = [trial for trial in campaign.trials if deployed(trial) not in without]
    of = {label: [trial for trial in trials if trial.testbed.label == label] for label in testbeds}
    lacking = (_lacking(bed, of[label]) for label, bed in testbeds.items() if of[label])
    checks_by_name |= {check.name: check for check in drawing()}
    return (*checks_by_name.values(), *answered, *(check for checks in lacking for check in checks))


def drawing() -> tuple[Check, ...]:
    """Return what writing a report lacks on this machine; a run does without."""
    if rendering.installed():
        return ()
    return (
        Check(
            rendering.LIBRARY, False, f"{rendering.LACKING}: a run writes none", rendering.FIX, needed=False
        ),
    )


def answers(meters: Mapping[str, Meter]) -> tuple[Check, ...]:
    """Ask meters once each, by their labels, many at a time."""

    def ask(meter: Meter) -> tuple[Check, ...]:
        return meter.answers()

    with ThreadPoolExecutor(MOST_ASKED) as pool:
        return tuple(check for checks in pool.map(ask, meters.values()) for check in checks)


def _lacking(testbed: Testbed, trials: Sequence[Trial]) -> tuple[Check, ...]:
    """Return what the hosts of a testbed lack for the file systems and workloads of trials."""
    if not isinstance(testbed, LooksAtHosts):
        return ()
    clients_count = max(trial.clients_count for trial in trials)
    required: list[Check] = []
    for label in dict.fromkeys(trial.filesystem.label for trial in trials):
        group = [trial for trial in trials if trial.filesystem.label == label]
        filesystem = drivers.filesystem(group[0].filesystem)
        workloads = [
            drivers.workload(trial.workload)
            for trial in {trial.workload.label: trial for trial in group}.values()
        ]
        using = dict.fromkeys(role for workload in workloads for role in workload.using)
        needed = [*filesystem.checks(), *(check for workload in workloads for check in workload.checks())]
        required += [
            *needed,
            *(replace(check, on=role) for check in needed if check.on == "client" for role in using),
        ]
        required += [ROOT] if filesystem.needs_root else []
        required += _alone(filesystem)
        with suppress(CampaignError):  # `hold` refuses it
            required += host_disks.looks(group, testbed.planned(clients_count))
    with suppress(CampaignError):
        return testbed.lacking(clients_count, required)
    return ()


def _alone(filesystem: FileSystem) -> list[Check]:
    """Return what hosts must not have: listeners on ports that its servers need, a site's own daemons and
    exports.
    """
    required: list[Check] = []
    for place, ports in filesystem.ports().items():
        if fixed := [port for port in ports if not port.last]:
            numbers = " ".join(str(port.number) for port in fixed)
            required.append(Check(f"free port {numbers}", True, "", _TAKEN, look=f"port {numbers}", on=place))
    if filesystem.daemons:
        names = " ".join(filesystem.daemons)
        required.append(
            Check(f"{names} of a site's own", True, "", _BESIDE, look=f"without {names}", on="all")
        )
    if filesystem.state:
        required.append(
            Check("state of a site's own", True, "", _BESIDE, look=f"nothing {filesystem.state}", on="all")
        )
    if filesystem.exporting:
        required.append(
            Check("exports of a site's own", True, "", _BESIDE, look="unexported", on=filesystem.exporting)
        )
    return required


def unable(campaign: Campaign) -> Mapping[Deployed, PerjouleError]:
    """Return the file systems that can't be measured while others can: an impossible layout, or a missing
    requirement.

    {} if a requirement of each is missing, as `checks` finds.

    Raises:
        CampaignError: none can be measured, and a layout is impossible.
    """
    misfits = impossible(campaign)
    refusals: dict[Deployed, PerjouleError] = {**misfits}
    all_deployed = {deployed(trial): trial for trial in campaign.trials}
    for key, trial in all_deployed.items():
        if key in refusals or isinstance(drivers.testbed(trial.testbed), Elsewhere):
            continue
        try:
            require(drivers.filesystem(trial.filesystem).checks())
        except MachineError as error:
            refusals[key] = error
    if len(refusals) < len(all_deployed):
        return refusals
    for error in misfits.values():
        raise error
    return {}


def missing(checked: Sequence[Check]) -> tuple[Check, ...]:
    """Return the requirements that are not met."""
    return tuple(check for check in checked if check.needed and not check.ok)


def require(checked: Sequence[Check]) -> None:
    """Stop before anything is touched if a requirement is missing. Raises MachineError."""
    # two roles need one thing
    if unmet := tuple({(check.name, check.detail): check for check in missing(checked)}.values()):
        first, more_count = unmet[:MOST_NAMED], len(unmet) - MOST_NAMED
        faults = "; ".join(f"{check.name}: {check.detail}" for check in first)
        fixes = [
            *dict.fromkeys(check.fix for check in first if check.fix),
            *(["`perjoule doctor --all`"] if more_count > 0 else []),
        ]
        raise RequirementsMissing(
            faults + (f"; and {more_count} more" if more_count > 0 else ""), next="; ".join(fixes)
        )
