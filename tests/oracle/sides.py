"""Energy of the clients, of all, and of the pieces: docs/explanations/how-numbers-are-made.md, "Both
sides" and what follows.
"""

import numpy as np

from .boundary import GRADES, SWITCH, Channels, Devices, cover, covered, parts
from .catalogue import cluster, node, si
from .energy import beside_idle, joules
from .folder import Attempt

UNSPLITTABLE = ["simulated", "modelled", "nameplate"]  # by meters


def devices(attempt: Attempt, hosts: list[str]) -> Devices:
    """What hosts are made of."""
    return frozenset[tuple[str, str]]().union(*(parts(attempt, host) for host in hosts))


def only_loading(attempt: Attempt) -> list[str]:
    """The hosts of the record that ran the load and are no servers."""
    return [
        host for host in attempt.loading if host in attempt.roles and host not in attempt.hosts("servers")
    ]


def summed(attempt: Attempt, channels: Channels, began_s: float, ended_s: float) -> float:
    """The energy of channels with their signs; NaN of none."""
    edges_j = sum(sign * beside_idle(samples, began_s, ended_s, attempt.idle) for sign, samples in channels)
    return (
        edges_j + sum(sign * joules(samples, began_s, ended_s) for sign, samples in channels)
        if channels
        else np.nan
    )


def grade(channels: Channels) -> int:
    """The place of the worst grade of channels."""
    return max((GRADES.index(samples["grade"].iloc[0]) for _, samples in channels), default=len(GRADES))


def sides(attempt: Attempt, began_s: float, ended_s: float) -> dict[str, float]:
    """The energy of the clients and of all in wall time, by the prefix of their metrics."""
    servers, clients = attempt.hosts("servers"), only_loading(attempt)
    own, others = cover(attempt, devices(attempt, servers)), cover(attempt, devices(attempt, clients))
    all_j = summed(attempt, own, began_s, ended_s) + (
        summed(attempt, others, began_s, ended_s) if clients else 0.0
    )
    worse = max(grade(own), grade(others) if clients else 0)
    if clients and any(
        _spans(covered(samples.iloc[0], attempt), servers, clients) for samples in attempt.powers
    ):
        together = cover(attempt, devices(attempt, [*servers, *clients]))
        if not np.isnan(found_j := summed(attempt, together, began_s, ended_s)) and (
            np.isnan(all_j) or grade(together) <= worse
        ):
            all_j = found_j
    apart = set(attempt.loading).isdisjoint(servers)
    return {"clients_": summed(attempt, others, began_s, ended_s) if apart else np.nan, "all_": all_j}


def _spans(counted: Devices, servers: list[str], clients: list[str]) -> bool:
    hosts = {host for host, _ in counted}
    return bool(hosts & set(servers) and hosts & set(clients))


def pieces(attempt: Attempt, began_s: float, ended_s: float) -> dict[str, float]:
    """Where the energy went, in wall time; none below a millionth of it all."""
    servers, clients = attempt.hosts("servers"), only_loading(attempt)
    own, others = devices(attempt, servers), devices(attempt, clients)
    own_j, others_j = (summed(attempt, cover(attempt, of), began_s, ended_s) for of in (own, others))
    all_j = sides(attempt, began_s, ended_s)["all_"]
    found = {"network": summed(attempt, cover(attempt, own | {SWITCH}), began_s, ended_s) - own_j}
    if clients and not np.isnan(all_j) and np.isnan(own_j + others_j):
        found["unsplit"] = all_j
    else:
        for side, hosts, whole_j in (("server", servers, own_j), ("client", clients, others_j)):
            for name, part_j in _side(attempt, side, hosts, whole_j, began_s, ended_s).items():
                found[name] = found.get(name, 0.0) + part_j
    least_j = np.nansum(list(found.values())) / 1e6
    return {f"part_{name}_j": part_j for name, part_j in found.items() if part_j > least_j}


def _side(
    attempt: Attempt, side: str, hosts: list[str], whole_j: float, began_s: float, ended_s: float
) -> dict[str, float]:
    if np.isnan(whole_j) or not hosts:
        return {}
    grade_of_side = cover(attempt, devices(attempt, hosts))[0][1]["grade"].iloc[0]
    if grade_of_side == "modelled":
        span = (began_s, ended_s)
        cpu_j = sum(
            _modelled_j(attempt, host, "board", *span, above_w=_idle_w(attempt, host)) for host in hosts
        )
        disks_j = sum(_modelled_j(attempt, host, "disks", *span) for host in hosts)
    elif grade_of_side in UNSPLITTABLE:
        cpu_j = disks_j = np.nan
    else:
        cpu_j = processors_j(attempt, hosts, began_s, ended_s)
        disks_j = _disks_j(attempt, hosts, began_s, ended_s)
    known = {"server": {"server_cpu": cpu_j, "disks": disks_j}, "client": {"client_cpu": cpu_j}}[side]
    told = {name: part_j for name, part_j in known.items() if not np.isnan(part_j)}
    left_j = whole_j - sum(told.values())
    if left_j < 0:
        return {"unsplit": whole_j}
    return {**told, (f"{side}_rest" if told.keys() == known.keys() else "unsplit"): left_j}


def _modelled_j(
    attempt: Attempt, host: str, component: str, began_s: float, ended_s: float, above_w: float = 0.0
) -> float:
    words = ("modelled", host, component)
    own = [s for s in attempt.powers if tuple(s[["grade", "host", "component"]].iloc[0]) == words]
    return joules(own[0].assign(value=own[0]["value"] - above_w), began_s, ended_s) if own else 0.0


def _idle_w(attempt: Attempt, host: str) -> float:
    catalogue = cluster(attempt.record["cluster"])
    name = next(h["node"] for h in attempt.record["hosts"] if h["name"] == host)
    return si(catalogue["board"][node(catalogue, name)["board"]]["idle"])


def processors_j(attempt: Attempt, hosts: list[str], began_s: float, ended_s: float) -> float:
    """The energy of the processors' own counters of hosts; NaN where one has none."""
    own = [
        s
        for s in attempt.powers
        if s["grade"].iloc[0] == "component" and s["component"].iloc[0].startswith("package")
    ]
    own = [s for s in own if s["host"].iloc[0] in hosts and s["quantity"].iloc[0] == "energy"]
    there = bool(hosts) and {s["host"].iloc[0] for s in own} == set(hosts) and attempt.record["scale"] == 1
    return summed(attempt, [(1, s) for s in own], began_s, ended_s) if there else np.nan


def _disks_j(attempt: Attempt, hosts: list[str], began_s: float, ended_s: float) -> float:
    if attempt.record["scale"] != 1:
        return np.nan
    own = [s for s in attempt.powers if s["component"].iloc[0] == "disks" and s["host"].iloc[0] in hosts]
    for wanted in ("component", "wall", "PDU", "BMC"):
        found = {
            s["host"].iloc[0]: summed(attempt, [(1, s)], began_s, ended_s)
            for s in own
            if s["grade"].iloc[0] == wanted
        }
        if found and set(attempt.data_hosts) <= found.keys() and not np.isnan(total_j := sum(found.values())):
            return total_j
    return np.nan
