"""What draws in a browser, for homes that tests make: to gather it takes a second of CPU time in each."""

import shutil
from pathlib import Path

from perjoule.figures import rendering
from perjoule.machine import kept


def prepare(home: Path) -> None:
    """Put it where perjoule keeps it for whoever has this home."""
    put(home / ".cache" / "perjoule")


def put(place: Path) -> None:
    """Put it into a folder."""
    rendering.javascript()
    place.mkdir(parents=True, exist_ok=True)
    if (script := kept.in_home("vega.js")).exists():  # a home may keep nothing
        shutil.copy(script, place)
