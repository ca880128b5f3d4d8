"""The catalogue's TOML files: what the hosts of a cluster are, in SI units."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILES = Path(__file__).parents[2] / "src" / "perjoule" / "catalogue"
UNITS = {"MiB/s": 2**20, "MB/s": 1e6, "GiB": 2**30, "W": 1.0, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8}


@cache
def cluster(name: str) -> dict[str, Any]:
    """Read the file of a cluster as it is."""
    return tomllib.loads((FILES / f"{name}.toml").read_text())


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
    """The theoretical peak of data hosts, each by its node: the sum over them of the smaller of network and disks."""
    nics = {name: si(catalogue["board"][node(catalogue, name)["board"]]["nic"]) for name in set(nodes)}
    return sum(min(nics[name], disks_bytes_per_s(catalogue, name, "write")) for name in nodes)
