"""What several meter commands print: doubts, and a meter's table."""

from collections.abc import Mapping, Sequence

import tomlkit

from perjoule.cli.terminal.display import err
from perjoule.model import Json


def tell(doubts: Sequence[Sequence[str]]) -> None:
    """Print each doubt about the readings once."""
    for doubt in dict.fromkeys(doubt_text for lines in doubts for doubt_text in lines):
        err.print(doubt, style="yellow")


def table_text(options: Mapping[str, Json]) -> str:
    """Write options as a [[meter]] table."""
    return tomlkit.dumps({"meter": [options]}).strip()
