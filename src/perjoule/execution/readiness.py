"""Whether this machine meets a campaign's requirements, found without changing anything."""

from collections.abc import Mapping, Sequence

from perjoule import drivers
from perjoule.drivers.protocols import Check, FileSystem, Meter, Testbed, Workload
from perjoule.model import Campaign, Trial
from perjoule.model.errors import MachineError

MOST_NAMED = 3  # missing things in one sentence

Deployed = tuple[str, str]  # labels of a testbed and a file system


def checks(campaign: Campaign, *, whole: bool = False) -> tuple[Check, ...]:
    """Return what drivers of a campaign need on this machine; `whole` includes file systems that it can do without."""
    found: dict[str, Check] = {}
    without = dict[Deployed, MachineError]() if whole else unable(campaign)
    for trial in campaign.trials:
        testbed = drivers.testbed(trial.testbed)
        parts: list[Testbed | FileSystem | Workload | Meter] = [testbed, *map(drivers.meter, trial.meters)]
        if not testbed.elsewhere:
            parts.append(drivers.workload(trial.workload))
            parts += [] if deployed(trial) in without else [drivers.filesystem(trial.filesystem)]
        for part in parts:
            found |= {check.name: check for check in part.checks() if check.name not in found or found[check.name].ok}
    return tuple(found.values())


def unable(campaign: Campaign) -> Mapping[Deployed, MachineError]:
    """Return the file systems that can't be measured here while others can; {} if none can."""
    found: dict[Deployed, MachineError] = {}
    all_deployed = {deployed(trial): trial for trial in campaign.trials}
    for labels, trial in all_deployed.items():
        if drivers.testbed(trial.testbed).elsewhere:
            continue
        try:
            require(drivers.filesystem(trial.filesystem).checks())
        except MachineError as error:
            found[labels] = error
    return found if len(found) < len(all_deployed) else {}


def deployed(trial: Trial) -> Deployed:
    """Return what names the deployment of a trial."""
    return trial.testbed.label, trial.filesystem.label


def require(checked: Sequence[Check]) -> None:
    """Stop before anything is touched if a requirement is missing. Raises MachineError."""
    missing = [check for check in checked if check.needed and not check.ok]
    if missing:
        first, more_count = missing[:MOST_NAMED], len(missing) - MOST_NAMED
        what = "; ".join(f"{check.name}: {check.detail}" for check in first)
        fixes = [*dict.fromkeys(check.fix for check in first if check.fix), *(["`perjoule doctor`"] if more_count > 0 else [])]
        raise MachineError(what + (f"; and {more_count} more" if more_count > 0 else ""), next="; ".join(fixes))
