"""What several meter commands print: doubts, and a meter's table."""

from collections.abc import Mapping, Sequence

import tomlkit

from perjoule import drivers
from perjoule.cli.terminal.display import err
from perjoule.drivers.boundary import SWITCH
from perjoule.drivers.protocols import Meter
from perjoule.model import Json

_COVERS = 'what it feeds: hosts by name, "servers", "clients", "switch"'


def tell(doubts: Sequence[Sequence[str]]) -> None:
    """Print each doubt about the readings once."""
    for doubt in dict.fromkeys(doubt_text for lines in doubts for doubt_text in lines):
        err.print(doubt, style="yellow")


def complete(options: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a meter's table with what it covers, without a switch: only who wires it knows of one."""
    kind, rest = str(options["kind"]), {key: value for key, value in options.items() if key != "kind"}
    meter = drivers.build("meters", kind, rest)
    assert isinstance(meter, Meter)
    by_part = any(hosts for option, hosts in meter.named.items() if option != "covers")
    covers: list[Json] = [word for word in meter.named.get("covers", ()) if word != SWITCH and not by_part]
    return {**options, "covers": covers} if covers and "covers" not in options else options


def table_text(options: Mapping[str, Json]) -> str:
    """Write options as a complete [[meter]] table."""
    lines = tomlkit.dumps({"meter": [complete(options)]}).strip().splitlines()
    return "\n".join(f"{line}  # {_COVERS}" if line.startswith("covers = ") else line for line in lines)
