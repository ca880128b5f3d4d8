"""What a campaign lacks, found before anything is touched: tools, permissions, and layouts that are possible."""

from collections.abc import Mapping, Sequence

from perjoule import drivers
from perjoule.campaign import impossible
from perjoule.campaign.layouts import Deployed, deployed
from perjoule.drivers.protocols import Check, FileSystem, Meter, Testbed, Workload
from perjoule.model import Campaign
from perjoule.model.errors import MachineError, PerjouleError

MOST_NAMED = 3  # missing things in one sentence


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


def unable(campaign: Campaign) -> Mapping[Deployed, PerjouleError]:
    """Return the file systems that can't be measured while others can: an impossible layout, or a missing requirement.

    {} if a requirement of each is missing, as `checks` finds.

    Raises:
        CampaignError: none can be measured, and a layout is impossible.
    """
    misfits = impossible(campaign)
    found: dict[Deployed, PerjouleError] = {**misfits}
    all_deployed = {deployed(trial): trial for trial in campaign.trials}
    for key, trial in all_deployed.items():
        if key in found or drivers.testbed(trial.testbed).elsewhere:
            continue
        try:
            require(drivers.filesystem(trial.filesystem).checks())
        except MachineError as error:
            found[key] = error
    if len(found) < len(all_deployed):
        return found
    for error in misfits.values():
        raise error
    return {}


def require(checked: Sequence[Check]) -> None:
    """Stop before anything is touched if a requirement is missing. Raises MachineError."""
    missing = [check for check in checked if check.needed and not check.ok]
    if missing:
        first, more_count = missing[:MOST_NAMED], len(missing) - MOST_NAMED
        what = "; ".join(f"{check.name}: {check.detail}" for check in first)
        fixes = [*dict.fromkeys(check.fix for check in first if check.fix), *(["`perjoule doctor`"] if more_count > 0 else [])]
        raise MachineError(what + (f"; and {more_count} more" if more_count > 0 else ""), next="; ".join(fixes))
