"""The numbers of a trial without a load: docs/explanations/how-numbers-are-made.md, "Idle"."""

from typing import Any

import numpy as np
import pandas as pd

from .boundary import Devices, boundaries
from .catalogue import cluster, node
from .folder import Attempt
from .numbers import MOVED, ROLES, disks, grade, risen, strangers, tail, total
from .sides import devices, pieces, processors_j, sides

TERA = 1e12


def numbers(attempt: Attempt, results: list[dict[str, Any]]) -> dict[str, float]:
    """Recompute what perjoule prints of one idle trial."""
    began_s, ended_s = min(r["began_s"] for r in results), max(r["ended_s"] for r in results)
    scale = attempt.record["scale"]
    duration_s = (ended_s - began_s) * scale
    found = {key: part_j * scale for key, part_j in pieces(attempt, began_s, ended_s).items()} | {
        "duration_s": duration_s
    }
    raw_bytes, usable_bytes = capacities(attempt)
    energies_j = {prefix: total(attempt, of, began_s, ended_s) for prefix, of in boundaries(attempt).items()}
    energies_j["cpu_package_"] = processors_j(attempt, attempt.hosts("servers"), began_s, ended_s)
    for prefix, wall_j in (energies_j | sides(attempt, began_s, ended_s)).items():
        watts = wall_j / (ended_s - began_s)
        found |= {f"{prefix}energy_j": wall_j * scale, f"{prefix}mean_w": watts, f"{prefix}idle_w": watts}
        found |= {
            f"{prefix}raw_w_per_byte": watts / raw_bytes,
            f"{prefix}usable_w_per_byte": watts / usable_bytes,
        }
        found[f"{prefix}usable_bytes_per_w"] = usable_bytes / watts
    for role in ROLES:
        found |= by_role(attempt, role, attempt.part(role), began_s, ended_s)
    found |= disks(attempt, began_s, ended_s) | tail(attempt) | {"strangers_cpu_ratio": strangers(attempt)}
    found |= attempt.record["outcome"].get("measured", {})
    return {key: value for key, value in found.items() if not np.isnan(value)}


def capacities(attempt: Attempt) -> tuple[float, float]:
    """Bytes of the disks of the data hosts, and what redundancy leaves of them; NaN where they are not
    known.
    """
    if not attempt.record.get("hardware") or not attempt.record.get("redundancy"):
        return np.nan, np.nan
    catalogue, kept = cluster(attempt.record["cluster"]), attempt.record["redundancy"]
    of = {h["name"]: h["node"] for h in attempt.record["hosts"]}
    sizes = [
        sum(_terabytes(catalogue["disk"][disk]) for disk in node(catalogue, of[h])["disks"])
        for h in attempt.data_hosts
    ]
    parts = kept["data_count"] + kept["parity_count"]
    usable = kept["data_count"] / parts if parts else 1 / kept["copies_count"]
    alike = min(sizes, default=np.nan) * len(sizes)
    return sum(sizes) * TERA, alike * TERA * usable / kept["beneath_count"]


def has_disks(attempt: Attempt, host: str) -> bool:
    """Whether a host has a disk in the catalogue, or no hardware in it at all."""
    of = {h["name"]: h["node"] for h in attempt.record["hosts"]}
    if not attempt.record.get("hardware") or not of[host]:
        return True
    return bool(node(cluster(attempt.record["cluster"]), of[host]).get("disks"))


def _terabytes(disk: Any) -> float:
    value = disk["capacity"]["value"] if isinstance(disk["capacity"], dict) else disk["capacity"]
    size, unit = value.split()
    return float(size) * {"TB": 1.0, "GB": 1e-3}[unit]


def by_role(
    attempt: Attempt, role: str, hosts: list[str], began_s: float, ended_s: float
) -> dict[str, float]:
    """What the hosts of a role draw and do together, by emulated second, and the gaps between accesses to
    their disks.
    """
    if not hosts:
        return {}
    length_s = (ended_s - began_s) * attempt.record["scale"]
    own: Devices = devices(attempt, hosts)
    only = None if role == "client" else grade(attempt)  # the servers' watts are of the grade of the headline
    found = {f"idle_{role}_w": total(attempt, own, began_s, ended_s, only) / (ended_s - began_s)}
    found[f"idle_cpu_{role}_ratio"] = risen(attempt, "cpu", hosts, began_s, ended_s) / length_s
    found[f"idle_switches_{role}_hz"] = risen(attempt, "switches", hosts, began_s, ended_s) / length_s
    for quantity in MOVED:
        found[f"idle_{quantity}_{role}_bytes_per_s"] = (
            risen(attempt, quantity, hosts, began_s, ended_s) / length_s
        )
    spinning = [host for host in hosts if has_disks(attempt, host)]
    tables = [
        [attempt.counters.get((way, host)) for way in ("disk_read", "disk_written")] for host in spinning
    ]
    known = [[t for t in pair if t is not None] for pair in tables]
    gaps = [
        gaps_s(pair, began_s, ended_s)
        for pair in known
        if len(pair) == 2 and any(t["value"].iloc[-1] for t in pair)
    ]
    if gaps:
        least_s = attempt.record["outcome"]["measured"]["least_gap_s"] / attempt.record["scale"]
        found[f"longest_gap_{role}_s"] = (
            max((gap for own in gaps for gap in own), default=0.0) * attempt.record["scale"]
        )
        long = sum(gap for own in gaps for gap in own if gap >= least_s)
        found[f"sleepable_{role}_ratio"] = long / (len(gaps) * (ended_s - began_s))
    return found


def gaps_s(pair: list[pd.DataFrame], began_s: float, ended_s: float) -> list[float]:
    """The runs of steps in which neither counter rose, in wall time, cut to the window."""
    moments = np.unique(np.concatenate([table["t_s"] for table in pair]))
    low, high = moments[:-1], moments[1:]
    rose = np.any([_rose(table, low, high) for table in pair], axis=0)
    still_s = np.where(rose, 0.0, (np.minimum(high, ended_s) - np.maximum(low, began_s)).clip(min=0))
    runs_s = np.bincount(np.cumsum(rose), still_s)
    return runs_s[runs_s > 0].tolist()


def _rose(table: pd.DataFrame, low_s: np.ndarray, high_s: np.ndarray) -> np.ndarray:
    """Whether a counter rose in each step, between its last reading until then and its first one from then
    on.
    """
    t_s, value = table["t_s"].to_numpy(), table["value"].to_numpy()
    before, after = np.searchsorted(t_s, low_s, "right") - 1, np.searchsorted(t_s, high_s, "left")
    known = (before >= 0) & (after < len(t_s))
    return known & (value[before] != value[after.clip(max=len(t_s) - 1)])
