"""What a file system would do on a cluster: docs/explanations/prediction.md, of files whose objects each lie
on other hosts.

From a profile's file, as `perjoule calibrate` writes it, and the catalogue's.
"""

from collections.abc import Mapping
from statistics import median
from typing import Any

from .catalogue import cluster, disks_bytes_per_s, si

DIRTY_RATIO = 0.2  # of the servers' memory: vm.dirty_ratio


def flows(copies_count: int, direction: str) -> Mapping[str, float]:
    """Bytes on networks and disks for a user byte, of copies that servers pass on."""
    if direction == "read":
        return {"client": 1.0, "servers": 1.0, "written": 0.0, "read": 1.0}
    return {"client": 1.0, "servers": float(copies_count), "written": float(copies_count), "read": 0.0}


def predicted(
    profile: Mapping[str, Any], on: str, copies_count: int, direction: str, clients_count: int
) -> dict[str, float]:
    """Throughput, watts of the servers, and work per joule of clients that move as much as where the
    profile was measured.
    """
    flow, fit, hardware = flows(copies_count, direction), profile["known"][direction]["fit"], cluster(on)
    servers_work = fit["works"]["server_mips_s_per_byte"] * flow["servers"]
    client_bytes = max(point["case"]["client_bytes"] for point in profile["points"])
    measured = {kept["copies_count"]: ratio for kept, ratio in fit["uneven"]}  # of copies alone, here
    e = measured[copies_count] if copies_count in measured else median(measured.values() or [1.0])
    rate = clients_count * client_bytes / _took_s(fit, hardware, flow, clients_count, client_bytes, e)
    watts = _idle_w(hardware) + rate * _above_idle_j(hardware, flow, servers_work)
    return {"throughput_bytes_per_s": rate, "mean_w": watts, "efficiency_bytes_per_j": rate / watts}


def _took_s(
    fit: Mapping[str, Any],
    hardware: dict[str, Any],
    flow: Mapping[str, float],
    clients_count: int,
    client_bytes: float,
    e: float,
) -> float:
    """Until the data have been read, or disks hold what was written."""
    way, works, moved_bytes = fit["way"], fit["works"], clients_count * client_bytes
    store, client = (next(n for n in hardware["node"] if n["role"] == role) for role in ("storage", "client"))
    board, client_board = (hardware["board"][one["board"]] for one in (store, client))
    hosts = store["count"]
    writes, reads = (disks_bytes_per_s(hardware, store["name"], kind) for kind in ("write", "read"))
    network_s = flow["servers"] / (hosts * si(board["nic"]))
    cpu_s = works["server_mips_s_per_byte"] * flow["servers"] / (hosts * si(board["mips"])) * way["cpu_ratio"]
    disks_s = (flow["written"] / writes + flow["read"] / reads) / hosts
    clients_s = max(
        flow["client"] / (clients_count * si(client_board["nic"])),
        works["client_mips_s_per_byte"] * flow["client"] / (clients_count * si(client_board["mips"])),
    )
    held_bytes, written_bytes, p = (
        DIRTY_RATIO * hosts * si(board["memory"]),
        moved_bytes * flow["written"],
        way["overlap"],
    )
    # reads leave nothing to be written
    u = min(1 - way["on_disk_ratio"], held_bytes / written_bytes) if written_bytes else 0.0
    served = (network_s**p + cpu_s**p + (disks_s * (1 - u)) ** p) ** (1 / p)
    longer = max(
        waiting(clients_count * way["in_flight"], hosts, e), hosts / (clients_count * way["at_once"])
    )
    return way["fixed_s"] + moved_bytes * (max(served * longer, clients_s) + u * e * disks_s)


def waiting(m: float, stations: float, e: float) -> float:
    """How much longer m transfers take over stations of which some have e times an equal share: w, by
    bisection.
    """
    full = max(1.0, min(stations / 2, stations / e))
    rest = max(0.0, (stations - full * e) / (stations - full))

    def holds(w: float) -> float:
        return sum(count * h / (w - h * (m - 1) / m) for count, h in ((full, e), (stations - full, rest)))

    low, high = max(e * (m - 1) / m, 0.0), 1e9
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) > m else (low, middle)
    return high


def _idle_w(hardware: dict[str, Any]) -> float:
    """Boards and disks of all servers, at the wall."""
    watts = 0.0
    for one in (n for n in hardware["node"] if n["role"] != "client"):
        disks_w = sum(si(hardware["disk"][name]["idle"]) for name in one.get("disks", []))
        watts += one["count"] * (si(hardware["board"][one["board"]]["idle"]) + disks_w)
    return watts / si(hardware["supply_efficiency"])


def _above_idle_j(hardware: dict[str, Any], flow: Mapping[str, float], servers_work: float) -> float:
    """The servers' joules for a user byte, at the wall: CPU work, and what disks do."""
    store = next(n for n in hardware["node"] if n["role"] == "storage")
    board, disks = hardware["board"][store["board"]], [hardware["disk"][name] for name in store["disks"]]
    more_w = sum(si(disk["active"]) - si(disk["idle"]) for disk in disks)
    disks_s = sum(
        flow[f] / disks_bytes_per_s(hardware, store["name"], way)
        for f, way in (("written", "write"), ("read", "read"))
    )
    return (servers_work * si(board["dynamic"]) / si(board["mips"]) + more_w * disks_s) / si(
        hardware["supply_efficiency"]
    )
