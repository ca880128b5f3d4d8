"""All metrics of a trial in one direction, in emulated time: docs/explanations/how-numbers-are-made.md."""

import json
import tomllib
from typing import Any

import numpy as np
import pandas as pd

from .boundary import Devices, boundaries, cover
from .catalogue import cluster, disks_bytes_per_s, node, peak_bytes_per_s, si
from .energy import amount, beside_idle, joules
from .folder import Attempt
from .latencies import of_users, percentile_s
from .sides import pieces, processors_j, sides

AHEAD_S = 0.4  # before the window, from which bytes on networks and disks are counted
TOGETHER_RATIO = 0.1  # of the window, below which clients did not load together
LOG_RATIO = 0.05  # of a client's bytes, by which its log may be off
LOGGED_RATIO = 0.99  # of the calls, that logs of them must have
ABOVE_RATIO = 1.02  # of what hardware can, above which it did not
UNSURE_RATIO = 0.5  # of CPU time, above which it is not known which part of it is the load's
LEAST_CORES = 0.001  # of a role: half of less is nothing
AFTER_RATIO = 0.05  # of its burst, by which all else may end after a write that is one
PER_BURST = ["energy_j", "mean_w", "efficiency_bytes_per_j"]
BURST = [
    "duration_s",
    "throughput_bytes_per_s",
    "tpp_ratio",
    "edp_js",
    *(f"{p}{n}" for p in ("", "clients_", "all_") for n in PER_BURST),
]
MOVED = ["network_received", "network_sent", "disk_read", "disk_written"]
ROLES = ["storage", "servers", "metadata", "management", "client"]


def directions(attempt: Attempt) -> dict[str, list[dict[str, Any]]]:
    """The results of each row that a trial gives: one for each direction, or one of all users."""
    results = attempt.record["outcome"]["results"]
    if any(r.get("user") for r in results):
        found = {r["direction"] for r in results}
        return {found.pop() if len(found) == 1 else "mixed": results}
    return {
        d: [r for r in results if r["direction"] == d] for d in dict.fromkeys(r["direction"] for r in results)
    }


def numbers(
    attempt: Attempt, direction: str, results: list[dict[str, Any]], edp_weight: int = 1
) -> dict[str, float]:
    """Recompute what perjoule prints of one trial; what the definitions refuse is not there."""
    began_s, ended_s = min(r["began_s"] for r in results), max(r["ended_s"] for r in results)
    headline_s = durable_s(attempt, results)
    went = pieces(attempt, began_s, headline_s)
    found = {key: part_j * attempt.record["scale"] for key, part_j in went.items()}
    found |= over(attempt, results, began_s, headline_s, edp_weight)
    if headline_s != ended_s:
        burst = over(attempt, results, began_s, ended_s, edp_weight)
        found |= {f"burst_{key}": burst[key] for key in BURST}
        found["durable_ratio"] = durable_ratio(attempt, ended_s, headline_s)
    found["common_throughput_bytes_per_s"] = possible(
        attempt, common(attempt, results) / attempt.record["scale"]
    )
    found |= latencies(attempt, results) | derived(attempt, direction)
    found |= (
        overhead(attempt, sum(r["moved_bytes"] for r in results), began_s, headline_s)
        | disks(attempt, began_s, headline_s)
        | tail(attempt)
    )
    found |= dynamic(attempt, results, found) | {"strangers_cpu_ratio": strangers(attempt)}
    return {key: value for key, value in found.items() if not np.isnan(value)}


def over(
    attempt: Attempt, results: list[dict[str, Any]], began_s: float, ended_s: float, weight: int
) -> dict[str, float]:
    """Rates and energies of one window, of all clients together."""
    moved = sum(r["moved_bytes"] for r in results)
    duration_s = (ended_s - began_s) * attempt.record["scale"]
    rated = moved if overlap_ratio(results) >= TOGETHER_RATIO else np.nan
    found = {
        "duration_s": duration_s,
        "throughput_bytes_per_s": rated / duration_s,
        "tpp_bytes_per_s": tpp(attempt),
    }
    found["tpp_ratio"] = rated / duration_s / found["tpp_bytes_per_s"]
    energies_j = {
        prefix: total(attempt, devices, began_s, ended_s) for prefix, devices in boundaries(attempt).items()
    }
    energies_j["cpu_package_"] = processors_j(attempt, attempt.hosts("servers"), began_s, ended_s)
    for prefix, wall_j in (energies_j | sides(attempt, began_s, ended_s)).items():
        energy_j = wall_j * attempt.record["scale"]
        found |= {f"{prefix}energy_j": energy_j, f"{prefix}mean_w": energy_j / duration_s}
        found[f"{prefix}efficiency_bytes_per_j"] = rated / energy_j
    return found | {"edp_js": found["energy_j"] * duration_s**weight * rated / moved}


def durable_s(attempt: Attempt, results: list[dict[str, Any]]) -> float:
    """When the servers' disks held what was written; the last client's end of reads, and where that moment
    is not known.
    """
    everyone, phase = attempt.record["outcome"]["results"], attempt.phase("write-back")
    began_s, ended_s = min(r["began_s"] for r in results), max(r["ended_s"] for r in results)
    late = max(r["ended_s"] for r in everyone) > ended_s + AFTER_RATIO * (ended_s - began_s)
    known = phase and any(r["direction"] == "write" for r in results) and not late
    return phase[1] if phase and known and not attempt.record["outcome"].get("sustained") else ended_s


def durable_ratio(attempt: Attempt, ended_s: float, headline_s: float) -> float:
    """The share of what the disks wrote by the headline's end that was on them when the burst ended."""
    began_s = before_s(attempt)
    first, last = (
        risen(attempt, "disk_written", attempt.hosts("servers"), began_s, end_s)
        for end_s in (ended_s, headline_s)
    )
    return first / last if last else np.nan


def before_s(attempt: Attempt) -> float:
    """The moment from which bytes on networks and disks are counted: shortly before the baseline's end."""
    baseline = attempt.phase("baseline")
    return max(baseline[1] - AHEAD_S, baseline[0]) if baseline else np.nan


def latencies(attempt: Attempt, results: list[dict[str, Any]]) -> dict[str, float]:
    """Percentiles of the clients, averaged by their operations; of several users or directions those of all calls."""
    scale = attempt.record["scale"]
    if len({(r.get("user", ""), r["direction"]) for r in results}) > 1:
        calls = of_users(attempt, results)
        if calls["calls"].sum() < LOGGED_RATIO * sum(r["operations_count"] for r in results):
            return {}
        return {f"latency_p{p}_s": percentile_s(calls, p, -np.inf, np.inf) * scale for p in (50, 99)}
    counts = [r["operations_count"] for r in results]
    # not every engine states them
    stated = [p for p in ("p50", "p99") if all(p in r["latency_s"] for r in results)]
    return {
        f"latency_{p}_s": float(np.average([r["latency_s"][p] for r in results], weights=counts)) * scale
        for p in stated
    }


def derived(attempt: Attempt, direction: str) -> dict[str, float]:
    """What redundancy alone explains."""
    flows = (attempt.record.get("amplification") or {}).get(direction, {})
    names = {"network_sent_client": "client_sent", "network_received_client": "client_received"}
    names |= {"network_received_servers": "storage_received", "network_sent_servers": "storage_sent"}
    names |= {"disk_written_servers": "disk_written", "disk_read_servers": "disk_read"}
    return {f"derived_{name}_ratio": flows[f"{flow}_ratio"] for name, flow in names.items() if flows}


def total(
    attempt: Attempt, devices: Devices, began_s: float, ended_s: float, only: str | None = None
) -> float:
    """The energy of devices, in wall time; NaN where no sum of channels (of the grade `only`) has it."""
    chosen = cover(attempt, devices, only)
    edges_j = sum(sign * beside_idle(samples, began_s, ended_s, attempt.idle) for sign, samples in chosen)
    return (
        edges_j + sum(sign * joules(samples, began_s, ended_s) for sign, samples in chosen)
        if chosen
        else np.nan
    )


def common(attempt: Attempt, results: list[dict[str, Any]]) -> float:
    """Bytes by wall second while all clients ran, by their logs; NaN where they hardly did, or where a log
    has other bytes.
    """
    began_s, ended_s = max(r["began_s"] for r in results), min(r["ended_s"] for r in results)
    log = attempt.samples[attempt.samples["quantity"] == "goodput"]
    if overlap_ratio(results) < TOGETHER_RATIO or log.empty:
        return np.nan
    for one in results:
        own = log[log["host"] == one["host"]]
        if abs((own["value"] * own["duration_s"]).sum() / one["moved_bytes"] - 1) > LOG_RATIO:
            return np.nan
    end_s = log["t_s"].to_numpy()
    inside_s = (np.minimum(end_s, ended_s) - np.maximum(end_s - log["duration_s"].to_numpy(), began_s)).clip(
        min=0
    )
    return float(log["value"].to_numpy() @ inside_s) / (ended_s - began_s)


def possible(attempt: Attempt, rate: float) -> float:
    """A rate while all clients ran; NaN above what the servers or the clients' networks can, for then
    caches took the bytes.
    """
    most = [tpp(attempt)]
    if attempt.record["cluster"] and not set(attempt.loading) & set(attempt.data_hosts):
        catalogue = cluster(attempt.record["cluster"])
        nodes = [h["node"] for h in attempt.record["hosts"] if h["name"] in attempt.loading]
        most.append(
            sum(si(catalogue["board"][node(catalogue, name)["board"]]["nic"]) for name in nodes if name)
        )
    return np.nan if any(rate > ABOVE_RATIO * one for one in most) else rate


def overlap_ratio(results: list[dict[str, Any]]) -> float:
    """The time in which all clients loaded, over the window."""
    began_s, ended_s = [r["began_s"] for r in results], [r["ended_s"] for r in results]
    return max(min(ended_s) - max(began_s), 0) / (max(ended_s) - min(began_s))


def tpp(attempt: Attempt) -> float:
    """The least that data hosts and clients can do; NaN where clients hold the data, it is elsewhere, or a
    host has no node.
    """
    nodes = [h["node"] for h in attempt.record["hosts"] if h["name"] in attempt.data_hosts]
    if attempt.clients_store or not attempt.data_hosts or not attempt.record["cluster"] or not all(nodes):
        return np.nan
    catalogue = cluster(attempt.record["cluster"])
    loading = [(h["role"], h["node"]) for h in attempt.record["hosts"] if h["name"] in attempt.loading]
    bounded = loading and all(role == "client" and name for role, name in loading)
    nics = [si(catalogue["board"][node(catalogue, name)["board"]]["nic"]) for _, name in loading if name]
    return min(peak_bytes_per_s(catalogue, nodes), sum(nics) if bounded else np.inf)


def risen(attempt: Attempt, quantity: str, hosts: list[str], began_s: float, ended_s: float) -> float:
    """By how much the counters of hosts rose together; NaN where none of them tells, or one does not cover
    95 % of the time.
    """
    tables = [attempt.counters[quantity, host] for host in hosts if (quantity, host) in attempt.counters]
    return sum(amount(table, began_s, ended_s) for table in tables) if tables else np.nan


def overhead(attempt: Attempt, moved: int, began_s: float, ended_s: float) -> dict[str, float]:
    """CPU time of each role in the window per byte of a user, and bytes from shortly before the baseline's
    end to the tail's.
    """
    found: dict[str, float] = {}
    after = attempt.phase("tail")
    if not (attempt.phase("baseline") and after and moved):
        return found
    part = attempt.record["outcome"].get("sustained")
    for role in ROLES:
        hosts = attempt.part(role)
        for quantity in MOVED:
            span = (began_s, ended_s) if part else (before_s(attempt), after[1])
            found[f"{quantity}_{role}_ratio"] = risen(attempt, quantity, hosts, *span) / moved
        cpu_s = risen(attempt, "cpu", hosts, began_s, ended_s)
        tables = [attempt.counters["cpu", host] for host in hosts if ("cpu", host) in attempt.counters]
        more_s, less_s = (
            np.sum([cut_s(table, began_s, ended_s) for table in tables], axis=0)
            if tables
            else (np.nan, np.nan)
        )
        if max(more_s, less_s) <= max(UNSURE_RATIO * cpu_s, LEAST_CORES * (ended_s - began_s)):
            found[f"cpu_{role}_s_per_byte"] = cpu_s / moved
            found[f"cpu_{role}_uncertainty_s_per_byte"] = max(more_s, less_s) / moved
    return found


def cut_s(table: pd.DataFrame, began_s: float, ended_s: float) -> tuple[float, float]:
    """Of the steps of a counter that the ends of a window cut: what lies outside by an even pace, and what
    inside.
    """
    t_s, value = table["t_s"].to_numpy(), table["value"].to_numpy()
    at = np.interp([began_s, ended_s], t_s, value)
    around = value[t_s <= began_s][-1], value[t_s >= ended_s][0]
    within = value[(t_s >= began_s) & (t_s <= ended_s)]
    inner = within[-1] - within[0] if len(within) else 0.0
    return float(at[0] - around[0] + around[1] - at[1]), float(at[1] - at[0] - inner)


def disks(attempt: Attempt, began_s: float, ended_s: float) -> dict[str, float]:
    """How busy the disks of a role were, and how much of what the catalogue's disks can they moved."""
    found: dict[str, float] = {}
    for role in ("storage", "metadata", "management", "client"):
        hosts = attempt.part(role)
        busy_s = risen(attempt, "disk_busy", hosts, began_s, ended_s)
        found[f"disk_busy_{role}_ratio"] = busy_s / (ended_s - began_s) / max(len(hosts), 1)
        found[f"disk_use_{role}_ratio"] = use(attempt, hosts, began_s, ended_s)
    return found


def use(attempt: Attempt, hosts: list[str], began_s: float, ended_s: float) -> float:
    """What the disks of hosts moved, by what those of the catalogue can; NaN where it has none for one of
    the hosts.
    """
    nodes = [h["node"] for h in attempt.record["hosts"] if h["name"] in hosts]
    if not nodes or not all(nodes):
        return np.nan
    catalogue, seconds = cluster(attempt.record["cluster"]), 0.0
    for quantity, way in (("disk_written", "write"), ("disk_read", "read")):
        each = [disks_bytes_per_s(catalogue, name, way) for name in nodes]
        if not all(each):
            return np.nan
        seconds += risen(attempt, quantity, hosts, began_s, ended_s) / sum(each)
    return seconds / (ended_s - began_s) / attempt.record["scale"]


def tail(attempt: Attempt) -> dict[str, float]:
    """What happened from the load's end until the servers were quiet."""
    phase, servers = attempt.phase("tail"), attempt.part("servers")
    if not phase:
        return {}
    scale = attempt.record["scale"]
    found = {
        "tail_s": (phase[1] - phase[0]) * scale,
        "tail_energy_j": total(attempt, boundaries(attempt)[""], *phase) * scale,
    }
    for quantity in ("network_received", "disk_read", "disk_written"):
        found[f"tail_{quantity}_bytes"] = risen(attempt, quantity, servers, *phase)
    return found


def strangers(attempt: Attempt) -> float:
    """The share of the machine's CPU time that programs took which do not belong to the trial, while
    clients loaded.
    """
    results = attempt.record["outcome"]["results"]
    began_s, ended_s = min(r["began_s"] for r in results), max(r["ended_s"] for r in results)
    parts = {part: attempt.machine(part) for part in ("machine", "perjoule", "kernel")}
    cores, tail = attempt.record["environment"].get("cores_count"), attempt.phase("tail")
    if not cores or not tail or any(table.empty for table in parts.values()):
        return np.nan
    covers = json.loads(parts["machine"]["more"].iloc[0] or "{}").get("covers", [])
    hosts = [h["name"] for h in attempt.record["hosts"] if h["name"] not in covers]
    own_span = (before_s(attempt), tail[1]) if covers else (began_s, ended_s)
    own_s = amount(parts["perjoule"], *own_span) + (
        risen(attempt, "cpu", hosts, began_s, ended_s) if hosts else 0.0
    )
    kernel_s = parts["kernel"]["value"].iloc[-1] - parts["kernel"]["value"].iloc[0]
    left_s = amount(parts["machine"], began_s, ended_s) - own_s - kernel_s
    return max(0.0, left_s) / (cores * (ended_s - began_s))


def dynamic(attempt: Attempt, results: list[dict[str, Any]], found: dict[str, float]) -> dict[str, float]:
    """Net energy without what the same servers draw idle, before the load and at the quiet end of the
    tail.
    """
    if len(attempt.idle) < 2 or np.isnan(found["energy_j"]):
        return {}
    watts = [total(attempt, boundaries(attempt)[""], *span) / (span[1] - span[0]) for span in attempt.idle]
    if np.isnan(watts).any():
        return {}
    energy_j = found["energy_j"] - float(np.mean(watts)) * found["duration_s"]
    moved = found["efficiency_bytes_per_j"] * found["energy_j"]
    names = ("energy_j", "mean_w", "efficiency_bytes_per_j")
    values = (energy_j, energy_j / found["duration_s"], moved / energy_j)
    return {f"dynamic_{name}": value for name, value in zip(names, values, strict=True)}


def widening(campaign: str) -> float:
    """How much wider intervals are that decided when to stop: docs/explanations/how-numbers-are-made.md,
    "Intervals".
    """
    asked = tomllib.loads(campaign)
    if "until" not in asked:
        return 1.0
    return 1.2 if asked.get("repetitions", 5) < 5 else 1.15


def edp_weight(campaign: str) -> int:
    """The weight of time in the energy-delay product."""
    return tomllib.loads(campaign).get("edp_weight", 1)


def grade(attempt: Attempt) -> str:
    """How the power of the servers came about; "" if it is missing."""
    chosen = cover(attempt, boundaries(attempt)[""])
    return chosen[0][1]["grade"].iloc[0] if chosen else ""


def timed(attempt: Attempt) -> bool:
    """Whether the load ended by time, so that each trial did as much as it could."""
    return "ended by duration" in attempt.record["outcome"].get("note", "")
