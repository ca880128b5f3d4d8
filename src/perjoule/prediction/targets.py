"""A file system on a cluster that one doesn't have: which hosts hold data, what a load is there, and how fast the
fit of a profile says that it is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from perjoule import drivers
from perjoule.catalogue import sustained
from perjoule.drivers.protocols import planned
from perjoule.model import Amplification, Json, Redundancy, Spec
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster, Node
from perjoule.model.validation import explained
from perjoule.prediction.bounds import Fleet
from perjoule.prediction.observation import Case, fleet
from perjoule.prediction.profile import Profile


@dataclass(frozen=True)
class Target:
    """A file system on a cluster that one doesn't have."""

    profile: Profile
    cluster: Cluster
    options: Mapping[str, Json]  # of the file system, beside the profile's
    memory: bool = True  # whether servers have no more memory than their boards, as real ones
    servers_count: int | None = None  # storage hosts, if not as many as the cluster has
    sustained: bool = False  # whether SSDs write in their steady state, not as fresh ones
    judged_by: str = ""  # a published cluster that is held against it, so that its bands may not know it


def cases(
    target: Target, clients_counts: Sequence[int], client_bytes: int, in_flight_count: int | None = None
) -> Iterator[tuple[Target, Case, Mapping[str, int]]]:
    """Return what is asked of it in both directions, and how many hosts of each node then hold data.

    Raises CampaignError as `predictions` does.
    """
    redundancy, amplification, held = layout(target)
    written = replace(target, cluster=sustained(target.cluster)) if target.sustained else target
    calls = float(in_flight_count or target.profile.in_flight_count)
    for direction in target.profile.known:
        flow = amplification.write if direction == "write" else amplification.read
        loaded = written if direction == "write" else target
        for count in clients_counts:
            fleet_loaded = fleet_holding(loaded, held, count)
            yield loaded, Case(direction, redundancy, flow, fleet_loaded, float(client_bytes), calls), held


def fleet_of(target: Target, clients_count: int) -> Fleet:
    """Return what the hosts of a target can do. Raises CampaignError as `predictions` does."""
    return fleet_holding(target, layout(target)[2], clients_count)


def fleet_holding(target: Target, held: Mapping[str, int], clients_count: int) -> Fleet:
    """Return what its hosts can do, as many of each node with data as `held` says."""
    holding = fleet(target.cluster, held, clients_count=clients_count, memory=target.memory)
    if holding is None:
        raise CampaignError(
            f'cluster "{target.cluster.name}" lacks a client or a host for data',
            next="add the node to its file",
        )
    return holding


def _nodes(target: Target) -> tuple[Node, ...]:
    if target.servers_count is None:
        return target.cluster.nodes
    first = next((node for node in target.cluster.nodes if node.role == "storage"), None)
    if first is None:
        raise CampaignError(
            f'cluster "{target.cluster.name}" has no storage hosts', next="leave out --servers"
        )
    others = tuple(node for node in target.cluster.nodes if node.role != "storage")
    return (replace(first, count=target.servers_count), *others)


def counts(target: Target) -> Mapping[str, int]:
    """Return how many servers it has of each node."""
    servers_counts: Counter[str] = Counter()
    for node in _nodes(target):
        if node.role != "client":
            servers_counts[node.name] += node.count
    return servers_counts


def layout(target: Target) -> tuple[Redundancy, Amplification, Mapping[str, int]]:
    """Ask the driver, which knows what its options mean; last, how many hosts of each node hold data."""
    spec = Spec(target.profile.kind, {**target.profile.options, **target.options}, target.profile.kind)
    if spec.kind not in (kinds := drivers.kinds("filesystems")):
        raise CampaignError(
            f'the profile is of an unknown file system "{spec.kind}"', next=f"known: {', '.join(kinds)}"
        )
    try:
        driver = drivers.filesystem(spec)
    except ValidationError as error:
        driver_class = drivers.driver_class("filesystems", spec.kind)
        explanation = explained(error, driver_class, spec.kind, noun="option")
        advice = explanation.advice or f"see perjoule drivers {spec.kind}"
        raise CampaignError(explanation.what, next=advice) from None
    nodes = [node for node in _nodes(target) for _ in range(max(1, node.count))]
    hosts = planned(
        (node.role for node in nodes), (f"{node.name}-{number}" for number, node in enumerate(nodes))
    )
    driver.require_fit(hosts)
    stored = driver.stored(hosts)
    if stored is None:
        raise CampaignError(
            f"{target.profile.kind} does not say which bytes move per user byte", next="choose another layout"
        )
    holders = driver.data_hosts(hosts)
    names = {
        host.name for host in (hosts.by_role(*target.profile.data_roles) if holders is None else holders)
    }
    held = Counter(
        node.name for node, host in zip(nodes, hosts.all, strict=True) if host.name in names and node.disks
    )
    return *stored, held
