"""Consent to overwrite raw devices: the user sees what would be lost, and types its name on a terminal or passes a flag."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from perjoule import drivers
from perjoule.cli.display import err
from perjoule.model import Campaign, Permit, Trial
from perjoule.model.errors import CampaignError


def confirmed(asked: Campaign, trials: Iterable[Trial], flags: Sequence[str]) -> Campaign:
    """Return the campaign with the confirmed devices that these trials overwrite on this machine.

    Args:
        asked: lists the devices.
        trials: the ones that will be measured.
        flags: IDs by --overwrite, whole or their last part.

    Raises:
        CampaignError: a device can't be overwritten, a flag names none, or the user did not confirm.
        MachineError: a device can't be examined.
    """
    by_word = {word: one.device for one in asked.overwrite for word in (one.device, Path(one.device).name)}
    if unknown := [flag for flag in flags if flag not in by_word]:
        known = ", ".join(one.device for one in asked.overwrite) or "no device"
        raise CampaignError(
            f"--overwrite {unknown[0]} is not a device listed in this campaign", next=f"the campaign's overwrite lists {known}"
        )
    said = {by_word[flag] for flag in flags}
    wanted = {device: trial.testbed for trial in trials for device in drivers.filesystem(trial.filesystem).devices}
    permits: list[Permit] = []
    for named in (one for one in asked.overwrite if one.device in wanted):
        if (there := drivers.testbed(wanted[named.device]).shown(named)) is None:
            continue  # of other machines
        permit, lines = there
        for line in lines:
            err.print(line, soft_wrap=True, markup=False, highlight=False)
        if permit.device not in said:
            _ask(permit.device)
        permits.append(permit)
    return replace(asked, confirmed=tuple(permits))


def _ask(device: str) -> None:
    name = Path(device).name
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        what = f"{device} would be overwritten, and this has not been confirmed"
        raise CampaignError(what, next=f"add --overwrite {name}, or run it in a terminal")
    typed = click.prompt(f"all data on it will be lost; type {name} to continue", default="", show_default=False, err=True)
    if typed.strip() != name:
        raise CampaignError(f"{device} was not confirmed", next="nothing has been touched")
