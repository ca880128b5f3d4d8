"""From measured points to a profile's numbers: CPU work as counted, the rest such that the measured
throughputs come out.

CPU work is the median of what trials counted, per byte that the hosts' networks moved, so that another
redundancy has another work. The numbers of a `Way` are those with the least error of ln(throughput), by
scipy's robust least squares; weak priors hold those that the points say nothing of. Bootstrap over conditions
(not trials: repetitions of one condition share its error) gives their scatter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log
from statistics import median

import numpy as np
from numpy.typing import NDArray

from perjoule.model import Direction, Flow, Redundancy
from perjoule.prediction.bounds import Demand
from perjoule.prediction.observation import Case, Observation
from perjoule.prediction.queueing import Job, Spread, Way, duration_s, job, placed_ratio, stacked
from perjoule.prediction.solving import least_squares

DRAWS_COUNT = 40

NUMBERS = ("in_flight", "overlap", "on_disk_ratio", "fixed_s", "at_once", "cpu_ratio")
# Of ln(in_flight), ln(overlap - 1), logit(on_disk_ratio), ln(fixed_s), ln(at_once), logit(cpu_ratio): where
# priors are, and how strongly they hold, in units of ln(throughput) per unit of theirs. Weak: a point that a
# parameter moves by 1 % outweighs them.
PRIOR = np.array([1.0, 1.0, 0.0, -4.0, 2.0, 1.0])
HOLD = np.array([0.02, 0.01, 0.01, 0.02, 0.02, 0.02])
LEAST = np.array([-12.0, -12.0, -12.0, -12.0, 0.0, -12.0])  # a call is served by one station at least
STARTS = [
    (2.0, overlap, disk, -4.0, many, 1.0)
    for overlap in (-1.0, 2.0)
    for disk in (-4.0, 4.0)
    for many in (0.1, 2.0)
]


@dataclass(frozen=True)
class Works:
    """CPU work (7-zip MIPS x seconds) for a byte that the networks of a role's hosts send or receive."""

    client_mips_s_per_byte: float
    server_mips_s_per_byte: float


@dataclass(frozen=True)
class Fit:
    """What a file system does in one direction."""

    works: Works
    way: Way
    # bytes of the busiest host over the mean, beyond what whole units explain
    uneven: tuple[tuple[Redundancy, float], ...] = ()

    def uneven_ratio(self, kept: Redundancy) -> float:
        """Return how uneven hosts are under a redundancy: the median of its points, else of those of its
        kind, else 1.
        """
        own = [ratio for redundancy, ratio in self.uneven if redundancy == kept]
        known = own or [
            ratio for redundancy, ratio in self.uneven if bool(redundancy.data_count) == bool(kept.data_count)
        ]
        return median(known) if known else 1.0


def demand(works: Works, flow: Flow) -> Demand:
    """Return the demand of a user byte under another redundancy."""
    return Demand(
        flow,
        works.client_mips_s_per_byte * _client_bytes(flow),
        works.server_mips_s_per_byte * _server_bytes(flow),
    )


def pressing(found: Fit, flow: Flow) -> Demand:
    """Return the demand of a user byte without the CPU work that holds no data up: what bounds throughput."""
    asked = demand(found.works, flow)
    return replace(asked, server_mips_s_per_byte=found.way.cpu_ratio * asked.server_mips_s_per_byte)


def _client_bytes(flow: Flow) -> float:
    return max(flow.client_sent_ratio, flow.client_received_ratio)


def _server_bytes(flow: Flow) -> float:
    """Return the bytes that make work: a server that passes a copy on sends what it has received, checked
    and stored anyway.
    """
    return max(flow.storage_sent_ratio, flow.storage_received_ratio)


def spread(direction: Direction, kept: Redundancy, unit_bytes: float, uneven: float) -> Spread:
    """Return how data lie on hosts.

    A transfer is on one group of hosts: a write is on all of them, a read takes one copy, or all parts of a
    code.
    """
    read, code_count = direction == "read", kept.data_count + kept.parity_count if kept.data_count else 0
    count = code_count or (1 if read else kept.copies_count)
    return Spread(
        count,
        unit_bytes,
        uneven,
        read=read,
        parts_ratio=count / kept.data_count if read and code_count else 1.0,
    )


def uneven_ratio(one: Observation, unit_bytes: float) -> float:
    """Return how uneven a trial was beyond what whole units explain."""
    return one.busiest_ratio / float(
        placed_ratio(one.case.fleet, _spread(one.case, unit_bytes, 1.0), one.case.client_bytes)
    )


def throughput_bytes_per_s(found: Fit, case: Case, unit_bytes: float) -> float:
    """Return what a fit says of a case."""
    asked_of = _job(case, found.works, unit_bytes, found.uneven_ratio(case.redundancy))
    return float(asked_of.user_bytes / duration_s(found.way, asked_of))


def jobs(found: Fit, cases: Sequence[Case], unit_bytes: float) -> Job:
    """Return what cases ask of their hosts, as one job of arrays."""
    return stacked(
        [_job(case, found.works, unit_bytes, found.uneven_ratio(case.redundancy)) for case in cases]
    )


def _job(case: Case, works: Works, unit_bytes: float, uneven: float) -> Job:
    asked, placed = demand(works, case.flow), _spread(case, unit_bytes, uneven)
    return job(asked, case.fleet, placed, case.client_bytes, case.in_flight_count)


def _spread(case: Case, unit_bytes: float, uneven: float) -> Spread:
    return spread(case.direction, case.redundancy, unit_bytes, uneven)


def fit(points: Sequence[Observation], unit_bytes: float, start: Way | None = None) -> Fit:
    """Fit the points of one direction, from several starts, or from one that is near."""
    works = Works(
        float(np.median([one.client_mips_s_per_byte / _client_bytes(one.case.flow) for one in points])),
        float(np.median([one.server_mips_s_per_byte / _server_bytes(one.case.flow) for one in points])),
    )
    # its own, so that luck with placement moves no other number
    uneven = [uneven_ratio(one, unit_bytes) for one in points]
    asked = stacked([_job(one.case, works, unit_bytes, own) for one, own in zip(points, uneven, strict=True)])
    wanted_s = np.array([float(one.case.fleet.clients_count) * one.case.client_bytes for one in points])
    wanted_s /= np.array([one.throughput_bytes_per_s for one in points])

    def errors(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.concatenate([np.log(wanted_s / duration_s(_way(x), asked)), HOLD * (x - PRIOR)])

    starts = STARTS if start is None else [tuple(_numbers(start))]
    tries = [least_squares(errors, one) for one in starts]
    by_redundancy: dict[Redundancy, list[float]] = {one.case.redundancy: [] for one in points}
    for one, own in zip(points, uneven, strict=True):
        by_redundancy[one.case.redundancy].append(own)
    medians = tuple((kept, median(ratios)) for kept, ratios in by_redundancy.items())
    return Fit(works, _way(min(tries, key=lambda one: one[1])[0]), medians)


def _way(x: NDArray[np.float64]) -> Way:
    flying, overlap, disk, fixed, many, cpu = np.clip(x, LEAST, 12.0).tolist()
    return Way(exp(flying), 1 + exp(overlap), _share(disk), exp(fixed), exp(many), _share(cpu))


def _share(logit: float) -> float:
    return 1 / (1 + exp(-logit))


def _numbers(way: Way) -> NDArray[np.float64]:
    disk, cpu = (min(max(share, 1e-5), 1 - 1e-5) for share in (way.on_disk_ratio, way.cpu_ratio))
    overlap, many = log(max(way.overlap - 1, 1e-5)), log(way.at_once)
    return np.array(
        [log(way.in_flight), overlap, log(disk / (1 - disk)), log(way.fixed_s), many, log(cpu / (1 - cpu))]
    )


def moved(way: Way, name: str, ratio: float) -> Way:
    """Return a way with a number times a ratio: of a share its odds, of `overlap` what it is above 1;
    within what is possible.
    """
    x = _numbers(way)
    x[NUMBERS.index(name)] += log(ratio)
    return replace(way, **{name: float(getattr(_way(x), name))})


def draws(points: Sequence[Observation], unit_bytes: float, near: Fit, *, seed: int = 1) -> tuple[Fit, ...]:
    """Fit again and again to conditions drawn with replacement."""
    conditions: dict[Case, list[Observation]] = {}
    for one in points:
        conditions.setdefault(one.case, []).append(one)
    groups = list(conditions.values())
    random = np.random.default_rng(seed)
    found: list[Fit] = []
    for _ in range(DRAWS_COUNT):
        drawn: list[int] = random.integers(len(groups), size=len(groups)).tolist()
        found.append(fit([one for number in drawn for one in groups[number]], unit_bytes, near.way))
    return tuple(found)
