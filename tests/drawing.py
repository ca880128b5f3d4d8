"""What draws in a browser, for homes that tests make: to gather it takes a second of CPU time in each."""

import shutil
from pathlib import Path

from perjoule.figures import rendering
from perjoule.machine import kept


def prepare(home: Path) -> None:
    """Put it where perjoule keeps it for whoever has this home."""
    rendering.javascript()
    place = home / ".cache" / "perjoule"
    place.mkdir(parents=True)
    shutil.copy(kept.in_home("vega.js"), place)
