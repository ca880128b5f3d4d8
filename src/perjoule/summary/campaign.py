"""The campaign of a results folder, read again from what the folder keeps of it."""

from collections.abc import Iterable

from perjoule import campaign
from perjoule.model import Campaign, Record
from perjoule.model.errors import CampaignError
from perjoule.model.units import counted
from perjoule.store import Results
from perjoule.store.results import digest_of


def campaign_of(results: Results) -> Campaign | None:
    """Read the campaign of a results folder; None if it uses something that this perjoule no longer knows."""
    try:
        return campaign.parse(
            results.campaign_text,
            source="campaign.toml",
            overrides=results.overrides,
            folder=results.folder,
            of_results=True,
        )
    except CampaignError:
        return None


def conditions(campaign: Campaign) -> dict[str, float]:
    """Return how trials are measured, whatever they measure: what must stay the same as long as a folder
    gets more of them.
    """
    return {"settle_s": campaign.settle_s, "quiet_s": campaign.quiet_s, "align_s": campaign.align_s}


def strangers(campaign: Campaign, records: Iterable[Record]) -> list[str]:
    """Return the IDs of the trials that a campaign does not have; imported ones belong to no campaign."""
    ids = {trial.id for trial in campaign.trials}
    return list(dict.fromkeys(r.trial.id for r in records if not r.imported and r.trial.id not in ids))


def require_same(campaign: Campaign, results: Results) -> None:
    """Require that a campaign, which may have become longer, is the one of a folder that is held; keep its
    digest.

    Raises:
        CampaignError: it was changed so that new trials would not be repetitions of those that were measured.
        MachineError: the folder can't be read or written.
    """
    current, changed = conditions(campaign), ""
    if foreign := strangers(campaign, results.latest()):
        changed = f"{counted(len(foreign), 'kept trial')} ({foreign[0]}) would be none of this campaign"
    elif results.conditions and current != results.conditions:
        name = next(name for name in current if current[name] != results.conditions.get(name))
        changed = f"{name} was {results.conditions.get(name)} and is now {current[name]}"
    if changed:
        raise CampaignError(
            f"the campaign was changed after it was measured: {changed}",
            where=str(results.folder / "campaign.toml"),
            next=(
                "put campaign.toml back as it was (more repetitions are allowed), or run the new one into "
                "a folder of its own"
            ),
        )
    digest = digest_of(results.campaign_text, results.overrides, campaign.files)
    if results.campaign_digest and (results.campaign_digest, results.conditions) != (digest, current):
        results.keep_campaign(digest, current)


def name_of(results: Results) -> str:
    """Return the campaign's name, or that of the folder if the campaign can't be read."""
    campaign = campaign_of(results)
    return campaign.name if campaign else results.folder.resolve().name
