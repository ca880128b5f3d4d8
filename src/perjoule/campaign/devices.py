"""Raw devices under a campaign's file systems: `overwrite` must list each."""

from collections.abc import Iterable

from perjoule.campaign.source import CampaignSource
from perjoule.campaign.tables import TableRow
from perjoule.drivers.protocols import FileSystem
from perjoule.model import Overwrite


def check_named(
    filesystems: Iterable[TableRow], overwrite: Iterable[Overwrite], place: CampaignSource
) -> None:
    """Refuse a device that is not listed. Raises CampaignError with the line of the file system."""
    listed = {entry.device for entry in overwrite}
    for row in filesystems:
        assert isinstance(row.driver, FileSystem)
        for device in row.driver.devices:
            if device not in listed:
                fault = f'device = "{device}" would be overwritten, but overwrite does not list it'
                raise place.error(row.path, fault, f'write overwrite = ["{device}"] above the first table')
