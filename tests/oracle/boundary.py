"""Which channels make up a boundary: docs/explanations/uncertainty.md, "Boundaries" and "Grades"."""

import json

import pandas as pd

from .catalogue import cluster, node
from .folder import Attempt

Devices = frozenset[tuple[str, str]]  # (host, part), and SWITCH
Channels = list[tuple[int, pd.DataFrame]]  # each with its sign

GRADES = ["wall", "PDU", "BMC", "component", "simulated", "modelled", "nameplate"]  # the best first
SWITCH = ("switch", "")


def parts(attempt: Attempt, host: str) -> Devices:
    """What a host is made of: its board, what its supply loses (not that of a client beside servers), and
    its disks if any.
    """
    roles, name = attempt.roles, next(h["node"] for h in attempt.record["hosts"] if h["name"] == host)
    disks = not name or node(cluster(attempt.record["cluster"]), name).get("disks")
    fed = roles[host] != "client" or set(roles.values()) == {"client"}
    return frozenset(
        (host, part) for part in ("board", *(["supply"] if fed else []), *(["disks"] if disks else []))
    )


def diskless(attempt: Attempt) -> set[str]:
    """The clients that hold data beside servers on disks that the catalogue does not know: they have no
    modelled energy.
    """
    if set(attempt.roles.values()) == {"client"}:
        return set()
    return {
        name
        for name in attempt.data_hosts
        if attempt.roles[name] == "client" and (name, "disks") not in parts(attempt, name)
    }


def boundaries(attempt: Attempt) -> dict[str, Devices]:
    """The devices of each boundary, by the prefix of its metrics."""
    servers = frozenset[tuple[str, str]]().union(*(parts(attempt, host) for host in attempt.hosts("servers")))
    if not servers:  # they are elsewhere
        return dict.fromkeys(("", "gross_", "controller_", "device_"), frozenset())
    disks = frozenset(d for d in servers if d[1] == "disks")
    return {"": servers, "gross_": servers | {SWITCH}, "controller_": servers - disks, "device_": disks}


def covered(channel: "pd.Series[str]", attempt: Attempt) -> Devices:
    """The devices that a channel counts."""
    component, host = channel["component"], channel["host"]
    if component in ("board", "disks", "supply"):
        return frozenset({(host, component)})
    servers = [name for name, role in attempt.roles.items() if role != "client"]
    covers = {
        "switch": ["switch"],
        "all": [host],
        "total": [*(servers or attempt.hosts("servers") or attempt.roles), "switch"],
        "group": json.loads(channel["more"] or "{}").get("covers", []),
    }.get(component, [])  # a part of the host's CPU stands for nothing but itself
    return frozenset(d for name in covers for d in ([SWITCH] if name == "switch" else parts(attempt, name)))


def cover(attempt: Attempt, wanted: Devices, only: str | None = None) -> Channels:
    """The channels whose sum, each with its sign, counts every wanted device once and nothing else; empty
    without any.

    They are of one grade: the best, or `only` this one.
    """
    unmodelled = {host for host, _ in wanted} & diskless(attempt)
    for grade in GRADES if wanted else []:
        if only not in (None, grade):
            continue
        if grade == "modelled" and unmodelled:
            continue
        of = [group for group in attempt.powers if group["grade"].iloc[0] == grade]
        among = [(devices, group) for group in of if (devices := covered(group.iloc[0], attempt))]
        if chosen := _sum(among, wanted) or _difference(among, wanted):
            return chosen
    return []


def _sum(among: list[tuple[Devices, pd.DataFrame]], wanted: Devices) -> Channels:
    """Channels that share nothing and together cover what is needed, those that cover more first."""
    if not wanted:
        return []
    device = min(wanted)
    for devices, group in sorted(among, key=lambda pair: -len(pair[0])):
        if device in devices and devices <= wanted:
            rest = wanted - devices
            others = _sum(among, rest)
            if others or not rest:
                return [(1, group), *others]
    return []


def _difference(among: list[tuple[Devices, pd.DataFrame]], wanted: Devices) -> Channels:
    """One channel that covers more, less what it has too much."""
    for devices, group in among:
        if devices > wanted and (less := _sum(among, devices - wanted)):
            return [(1, group), *((-sign, part) for sign, part in less)]
    return []
