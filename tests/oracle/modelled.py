"""Modelled watts from hosts' counters and the catalogue: docs/explanations/how-numbers-are-made.md,
"Modelled watts".
"""

from typing import Any

import numpy as np
import pandas as pd

from .catalogue import cluster, disks_bytes_per_s, node, si
from .folder import Attempt

SAME_S = 1e-7  # apart, two moments are the same reading


def modelled(attempt: Attempt) -> pd.DataFrame:
    """Each modelled sample that lies between two readings which the meter `system` has, too: `theirs` and
    `own`, in W.
    """
    samples = attempt.samples[(attempt.samples["meter"] == "modelled") & (attempt.samples["host"] != "")]
    tables = [
        _own(attempt, str(host), str(component), group)
        for (host, component), group in samples.groupby(["host", "component"])
        if component in ("board", "disks", "supply") and ("cpu", host) in attempt.counters
    ]
    return (
        pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["metric", "theirs", "own"])
    )


def _own(attempt: Attempt, host: str, component: str, samples: pd.DataFrame) -> pd.DataFrame:
    end_s, length_s = samples["t_s"].to_numpy(), samples["duration_s"].to_numpy()
    read_s = attempt.counters["cpu", host]["t_s"].to_numpy()
    known = (_distance_s(read_s, end_s) < SAME_S) & (_distance_s(read_s, end_s - length_s) < SAME_S)
    watts = power_w(attempt, host, component, end_s[known] - length_s[known], end_s[known])
    return pd.DataFrame(
        {
            "metric": f"modelled {component} of {host}",
            "theirs": samples["value"].to_numpy()[known],
            "own": watts,
        }
    )


def _distance_s(read_s: np.ndarray, moments_s: np.ndarray) -> np.ndarray:
    return np.abs(read_s[:, None] - moments_s[None, :]).min(axis=0)


def power_w(
    attempt: Attempt, host: str, component: str, began_s: np.ndarray, ended_s: np.ndarray
) -> np.ndarray:
    """Mean power of a part of a host between pairs of readings."""
    catalogue = cluster(attempt.record["cluster"])
    fact = next(h for h in attempt.record["hosts"] if h["name"] == host)
    made = node(catalogue, fact["node"])
    board = catalogue["board"][made["board"]]
    length_s = ended_s - began_s
    cpu = _risen(attempt, "cpu", host, began_s, ended_s) / length_s / capacity_cores(attempt, fact, board)
    board_w = si(board["idle"]) + si(board["dynamic"]) * cpu
    disks_w = np.zeros(len(length_s))
    if made.get("disks"):
        seconds = sum(
            _risen(attempt, quantity, host, began_s, ended_s)
            / disks_bytes_per_s(catalogue, fact["node"], way)
            for quantity, way in (("disk_read", "read"), ("disk_written", "write"))
        )
        use = seconds / length_s / attempt.record["scale"]
        for disk in (catalogue["disk"][name] for name in made["disks"]):
            disks_w = disks_w + si(disk["idle"]) + (si(disk["active"]) - si(disk["idle"])) * use
    supply_w = (board_w + disks_w) * (1 / si(catalogue["supply_efficiency"]) - 1)
    return {"board": board_w, "disks": disks_w, "supply": supply_w}[component]


def capacity_cores(attempt: Attempt, host: dict[str, Any], board: dict[str, Any]) -> float:
    """How many CPU seconds a second are all of a host: of a virtual one by 7-zip ratings, else its cores."""
    rating = attempt.record["facts"]["testbed"].get("machine_mips_per_core")
    return si(board["mips"]) * attempt.record["scale"] / rating if rating else host["cpu_capacity_cores"]


def _risen(
    attempt: Attempt, quantity: str, host: str, began_s: np.ndarray, ended_s: np.ndarray
) -> np.ndarray:
    if (quantity, host) not in attempt.counters:
        return np.zeros(len(began_s))
    table = attempt.counters[quantity, host]
    ends = [np.interp(t, table["t_s"].to_numpy(), table["value"].to_numpy()) for t in (began_s, ended_s)]
    return ends[1] - ends[0]
