"""Files that a command line names and that hold JSON: read within limits, and refused in a sentence."""

from pathlib import Path

from perjoule.cli import exits


def json_text(path: Path) -> str:
    """Read the text of a JSON file. Raises MachineError: it can't be read; CampaignError: it is too long, or not text."""
    from perjoule.machine.untrusted import MOST_NAMED_BYTES, text_of
    from perjoule.model.errors import CampaignError

    try:
        with exits.place(path):
            return text_of(path, MOST_NAMED_BYTES)
    except ValueError as error:
        raise CampaignError(str(error), where=str(path), next="check the path") from None
