"""What people call the parts of a plan."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from perjoule.planning.parts import Parts

_TABLES = ("server", "drive", "network", "switch", "filesystem")


def titles(parts: Parts) -> dict[str, str]:
    """Map the parts, "server orange-pi-5-max", to what people call them: "Orange Pi 5 Max".

    That is a part's title without what follows in brackets or behind a comma, if no other part is called so; else
    its whole title; else, or without a title, its name. So no two parts of a table are called alike.
    """
    whole = {
        f"{table} {name}": part.title or name
        for table in _TABLES
        for name, part in _named(parts, table).items()
    }
    short = {key: title.partition(" (")[0].partition(",")[0] for key, title in whole.items()}
    short_counts, whole_counts = Counter(short.values()), Counter(whole.values())
    return {
        key: title
        if short_counts[title] == 1
        else whole[key]
        if whole_counts[whole[key]] == 1
        else key.partition(" ")[2]
        for key, title in short.items()
    }


def _named(parts: Parts, table: str) -> Mapping[str, Any]:
    return getattr(parts, table)
