"""Throughput of a closed network of queues: clients with some transfers in flight, hosts that serve them.

With m transfers in flight over K equal stations that together let C bytes a second through, mean value
analysis gives exactly

    X = C m / (m + K - 1)

(M. Reiser, S. S. Lavenberg, Mean-Value Analysis of Closed Multichain Queuing Networks,
https://doi.org/10.1145/322186.322195; all stations are alike, so the recursion over m has this solution).
Four corrections:

- A transfer holds the networks of its client and its server at once, so the client is not a station: it only
  bounds X.
- Where stations have unequal shares of the data, `waiting_ratio` has Schweitzer's approximation of the
  recursion, which is exact for equal ones.
- Where units of a file lie on one station as a whole, all that a client has in flight is there: no station
  waits for transfers that are at another, and only the shares of the data count. A client that reads uses one
  station at a time.
- Of units that lie on a group of g hosts, all copies or parts are written at once, so such a group is one
  station: K = N / g. Where every object has another group, a transfer visits one host after another (a server
  that passes a copy on has received it before), and each host is a station: K = N.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from math import expm1, inf, log, sqrt
from statistics import NormalDist

import numpy as np

from perjoule.model.redundancy import WHOLE_FILE
from perjoule.prediction.bounds import Demand, Fleet, Floats, Number, times_s_per_byte
from perjoule.statistics.distributions import poisson_densities

HALF = 0.5 - 1e-9  # of cases, but for rounding
MANY_COUNT = 1e9
EXACT_COUNT = 100  # units, above which their sum no longer matters for the fullest station
MANY_UNITS_COUNT = 1e8  # of a station, above which Poisson numbers are normal ones
DIRTY_RATIO = 0.2  # vm.dirty_ratio: https://docs.kernel.org/admin-guide/sysctl/vm.html


@dataclass(frozen=True)
class Way:
    """How a file system moves data in one direction, beyond bytes and CPU time."""

    in_flight: float  # transfers of a client for each of its calls, as if each were to another host
    overlap: float  # p: the stages of a server take (sum of t^p)^(1/p); 1: in sequence, large: all at once
    # of written bytes, those that disks take while they arrive; the rest is written back afterwards
    on_disk_ratio: float
    fixed_s: float  # for each file, whatever its size
    at_once: float = inf  # stations that one client's transfers use at once, for each of its calls
    # of the servers' counted CPU work, what holds data up; the rest is done before, after or beside
    cpu_ratio: float = 1.0


@dataclass(frozen=True)
class Spread:
    """How the data of a load lie on hosts."""

    group_count: float  # hosts of one transfer: copies, or parts of a code
    unit_bytes: float = inf  # that lie on one group as a whole; inf: all groups have equal shares of any file
    uneven_ratio: Number = 1.0  # bytes of the busiest host over the mean, beyond what whole units explain
    read: bool = False
    parts_ratio: float = 1.0  # hosts of a group over those from which a read takes parts of a code

    @property
    def whole(self) -> bool:
        """Whether all that a client has in flight lies on one group: its units are much longer than
        transfers.
        """
        return self.unit_bytes < inf


@dataclass(frozen=True)
class Job:
    """What a load asks of a cluster, all that does not depend on a `Way`; arrays of one shape for many
    loads.
    """

    user_bytes: Number
    clients_count: Number
    stations_count: Number  # groups of hosts that hold the same units, or hosts
    clients_s: Number  # of the slower of network and CPU, for a user byte
    network_s: Number  # of the servers
    cpu_s: Number
    disks_s: Number
    fullest_ratio: Number  # bytes of the busiest station, over an equal share
    most_left_ratio: Number  # share of the data that servers' memory can hold back at most
    # of a client: without a bound where its transfers never wait for those on other stations
    least_flying_count: Number
    most_at_once: Number  # stations that a client can use at once at most
    in_flight_count: Number = 1.0  # calls of a client, as far as they go to different stations


def job(
    demand: Demand, fleet: Fleet, spread: Spread, client_bytes: Number, in_flight_count: Number = 1.0
) -> Job:
    """Return the job of clients that move as many bytes each, with as many calls in flight."""
    times = times_s_per_byte(demand, fleet)
    user_bytes = np.asarray(fleet.clients_count) * client_bytes
    stations = np.maximum(
        1.0, np.asarray(fleet.servers_count) / (spread.group_count if spread.whole else 1.0)
    )
    held = DIRTY_RATIO * np.asarray(fleet.server_memory_bytes) * fleet.servers_count
    # of reads none, which so leave nothing to be written back
    written_bytes = user_bytes * demand.flow.disk_written_ratio
    return Job(
        user_bytes=user_bytes,
        clients_count=fleet.clients_count,
        stations_count=stations,
        clients_s=np.maximum(times["client network"], times["client CPU"]),
        network_s=times["server network"],
        cpu_s=times["server CPU"],
        disks_s=times["disks"],
        fullest_ratio=spread.uneven_ratio * placed_ratio(fleet, spread, client_bytes),
        most_left_ratio=np.where(
            written_bytes > 0, np.minimum(1.0, held / np.maximum(1.0, written_bytes)), 0.0
        ),
        least_flying_count=MANY_COUNT if spread.whole else 0.0,
        most_at_once=1.0 if spread.whole and spread.read else inf,
        in_flight_count=1.0 if spread.whole else in_flight_count,
    )


def placed_ratio(fleet: Fleet, spread: Spread, client_bytes: Number) -> Number:
    """Return the share of the fullest host over an equal share, in the median case.

    Units of a file are dealt out in turn; whole files fall where a hash of their name says. Of a code, a unit
    is always read from the same hosts, as many as it has parts of data: with few units the busiest host has a
    part in all of them.
    """
    if not spread.whole:
        return 1.0
    stations = np.maximum(1.0, np.asarray(fleet.servers_count) / spread.group_count)
    units = np.asarray(fleet.clients_count) * np.ceil(np.asarray(client_bytes) / spread.unit_bytes)
    full = (
        fallen_count(units, np.round(stations))
        if spread.unit_bytes >= WHOLE_FILE
        else np.ceil(units / stations)
    )
    return full * stations / units * spread.parts_ratio


@np.vectorize
@cache
def fallen_count(units: float, stations: float) -> float:
    """Return how many units the fullest station has at most in half of all cases; a unit falls on any with
    the same probability.

    The median, because it gives the median throughput: whatever falls as the fullest station grows, its
    median is where that is.

    P(no station has more than k) is that of as many independent Poisson numbers, given their sum (B. Levin, A
    Representation for Multinomial Cumulative Distribution Functions, https://doi.org/10.1214/aos/1176345593);
    of many units, the sum hardly matters.
    """
    mean, all_count, one_count = units / stations, int(stations), int(units)
    if mean > MANY_UNITS_COUNT:
        return mean - sqrt(mean) * NormalDist().inv_cdf(-expm1(log(HALF) / stations))
    if one_count > EXACT_COUNT:
        first, chance = int(mean), poisson_densities(int(mean), int(20 * sqrt(mean) + 50), mean)
        more = np.append(np.cumsum(chance[:0:-1])[::-1], 0.0)  # P(more than each)
        return float(first + np.argmax((1 - more) ** stations >= HALF))
    chance = poisson_densities(0, one_count + 1, mean)
    within = (
        _power(np.where(np.arange(one_count + 1) <= k, chance, 0), all_count)[one_count]
        / poisson_densities(one_count, 1, units)[0]
        for k in range(one_count)
    )
    return float(next((k for k, share in enumerate(within) if share >= HALF), one_count))


def _power(terms: Floats, exponent: int) -> Floats:
    """Return a polynomial to a power, up to as high a term as it has."""
    found = np.eye(1, len(terms)).ravel()
    while exponent:
        if exponent & 1:
            found = np.convolve(found, terms)[: len(terms)]
        terms = np.convolve(terms, terms)[: len(terms)]
        exponent >>= 1
    return found


def duration_s(way: Way, job: Job) -> Floats:
    """Return the time from the first client's start until the data have been read, or disks hold what was
    written.
    """
    left = np.minimum(1 - way.on_disk_ratio, job.most_left_ratio)
    stages = np.broadcast_arrays(
        job.network_s, np.asarray(job.cpu_s) * way.cpu_ratio, np.asarray(job.disks_s) * (1 - left)
    )
    slowest_s = np.maximum.reduce(stages)
    served_s = slowest_s * np.power(
        sum(np.power(stage / slowest_s, way.overlap) for stage in stages), 1 / way.overlap
    )
    clients = np.asarray(job.clients_count)
    calls = np.asarray(job.in_flight_count)
    used_ratio = np.minimum(
        1.0, clients * np.minimum(way.at_once * calls, job.most_at_once) / job.stations_count
    )
    flying = clients * np.maximum(way.in_flight * calls, job.least_flying_count)
    waiting = np.maximum(waiting_ratio(flying, job.stations_count, job.fullest_ratio), 1 / used_ratio)
    moving_s = np.maximum(served_s * waiting, job.clients_s)
    after_s = left * job.fullest_ratio * np.asarray(job.disks_s)
    return np.asarray(way.fixed_s + job.user_bytes * (moving_s + after_s), dtype=np.float64)


def waiting_ratio(flying: Floats, stations: Number, fullest: Number) -> Floats:
    """Return how much longer transfers take than if all stations worked all the time.

    Of K stations, half have `fullest` times an equal share of the data, the others what remains; if nothing
    remains for half of them, fewer have all. At least one has that share.

    With m transfers in flight, a station of share h holds Q = y h (1 + Q (m - 1) / m) of them (Schweitzer),
    where y is throughput over that of all stations together; all Q add up to m. That is a quadratic equation
    for 1 / y, which is what this returns.
    """
    full_count = np.maximum(1.0, np.minimum(stations / 2, stations / np.asarray(fullest)))
    others_count = np.maximum(0.0, stations - full_count)
    rest = np.maximum(0.0, stations - full_count * fullest) / np.maximum(others_count, 1e-9)
    met_ratio = (flying - 1) / flying
    linear = met_ratio * (fullest + rest) + (full_count * fullest + others_count * rest) / flying
    constant = met_ratio * fullest * rest * (met_ratio + (full_count + others_count) / flying)
    return (linear + np.sqrt(np.maximum(0.0, linear**2 - 4 * constant))) / 2


def stacked(jobs: Sequence[Job]) -> Job:
    """Return many jobs as one, of arrays."""
    return Job(
        **{field.name: np.array([float(getattr(one, field.name)) for one in jobs]) for field in fields(Job)}
    )
