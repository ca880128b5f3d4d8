"""Whether kept trials, and the text beside them, are those of one campaign."""

from collections.abc import Iterator, Sequence

from perjoule.model import Campaign, Record
from perjoule.store import Results
from perjoule.store.results import digest_of
from perjoule.summary.campaign import strangers


def check(results: Results, campaign: Campaign | None, records: Sequence[Record]) -> Iterator[str]:
    """Yield "" for each trial that the campaign has, and if its text is the one that was run; a sentence
    for what is not so.
    """
    path = results.folder / "campaign.toml"
    if campaign is None:
        if not all(record.imported for record in records):
            yield f"{path}: this perjoule can't read it, so whether the trials are its own is not known"
        return
    foreign = frozenset(strangers(campaign, records))
    for record in records:
        where_kept = results.folder_of(record)
        yield (
            f"{where_kept}: the campaign in campaign.toml has no such trial"
            if record.trial.id in foreign
            else ""
        )
    if results.campaign_digest:
        digest = digest_of(results.campaign_text, results.overrides, campaign.files)
        same = digest == results.campaign_digest
        yield (
            ""
            if same
            else f"{path}: it, or a file that it names, is not the one that was run (checksum mismatch)"
        )
