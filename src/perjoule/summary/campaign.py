"""The campaign of a results folder, read again from what the folder keeps of it."""

from perjoule import campaign
from perjoule.model import Campaign
from perjoule.model.errors import CampaignError
from perjoule.store import Results


def campaign_of(results: Results) -> Campaign | None:
    """Read the campaign of a results folder; None if it uses something that this perjoule no longer knows."""
    try:
        return campaign.parse(results.campaign_text, source="campaign.toml", overrides=results.overrides, folder=results.folder)
    except CampaignError:
        return None


def name_of(results: Results) -> str:
    """Return the campaign's name, or that of the folder if the campaign can't be read."""
    asked = campaign_of(results)
    return asked.name if asked else results.folder.resolve().name
