"""Files that a command line names, JSON and clusters: read within limits, and refused in a sentence."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perjoule.cli import exits

if TYPE_CHECKING:
    from perjoule.model import Campaign
    from perjoule.model.hardware import Cluster

MOST_NUMBERS_COUNT = 200
_LISTED = "ansible-inventory.json"  # of a campaign's files, and kept with its results
_OWN = "`perjoule docs boards`"


def campaign_of(path: Path, overrides: Sequence[str], inventory: Path | None) -> "Campaign":
    """Read a campaign, with the hosts of the user's inventory if one is named.

    Raises CampaignError, MachineError.
    """
    from perjoule import campaign
    from perjoule.testbeds.cluster import listed

    if inventory is None:
        return campaign.read(path, overrides)
    return campaign.read(path, (*overrides, f"testbed.inventory={_LISTED}"), {_LISTED: listed(inventory)})


def json_text(path: Path) -> str:
    """Read the text of a JSON file.

    Raises MachineError: it can't be read; CampaignError: it is too long, or not text.
    """
    from perjoule.machine.untrusted import MOST_NAMED_BYTES, text_of
    from perjoule.model.errors import CampaignError

    try:
        with exits.place(path):
            return text_of(path, MOST_NAMED_BYTES)
    except ValueError as error:
        raise CampaignError(str(error), where=str(path), next="check the path") from None


def whole_numbers(option: str, text: str, most: int) -> list[int]:
    """Read "4", "1,2,8" or "1..64", each from 1 to `most`. Raises CampaignError."""
    from perjoule.model.errors import CampaignError

    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        match = re.fullmatch(r"(\d{1,6})(?:\.\.(\d{1,6}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        numbers += range(first, min(last, first + MOST_NUMBERS_COUNT) + 1)
    if not 0 < min(numbers, default=0) <= max(numbers) <= most or len(numbers) > MOST_NUMBERS_COUNT:
        problem = f"not whole numbers from 1 to {most}, {MOST_NUMBERS_COUNT} of them at most"
        raise CampaignError(problem, where=f"{option} {text}", next="write 4, 1,2,8 or 1..64")
    return list(dict.fromkeys(numbers))


def hardware(name: str) -> "Cluster":
    """Read a cluster of the catalogue, or one's own from a TOML file. Raises CampaignError."""
    from perjoule import catalogue
    from perjoule.campaign.source import text_of
    from perjoule.model.errors import CampaignError
    from perjoule.model.validation import instead

    if name.endswith(".toml"):
        return catalogue.read(
            text_of(Path(name), "cluster", f"{_OWN} shows such a file"), Path(name).stem, name
        )
    if name in catalogue.choices():
        return catalogue.cluster(name)
    if catalogue.is_phrase(name):
        return catalogue.cluster_of(name)
    file = f"{name}.toml"
    advice = (
        f"{instead(name, catalogue.choices())}; {_OWN} shows how to describe your own hardware in a file: "
        f"--on {file}"
    )
    if Path(file).is_file():
        advice = f'did you mean the file "{file}"?'
    raise CampaignError(f'the catalogue has no cluster "{name}"', where="--on", next=advice)
