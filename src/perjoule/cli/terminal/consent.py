"""Consent to overwrite raw devices: the user sees what would be lost, and types its name on a terminal or
passes a flag.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from perjoule import drivers
from perjoule.cli.terminal.display import err
from perjoule.drivers.protocols import OverwritesDevices
from perjoule.model import Campaign, Trial
from perjoule.model.errors import CampaignError


def confirmed(asked: Campaign, trials: Iterable[Trial], flags: Sequence[str]) -> Campaign:
    """Return the campaign with the confirmed devices that these trials overwrite.

    Args:
        asked: lists the devices; those that it has as confirmed are not asked for again.
        trials: the ones that will be measured.
        flags: IDs by --overwrite, whole or their last part.

    Raises:
        CampaignError: a device can't be overwritten, a flag names none, or the user did not confirm.
        MachineError: a device can't be examined.
    """
    by_word = {
        name: overwritten.device
        for overwritten in asked.overwrite
        for name in (overwritten.device, Path(overwritten.device).name)
    }
    if unknown := [flag for flag in flags if flag not in by_word]:
        devices = ", ".join(overwritten.device for overwritten in asked.overwrite) or "no device"
        raise CampaignError(
            f"--overwrite {unknown[0]} is not a device listed in this campaign",
            next=f"the campaign's overwrite lists {devices}",
        )
    confirmed_devices = {by_word[flag] for flag in flags}
    by_clients = sorted(trials, key=lambda trial: trial.clients_count)  # the last one has all hosts
    trial_of = {
        device: trial for trial in by_clients for device in drivers.filesystem(trial.filesystem).devices
    }
    permits = [permit for permit in asked.confirmed if permit.device in trial_of]
    shown = {permit.device for permit in permits}
    for overwrite in (named for named in asked.overwrite if named.device in trial_of.keys() - shown):
        trial = trial_of[overwrite.device]
        place = drivers.filesystem(trial.filesystem).devices_at
        testbed = drivers.testbed(trial.testbed)
        shown_devices = (
            testbed.shown(overwrite, trial.clients_count, place)
            if isinstance(testbed, OverwritesDevices)
            else []
        )
        for permit, lines in shown_devices:
            for line in lines:
                err.print(
                    f"{permit.host}: {line}" if permit.host else line,
                    soft_wrap=True,
                    markup=False,
                    highlight=False,
                )
            permits.append(permit)
        if shown_devices and overwrite.device not in confirmed_devices:
            _ask(overwrite.device)
    return replace(asked, confirmed=tuple(permits))


def _ask(device: str) -> None:
    name = Path(device).name
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        problem = f"{device} would be overwritten, and this has not been confirmed"
        raise CampaignError(problem, next=f"add --overwrite {name}, or run it in a terminal")
    typed = click.prompt(
        f"all data on it will be lost; type {name} to continue", default="", show_default=False, err=True
    )
    if typed.strip() != name:
        raise CampaignError(f"{device} was not confirmed", next="nothing has been touched")
