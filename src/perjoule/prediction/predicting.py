"""What a file system would do on a cluster: throughput, watts and work per joule, with a 90 % band and
where that comes from.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import exp, inf, log

import numpy as np
from pydantic import ValidationError

from perjoule import drivers
from perjoule.catalogue import sustained
from perjoule.drivers.protocols import planned
from perjoule.model import Amplification, Direction, Json, Redundancy, Spec
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster, Node
from perjoule.model.validation import explained
from perjoule.prediction.bounds import RESOURCES, Fleet, Floats, Resource, bound_bytes_per_s
from perjoule.prediction.fitting import Fit, demand, pressing, throughput_bytes_per_s
from perjoule.prediction.identification import ends
from perjoule.prediction.observation import Case, fleet
from perjoule.prediction.power import Part, mean_w, parts_w, plant
from perjoule.prediction.profile import Known, Profile, band_ratio
from perjoule.prediction.uncertain import moved
from perjoule.prediction.validation import KEYS, LEVELS, Level

RANGE_RATIO = 2.0
NORMAL_90 = 1.644854  # 90 % of a normal lie within this many standard deviations


@dataclass(frozen=True)
class Prediction:
    """One direction by one number of clients; each triple is the value and the ends of its 90 % band."""

    direction: Direction
    clients_count: int
    client_bytes: int
    redundancy: Redundancy
    throughput_bytes_per_s: tuple[float, float, float]
    bound_bytes_per_s: float
    bottleneck: Resource
    mean_w: tuple[float, float, float]  # of the servers at the wall, without the switch
    idle_w: float
    efficiency_bytes_per_j: tuple[float, float, float]
    beyond: tuple[Level, ...]  # what differs from all that was measured
    # share of the variance of ln(work per joule) by what is uncertain, the most first
    worth: Mapping[str, float]
    # Numbers that were not identified and alone move throughput by more than RANGE_RATIO: then the band
    # counts and not the value.
    rests_on: tuple[str, ...] = ()  # a pledge of an earlier version has none
    # of mean_w by component; likewise
    parts_w: Mapping[Part, float] = field(default_factory=dict[Part, float])
    in_flight_count: int = 1  # calls of each client; likewise


@dataclass(frozen=True)
class Target:
    """A file system on a cluster that one doesn't have."""

    profile: Profile
    cluster: Cluster
    options: Mapping[str, Json]  # of the file system, beside the profile's
    memory: bool = True  # whether servers have no more memory than their boards, as real ones
    servers_count: int | None = None  # storage hosts, if not as many as the cluster has
    sustained: bool = False  # whether SSDs write in their steady state, not as fresh ones


def predictions(
    target: Target, clients_counts: Sequence[int], client_bytes: int, in_flight_count: int | None = None
) -> Iterator[Prediction]:
    """Predict both directions for each number of clients, with as many calls in flight as measured if none
    are given.

    Raises:
        CampaignError: the options are wrong, or the layout is impossible on the cluster, or it has no client,
            or no disk of it states its sustained writes.
    """
    redundancy, amplification, held = _layout(target)
    written = replace(target, cluster=sustained(target.cluster)) if target.sustained else target
    for direction, known in target.profile.known.items():
        unidentified = ends(target.profile, direction)
        flow = amplification.write if direction == "write" else amplification.read
        asked = written if direction == "write" else target
        for count in clients_counts:
            calls = float(in_flight_count or target.profile.in_flight_count)
            case = Case(direction, redundancy, flow, _fleet(asked, held, count), float(client_bytes), calls)
            yield _predicted(asked, known, case, held, unidentified)


def fleet_of(target: Target, clients_count: int) -> Fleet:
    """Return what the hosts of a target can do. Raises CampaignError as `predictions` does."""
    return _fleet(target, _layout(target)[2], clients_count)


def _fleet(target: Target, held: Mapping[str, int], clients_count: int) -> Fleet:
    found = fleet(target.cluster, held, clients_count=clients_count, memory=target.memory)
    if found is None:
        raise CampaignError(
            f'cluster "{target.cluster.name}" lacks a client or a host for data',
            next="add the node to its file",
        )
    return found


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


def _counts(target: Target) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for node in _nodes(target):
        if node.role != "client":
            found[node.name] += node.count
    return found


def _layout(target: Target) -> tuple[Redundancy, Amplification, Mapping[str, int]]:
    """Ask the driver, which knows what its options mean; last, how many hosts of each node hold data."""
    spec = Spec(target.profile.kind, {**target.profile.options, **target.options}, target.profile.kind)
    if spec.kind not in (kinds := drivers.kinds("filesystems")):
        raise CampaignError(
            f'the profile is of an unknown file system "{spec.kind}"', next=f"known: {', '.join(kinds)}"
        )
    try:
        driver = drivers.filesystem(spec)
    except ValidationError as error:
        found = explained(error, drivers.driver_class("filesystems", spec.kind), spec.kind, noun="option")
        advice = found.advice or f"see perjoule drivers {spec.kind}"
        raise CampaignError(found.what, next=advice) from None
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


def _predicted(
    target: Target,
    known: Known,
    case: Case,
    held: Mapping[str, int],
    unidentified: Mapping[str, tuple[Fit, Fit]],
) -> Prediction:
    unit_bytes = target.profile.unit_bytes

    def both(found: Fit, cluster: Cluster) -> tuple[float, float]:
        """Return throughput and watts."""
        there = _fleet(replace(target, cluster=cluster), held, int(case.fleet.clients_count))
        rate = throughput_bytes_per_s(found, replace(case, fleet=there), unit_bytes)
        return rate, float(mean_w(plant(cluster, _counts(target)), demand(found.works, case.flow), rate))

    rate, watts = both(known.fit, target.cluster)

    def off(found: Fit, cluster: Cluster) -> Floats:
        """Return by how much ln of throughput, watts and work per joule differ."""
        by_rate, by_watts = np.log(both(found, cluster)) - np.log([rate, watts])
        return np.array([by_rate, by_watts, by_rate - by_watts])

    beyond = _beyond(target.profile, case)
    levels: tuple[tuple[Level, ...], ...] = (("clients",), beyond)  # what differs in more is never surer
    model = log(max(band_ratio(known, one) for one in levels)) / NORMAL_90
    # of the watts, that moves with throughput
    share = (watts - plant(target.cluster, _counts(target)).idle_w) / watts
    # By what is uncertain: how far it moves ln of throughput, watts and work per joule, down and up.
    moves = {"the model, by points that were left out": _alike([model, model * share, model * (1 - share)])}
    spread = np.std([off(one, target.cluster) for one in known.draws], axis=0)
    moves["what calibration found of the file system"] = _alike(spread)
    for name, cluster in moved(target.cluster).items():
        moves[name] = _alike(off(known.fit, cluster))
    rests_on: list[str] = []
    for name, fits in unidentified.items():
        far = np.array([off(one, target.cluster) for one in fits])
        if np.max(np.abs(far[:, 0])) > log(RANGE_RATIO):
            rests_on.append(name)
        apart = np.array([np.maximum(0, -far.min(axis=0)), np.maximum(0, far.max(axis=0))])
        moves[f"{name} of {target.profile.kind}, which was not identified"] = apart / NORMAL_90
    low, high = NORMAL_90 * np.sqrt(sum(move**2 for move in moves.values()))
    shares = {name: float(np.mean(move[:, 2] ** 2)) for name, move in moves.items() if move[:, 2].any()}
    if inf in shares.values():  # what is not known at all outweighs the rest
        shares = {name: float(share == inf) for name, share in shares.items()}
    whole = sum(shares.values()) or 1.0
    bound, worst = bound_bytes_per_s(pressing(known.fit, case.flow), case.fleet)
    highest = max(
        float(bound_bytes_per_s(pressing(one, case.flow), case.fleet)[0])
        for one in (known.fit, *chain(*unidentified.values()))
    )
    most, least_w = min(rate * exp(high[0]), max(rate, highest)), watts * exp(-low[1])
    return Prediction(
        direction=case.direction,
        clients_count=int(case.fleet.clients_count),
        client_bytes=int(case.client_bytes),
        redundancy=case.redundancy,
        throughput_bytes_per_s=(rate, rate * exp(-low[0]), most),
        bound_bytes_per_s=float(bound),
        bottleneck=RESOURCES[int(worst)],
        mean_w=(watts, least_w, watts * exp(high[1])),
        idle_w=plant(target.cluster, _counts(target)).idle_w,
        efficiency_bytes_per_j=(
            rate / watts,
            rate / watts * exp(-low[2]),
            min(rate / watts * exp(high[2]), most / least_w if least_w else inf),
        ),
        beyond=beyond,
        worth=dict(
            sorted(((name, share / whole) for name, share in shares.items()), key=lambda item: -item[1])
        ),
        rests_on=tuple(rests_on),
        in_flight_count=int(case.in_flight_count),
        parts_w=parts_w(target.cluster, _counts(target), demand(known.fit.works, case.flow), rate),
    )


def _alike(off: Sequence[float] | Floats) -> Floats:
    """Return what lies as far below as above: two rows of throughput, watts and work per joule."""
    return np.array([np.abs(off), np.abs(off)])


def _beyond(profile: Profile, case: Case) -> tuple[Level, ...]:
    """Name the levels at which a case differs from all that was measured; another number of servers is
    other hardware.
    """
    own = [one.case for one in profile.points if one.case.direction == case.direction]
    found: list[Level] = [
        level for level in LEVELS if KEYS[level](case) not in {KEYS[level](one) for one in own}
    ]
    counts = {float(one.fleet.servers_count) for one in own if one.redundancy == case.redundancy}
    if "hardware" not in found and counts and float(case.fleet.servers_count) not in counts:
        found.append("hardware")
    return tuple(found)
