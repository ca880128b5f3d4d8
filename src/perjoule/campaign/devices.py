"""Raw devices under a campaign's file systems: `overwrite` must list each."""

from collections.abc import Iterable

from perjoule import drivers
from perjoule.model import Overwrite, Spec
from perjoule.model.errors import CampaignError


def check_named(filesystems: Iterable[Spec], overwrite: Iterable[Overwrite], where: str) -> None:
    """Refuse a device that is not listed. Raises CampaignError."""
    named = {one.device for one in overwrite}
    for device in (device for filesystem in filesystems for device in drivers.filesystem(filesystem).devices):
        if device not in named:
            advice = f'write overwrite = ["{device}"] above the first table'
            raise CampaignError(
                f'device = "{device}" would be overwritten, but overwrite does not list it', where=where, next=advice
            )
