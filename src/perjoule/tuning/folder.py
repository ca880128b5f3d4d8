"""The folder of a tuning: the request, and a results folder for each round and for the final comparison.

    tuning.json         the request, the campaign's overrides, and what its hosts offered
    campaign.toml       the campaign as it was read; next to it, the files that it names
    round-1/, ...       results folders of the race
    final/              results folder of the final comparison
    tuned.toml          the campaign with the best setting, if that is better than the default

Its state is that of its results folders: whatever they lack is measured, and nothing else is remembered but
what hosts offered.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from perjoule.drivers.protocols import Offered
from perjoule.machine.untrusted import from_json, json_of, text_of
from perjoule.model.errors import CampaignError
from perjoule.store.disk import spoken
from perjoule.store.place import entered, make_folders
from perjoule.tuning.request import Request

NAME, CAMPAIGN, TUNED = "tuning.json", "campaign.toml", "tuned.toml"
VERSION = 1


@dataclass(frozen=True)
class Begun:
    """A tuning as it was begun."""

    request: Request
    text: str
    overrides: tuple[str, ...]
    offered: Mapping[str, Offered]  # by its hosts


@dataclass(frozen=True)
class _Head:
    version: int
    request: Request
    overrides: tuple[str, ...]
    format: str = ""
    offered: Mapping[str, Offered] = field(default_factory=dict[str, Offered])


def is_tuning(folder: Path) -> bool:
    """Return whether a folder is that of a tuning."""
    return (folder / NAME).is_file()


def opened(folder: Path) -> Begun:
    """Read the request.

    Raises MachineError: it is damaged; CampaignError: another version of perjoule wrote it.
    """
    with spoken(folder / NAME):
        head = from_json(_Head, json_of(folder / NAME))
    if head.version != VERSION:
        fault = f"a tuning of format version {head.version}, but this perjoule reads version {VERSION}"
        raise CampaignError(fault, where=str(folder), next="use the perjoule that wrote it")
    with spoken(folder / CAMPAIGN):
        return Begun(head.request, text_of(folder / CAMPAIGN), head.overrides, head.offered)


def begin(folder: Path, begun: Begun, files: Mapping[str, str]) -> None:
    """Write the request into a new or empty folder.

    Args:
        folder: is made if it is not there.
        begun: the request.
        files: text by name, that the campaign names.

    Raises:
        CampaignError: the folder is not empty.
        MachineError: it can't be written.
    """
    with spoken(folder):
        make_folders(folder)
    with spoken(folder), entered(folder) as place:
        expected = {
            CAMPAIGN,
            f"{NAME}.partial",
            f"{CAMPAIGN}.partial",
            *(Path(name).parts[0] for name in files),
        }
        if foreign := place.names - expected:
            fault = f'the folder is not empty (it holds "{min(foreign)}") and is not that of a tuning'
            raise CampaignError(fault, where=str(folder), next="choose a new or empty folder")
        for name, text in {CAMPAIGN: begun.text, **files}.items():
            place.put(name, text)
        head = {
            "format": "perjoule tuning",
            "version": VERSION,
            "request": asdict(begun.request),
            "overrides": begun.overrides,
        }
        head |= {"offered": {name: asdict(offer) for name, offer in begun.offered.items()}}
        place.put(NAME, json.dumps(head, indent=1) + "\n")


def require_same(folder: Path, begun: Begun, request: Request, text: str, overrides: Sequence[str]) -> None:
    """Check that a request is the one of a folder. Raises CampaignError."""
    begun_overrides, drawn = begun.overrides[: len(overrides)], begun.overrides[len(overrides) :]
    only_drawn = all(override.startswith(("name=", "seed=")) for override in drawn)
    if (begun.request, begun.text, begun_overrides) != (request, text, tuple(overrides)) or not only_drawn:
        fault = "this folder has a tuning of another campaign, or with other options"
        raise CampaignError(
            fault, where=str(folder), next="choose another folder, or continue it with `perjoule resume`"
        )
