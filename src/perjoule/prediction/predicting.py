"""What a file system would do on a cluster: throughput, watts and work per joule, with a 90 % band and
where that comes from.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import exp, inf, log

import numpy as np

from perjoule.model import Direction, Redundancy
from perjoule.model.hardware import Cluster
from perjoule.prediction import elsewhere
from perjoule.prediction.bounds import RESOURCES, Floats, Resource, bound_bytes_per_s
from perjoule.prediction.elsewhere import NORMAL_90
from perjoule.prediction.fitting import Fit, demand, pressing, throughput_bytes_per_s
from perjoule.prediction.identification import ends
from perjoule.prediction.observation import Case
from perjoule.prediction.power import Part, Plant, mean_w, parts_w, plant
from perjoule.prediction.profile import Profile, band_ratio
from perjoule.prediction.targets import Target, cases, counts, fleet_holding
from perjoule.prediction.uncertain import moved
from perjoule.prediction.validation import KEYS, LEVELS, Level

RANGE_RATIO = 2.0


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
    # ends of throughput's band without what another machine adds; None: it adds nothing; likewise
    emulated_bytes_per_s: tuple[float, float] | None = None


def predictions(
    target: Target, clients_counts: Sequence[int], client_bytes: int, in_flight_count: int | None = None
) -> Iterator[Prediction]:
    """Predict both directions for each number of clients, with as many calls in flight as measured if none
    are given.

    Raises:
        CampaignError: the options are wrong, or the layout is impossible on the cluster, or it has no client,
            or no disk of it states its sustained writes.
    """
    # virtual hosts on this machine are like those that were measured
    unseen = target.profile.emulated and target.memory
    factor = elsewhere.band_factor(target.judged_by) if unseen else 1.0
    unidentified = {way: ends(target.profile, way) for way in target.profile.known}
    for loaded, case, held in cases(target, clients_counts, client_bytes, in_flight_count):
        yield _predicted(loaded, case, held, unidentified[case.direction], factor)


def _predicted(
    target: Target,
    case: Case,
    held: Mapping[str, int],
    unidentified: Mapping[str, tuple[Fit, Fit]],
    factor: float,
) -> Prediction:
    unit_bytes, known = target.profile.unit_bytes, target.profile.known[case.direction]

    def placed(cluster: Cluster) -> tuple[Case, Plant]:
        """Return the case on a cluster, and what its servers draw."""
        there = fleet_holding(replace(target, cluster=cluster), held, int(case.fleet.clients_count))
        return replace(case, fleet=there), plant(cluster, counts(target))

    def power(found: Fit, servers: Plant, rate: float) -> float:
        return float(mean_w(servers, demand(found.works, case.flow), rate))

    def both(found: Fit, there: tuple[Case, Plant]) -> tuple[float, float]:
        """Return throughput and watts."""
        rate = throughput_bytes_per_s(found, there[0], unit_bytes)
        return rate, power(found, there[1], rate)

    here = placed(target.cluster)
    idle_w = here[1].idle_w
    rate, watts = both(known.fit, here)

    def off(found: Fit, there: tuple[Case, Plant]) -> Floats:
        """Return by how much ln of throughput, watts and work per joule differ."""
        by_rate, by_watts = np.log(both(found, there)) - np.log([rate, watts])
        return np.array([by_rate, by_watts, by_rate - by_watts])

    beyond = _beyond(target.profile, case)
    levels: tuple[tuple[Level, ...], ...] = (("clients",), beyond)  # what differs in more is never surer
    model = log(max(band_ratio(known, one) for one in levels)) / NORMAL_90
    # of the watts, that moves with throughput
    share = (watts - idle_w) / watts
    # By what is uncertain: how far it moves ln of throughput, watts and work per joule, down and up.
    moves = {"the model, by points that were left out": _alike([model, model * share, model * (1 - share)])}
    spread = np.std([off(one, here) for one in known.draws], axis=0)
    moves["what calibration found of the file system"] = _alike(spread)
    for name, cluster in moved(target.cluster).items():
        moves[name] = _alike(off(known.fit, placed(cluster)))
    rests_on: list[str] = []
    for name, fits in unidentified.items():
        far = np.array([off(one, here) for one in fits])
        if np.max(np.abs(far[:, 0])) > log(RANGE_RATIO):
            rests_on.append(name)
        apart = np.array([np.maximum(0, -far.min(axis=0)), np.maximum(0, far.max(axis=0))])
        moves[f"{name} of {target.profile.kind}, which was not identified"] = apart / NORMAL_90
    bound, worst = bound_bytes_per_s(pressing(known.fit, case.flow), case.fleet)
    highest = max(
        float(bound_bytes_per_s(pressing(one, case.flow), case.fleet)[0])
        for one in (known.fit, *chain(*unidentified.values()))
    )
    emulated_low, emulated_high = NORMAL_90 * np.sqrt(sum(move[:, 0] ** 2 for move in moves.values()))
    by_machine = np.log([rate / factor, max(rate, min(rate * factor, highest))]) - log(rate)
    by_watts = np.log([power(known.fit, here[1], rate * exp(by)) for by in by_machine]) - log(watts)
    moves[elsewhere.NAME] = np.abs(np.array([by_machine, by_watts, by_machine - by_watts]).T) / NORMAL_90
    low, high = NORMAL_90 * np.sqrt(sum(move**2 for move in moves.values()))
    shares = {name: float(np.mean(move[:, 2] ** 2)) for name, move in moves.items() if move[:, 2].any()}
    if inf in shares.values():  # what is not known at all outweighs the rest
        shares = {name: float(share == inf) for name, share in shares.items()}
    whole = sum(shares.values()) or 1.0
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
        idle_w=idle_w,
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
        parts_w=parts_w(target.cluster, counts(target), demand(known.fit.works, case.flow), rate),
        emulated_bytes_per_s=(
            rate * exp(-emulated_low),
            min(rate * exp(emulated_high), max(rate, highest)),
        )
        if factor > 1
        else None,
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
    servers = {float(one.fleet.servers_count) for one in own if one.redundancy == case.redundancy}
    if "hardware" not in found and servers and float(case.fleet.servers_count) not in servers:
        found.append("hardware")
    return tuple(found)
