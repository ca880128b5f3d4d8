"""Errors of what the user wrote."""

from perjoule.model.errors.base import CampaignError


class KeyRefused(CampaignError):
    """A key, table or value of a campaign can't be. Correct that line."""

    id = "campaign.key"


class FileRefused(CampaignError):
    """A file that was named is missing, or is no text, or no TOML. Name another, or correct it."""

    id = "campaign.file"


class CommandLineRefused(CampaignError):
    """An option or an argument can't be. See `--help` of the command."""

    id = "campaign.command_line"
