"""Layouts that are impossible on the hosts that a testbed will have, found before any is held."""

from collections.abc import Mapping

from perjoule import drivers
from perjoule.model import Campaign, Trial
from perjoule.model.errors import CampaignError

Deployed = tuple[str, str]  # labels of a testbed and a file system


def deployed(trial: Trial) -> Deployed:
    """Return what a trial is measured on."""
    return trial.testbed.label, trial.filesystem.label


def impossible(campaign: Campaign) -> Mapping[Deployed, CampaignError]:
    """Return the deployments whose layout is impossible, each with an error that says what would fit."""
    trials: dict[Deployed, Trial] = {}
    for trial in sorted(campaign.trials, key=lambda trial: trial.clients_count):
        trials[deployed(trial)] = trial  # the one with the most clients
    errors: dict[Deployed, CampaignError] = {}
    for (testbed, filesystem), trial in trials.items():
        table = ("testbed", testbed)
        try:
            hosts = drivers.testbed(trial.testbed).planned(trial.clients_count)
            table = ("filesystem", filesystem)
            drivers.filesystem(trial.filesystem).require_fit(hosts.without(drivers.joining(trial.events)))
        except CampaignError as error:
            place = ": ".join(filter(None, [campaign.places.get(table), f"{filesystem} on {testbed}"]))
            errors[testbed, filesystem] = CampaignError(error.what, where=place, next=error.next)
    return errors
