"""The uncertainty of modelled joules: docs/explanations/uncertainty.md, "Modelled watts", of real servers."""

from collections import defaultdict
from typing import Any

from .catalogue import cluster, node, si
from .energy import joules
from .folder import Attempt


def errors_j(attempt: Attempt, began_s: float, ended_s: float, *, switch: bool) -> dict[str, float]:
    """Of the servers' energy in a window, without or with the switch, one standard uncertainty by each
    coefficient's name.
    """
    hardware = cluster(attempt.record["cluster"])
    slopes, known = _slopes(attempt, hardware, began_s, ended_s), _coefficients(hardware)
    slopes["switch"] = (ended_s - began_s) * switch
    followed = defaultdict[str, float](float)
    for name, entry in known.items():
        for other, by in entry.get("follows", {}).items():
            followed[other] += slopes[name] * by
    return {
        name: abs(slopes[name] + followed[name]) * si(entry.get("sigma", 0.0))
        for name, entry in known.items()
    }


def _slopes(
    attempt: Attempt, hardware: dict[str, Any], began_s: float, ended_s: float
) -> defaultdict[str, float]:
    """Joules at the wall by the unit of each coefficient, of all servers."""
    efficiency, long_s, slopes = (
        si(hardware["supply_efficiency"]),
        ended_s - began_s,
        defaultdict[str, float](float),
    )
    for host in (h for h in attempt.record["hosts"] if h["role"] != "client"):
        made = node(hardware, host["node"])
        board, disks = (
            hardware["board"][made["board"]],
            [hardware["disk"][name] for name in made.get("disks", [])],
        )
        board_j, disks_j = (
            _joules(attempt, host["name"], part, began_s, ended_s) for part in ("board", "disks")
        )
        slopes[f"idle of board {made['board']}"] += long_s / efficiency
        more_j = board_j - si(board["idle"]) * long_s
        slopes[f"dynamic of board {made['board']}"] += more_j / (si(board["dynamic"]) * efficiency)
        slopes["supply efficiency"] -= (board_j + disks_j) / efficiency**2
        idle_w, more_w = (
            sum(si(d["idle"]) for d in disks),
            sum(si(d["active"]) - si(d["idle"]) for d in disks),
        )
        worked_s = (disks_j - long_s * idle_w) / more_w if disks else 0.0
        for name in made.get("disks", []):
            slopes[f"idle of disk {name}"] += (long_s - worked_s) / efficiency
            slopes[f"active of disk {name}"] += worked_s / efficiency
    return slopes


def _joules(attempt: Attempt, host: str, component: str, began_s: float, ended_s: float) -> float:
    own = [
        group
        for group in attempt.powers
        if (group["host"].iloc[0], group["component"].iloc[0]) == (host, component)
    ]
    return sum(joules(group, began_s, ended_s) for group in own)


def _coefficients(hardware: dict[str, Any]) -> dict[str, Any]:
    """The catalogue's entries by the names that `follows` has; the rating of real hosts is none."""
    servers = [n for n in hardware["node"] if n["role"] != "client"]
    found = {"switch": hardware["switch"], "supply efficiency": hardware["supply_efficiency"]}
    found |= {"load": hardware["load"]} if "load" in hardware else {}
    for name in {n["board"] for n in servers}:
        found |= {f"{way} of board {name}": hardware["board"][name][way] for way in ("idle", "dynamic")}
    for name in {disk for n in servers for disk in n.get("disks", [])}:
        found |= {f"{way} of disk {name}": hardware["disk"][name][way] for way in ("idle", "active")}
    return found
