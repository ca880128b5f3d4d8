"""The catalogue's TOML files: what the hosts of a cluster are, in SI units."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILES = Path(__file__).parents[2] / "src" / "perjoule" / "catalogue"
UNITS = {
    "MiB/s": 2**20,
    "MB/s": 1e6,
    "GiB/s": 2**30,
    "GiB": 2**30,
    "W": 1.0,
    "Mbit/s": 1e6 / 8,
    "Gbit/s": 1e9 / 8,
}


@cache
def cluster(name: str) -> dict[str, Any]:
    """Read the file of a cluster with those of its boards, disks, switch and supply.

    Watts are as they are written: clusters whose boards state them at the wall have supplies without losses,
    and clients of the others are at the wall.
    """
    found = _read("clusters", name)
    boards = {node["board"] for node in found["node"]}
    drives = {drive for node in found["node"] for drive in node.get("drives", {})}
    for kind, folder, named in (("board", "boards", boards), ("drive", "drives", drives)):
        changed = found.get(kind, {})
        found[kind] = {part: _plain(_read(folder, part) | changed.get(part, {})) for part in named}
    found["disk"] = found.pop("drive")
    for one in found["node"]:
        one["disks"] = [disk for disk, count in one.get("drives", {}).items() for _ in range(count)]
    if "switch" in found:
        files = [tomllib.loads(path.read_text()) for path in (FILES / "switches").glob("*.toml")]
        switches = {name: switch for file in files for name, switch in file.get("switch", {}).items()}
        found["switch"] = switches[found["switch"]]["watts_at_wall"]
    else:
        found["switch"] = found["switch_at_wall"]
    if "supply_efficiency" not in found:
        storage = next(n for n in found["node"] if n["role"] == "storage")
        found["supply_efficiency"] = found["board"][storage["board"]]["supply_efficiency"]
    return _plain(found)


def _read(folder: str, name: str) -> dict[str, Any]:
    return tomllib.loads((FILES / folder / f"{name}.toml").read_text())


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key.removesuffix("_at_wall").removesuffix("_behind_supply"): value for key, value in table.items()
    }


def si(entry: Any) -> float:
    """Read a value of the catalogue: `{value = "4.3 W"}` is 4.3."""
    value = entry["value"] if isinstance(entry, dict) else entry
    if isinstance(value, str):
        number, unit = value.split()
        return float(number) * UNITS[unit]
    return float(value)


def node(catalogue: dict[str, Any], name: str) -> dict[str, Any]:
    """Find a node by its name: its board and disks by their names."""
    return next(n for n in catalogue["node"] if n["name"] == name)


def disks_bytes_per_s(catalogue: dict[str, Any], name: str, way: str) -> float:
    """What all disks of a node can write or read together."""
    return sum(si(catalogue["disk"][disk][way]) for disk in node(catalogue, name).get("disks", []))


def peak_bytes_per_s(catalogue: dict[str, Any], nodes: list[str]) -> float:
    """The theoretical peak of data hosts, each by its node: the sum over them of the smaller of network
    and disks.
    """
    nics = {name: si(catalogue["board"][node(catalogue, name)["board"]]["nic"]) for name in set(nodes)}
    return sum(min(nics[name], disks_bytes_per_s(catalogue, name, "write")) for name in nodes)
