"""Raw devices under a campaign's file systems: `overwrite` must list each."""

from collections.abc import Iterable, Mapping

from perjoule.model import Json, Overwrite, Spec
from perjoule.model.errors import CampaignError


def devices(filesystem: Spec) -> tuple[str, ...]:
    """List the devices that a file system would overwrite: its own, and those in its own tables (`beneath`)."""
    tables = [filesystem.options, *(value for value in filesystem.options.values() if isinstance(value, Mapping))]
    return tuple(device for table in tables if (device := _device(table)))


def _device(table: Mapping[str, Json]) -> str:
    device = table.get("device")
    return device if isinstance(device, str) else ""


def check_named(filesystems: Iterable[Spec], overwrite: Iterable[Overwrite], where: str) -> None:
    """Refuse a device that is not listed. Raises CampaignError."""
    named = {one.device for one in overwrite}
    for device in (device for filesystem in filesystems for device in devices(filesystem)):
        if device not in named:
            advice = f'write overwrite = ["{device}"] above the first table'
            raise CampaignError(
                f'device = "{device}" would be overwritten, but overwrite does not list it', where=where, next=advice
            )
