"""Files that a command line names, JSON and clusters: read within limits, and refused in a sentence."""

from pathlib import Path
from typing import TYPE_CHECKING

from perjoule.cli import exits

if TYPE_CHECKING:
    from perjoule.model.hardware import Cluster

_OWN = 'docs/how-to/predict.md, "Your boards",'


def json_text(path: Path) -> str:
    """Read the text of a JSON file. Raises MachineError: it can't be read; CampaignError: it is too long, or not text."""
    from perjoule.machine.untrusted import MOST_NAMED_BYTES, text_of
    from perjoule.model.errors import CampaignError

    try:
        with exits.place(path):
            return text_of(path, MOST_NAMED_BYTES)
    except ValueError as error:
        raise CampaignError(str(error), where=str(path), next="check the path") from None


def hardware(name: str) -> "Cluster":
    """Read a cluster of the catalogue, or one's own from a TOML file. Raises CampaignError."""
    from perjoule import catalogue
    from perjoule.campaign.messages import instead
    from perjoule.campaign.source import text_of
    from perjoule.model.errors import CampaignError

    if name.endswith(".toml"):
        return catalogue.read(text_of(Path(name), "cluster", f"{_OWN} shows such a file"), Path(name).stem)
    if name in catalogue.names():
        return catalogue.cluster(name)
    file = f"{name}.toml"
    advice = f"{instead(name, catalogue.names())}; {_OWN} shows how to describe your own hardware in a file: --on {file}"
    if Path(file).is_file():
        advice = f'did you mean the file "{file}"?'
    raise CampaignError(f'the catalogue has no cluster "{name}"', where="--on", next=advice)
