"""How wrong predictions are: each measured point, predicted by a fit that has not seen its like.

    clients       all points with as many clients were left out
    redundancy    all points with this redundancy were left out
    hardware      all points with this speed of CPUs, networks and disks were left out
    size          all points with as many bytes of each client were left out
    in flight     all points with as many calls of each client in flight were left out

A level has errors only where something of its kind remains to learn from. Beside it, what simpler models say
of the same points, fitted to the same rest: `constant` (the median throughput for each client of its own
direction), `linear` (throughput = a + b clients), `USL` (N. J. Gunther's law: throughput = a n / (1 + s (n -
1) + k n (n - 1))), and `bound` (the median share of the bound of networks and disks that was reached).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil, exp, inf, log
from typing import Literal

import numpy as np

from perjoule.prediction.bounds import Demand, bound_bytes_per_s
from perjoule.prediction.fitting import Fit, demand, fit, throughput_bytes_per_s
from perjoule.prediction.observation import Case, Observation
from perjoule.prediction.power import dynamic_w
from perjoule.prediction.solving import least_squares

Level = Literal["clients", "redundancy", "hardware", "size", "in flight"]
KEYS: Mapping[Level, Callable[[Case], object]] = {
    "clients": lambda case: case.fleet.clients_count,
    "redundancy": lambda case: case.redundancy,
    "hardware": lambda case: (
        case.fleet.server_network_bytes_per_s,
        case.fleet.server_mips,
        case.fleet.disk_read_bytes_per_s,
        case.fleet.disk_write_bytes_per_s,
    ),
    "size": lambda case: case.client_bytes,
    "in flight": lambda case: case.in_flight_count,
}
LEVELS: tuple[Level, ...] = tuple(KEYS)


@dataclass(frozen=True)
class Test:
    """A condition that a fit had not seen: the median of what was measured, and what was predicted."""

    __test__ = False

    level: Level
    clients_count: float
    measured_bytes_per_s: float
    predicted_bytes_per_s: float
    measured_dynamic_w: float | None
    predicted_dynamic_w: float
    others_bytes_per_s: Mapping[str, float]  # what simpler models say
    constant_dynamic_w: float  # the mean of the rest: what constant power says

    @property
    def error(self) -> float:
        """ln(predicted / measured)."""
        return log(self.predicted_bytes_per_s / self.measured_bytes_per_s)


def left_out(points: Sequence[Observation], unit_bytes: float) -> Iterator[Test]:
    """Test every condition of one direction of a file system at every level."""
    for level, key in KEYS.items():
        for value in dict.fromkeys(key(one.case) for one in points):
            rest = [one for one in points if key(one.case) != value]
            if not rest:
                continue
            found = fit(rest, unit_bytes)
            others = simpler(rest)
            for group in _conditions([one for one in points if key(one.case) == value]):
                yield _test(level, group, rest, found, others, unit_bytes)


def _conditions(points: Sequence[Observation]) -> list[list[Observation]]:
    found: dict[Case, list[Observation]] = {}
    for one in points:
        found.setdefault(one.case, []).append(one)
    return list(found.values())


def _test(
    level: Level,
    group: Sequence[Observation],
    rest: Sequence[Observation],
    found: Fit,
    others: Mapping[str, Callable[[Observation], float]],
    unit_bytes: float,
) -> Test:
    one = group[0]
    said = throughput_bytes_per_s(found, one.case, unit_bytes)
    watts = [w for w in map(_dynamic_w, group) if w is not None]
    known = [w for w in map(_dynamic_w, rest) if w is not None]
    return Test(
        level=level,
        clients_count=float(one.case.fleet.clients_count),
        measured_bytes_per_s=float(np.median([other.throughput_bytes_per_s for other in group])),
        predicted_bytes_per_s=said,
        measured_dynamic_w=float(np.median(watts)) if watts else None,
        predicted_dynamic_w=float(dynamic_w(one.plant, demand(found.works, one.case.flow), said)),
        others_bytes_per_s={name: model(one) for name, model in others.items()},
        constant_dynamic_w=float(np.mean(known)) if known else 0.0,
    )


def _dynamic_w(one: Observation) -> float | None:
    return None if one.mean_w is None else one.mean_w - one.plant.idle_w


def simpler(rest: Sequence[Observation]) -> Mapping[str, Callable[[Observation], float]]:
    """Fit the models that one would try first."""
    clients = np.array([float(one.case.fleet.clients_count) for one in rest])
    rates = np.array([one.throughput_bytes_per_s for one in rest])
    each = float(np.median(rates / clients))
    slope, start = np.polyfit(clients, rates, 1) if len(set(clients)) > 1 else (each, 0.0)
    share = float(np.median([one.throughput_bytes_per_s / _bound(one) for one in rest]))
    law = _usl(clients, rates)
    least = 0.01 * float(rates.min())
    return {
        "constant": lambda one: each * float(one.case.fleet.clients_count),
        "linear": lambda one: max(least, float(start + slope * one.case.fleet.clients_count)),
        "USL": lambda one: law(float(one.case.fleet.clients_count)),
        "bound": lambda one: share * _bound(one),
    }


def _bound(one: Observation) -> float:
    return float(bound_bytes_per_s(Demand(one.case.flow), one.case.fleet)[0])


def _usl(clients: np.ndarray, rates: np.ndarray) -> Callable[[float], float]:
    def law(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.exp(x[0]) * n / (1 + np.exp(x[1]) * (n - 1) + np.exp(x[2]) * n * (n - 1))

    began = [log(float(np.median(rates / clients))), -3.0, -6.0]
    found, _ = least_squares(lambda x: np.log(law(np.clip(x, -30, 30), clients) / rates), began)
    return lambda n: float(law(np.clip(found, -30, 30), np.array(n)))


def least_count(share: float) -> int:
    """Return the fewest errors of which `quantile_ratio` says a factor."""
    return next(n for n in count(1) if ceil((n + 1) * share) <= n)


def quantile_ratio(errors: Sequence[float], share: float) -> float:
    """Return the factor within which this share of errors lies, by the conformal rule: the ceil((n + 1)
    share)-th smallest.

    A. N. Angelopoulos, S. Bates, https://arxiv.org/abs/2107.07511, section 1. Infinite if there are too few
    errors.
    """
    ordered = sorted(abs(error) for error in errors)
    place = ceil((len(ordered) + 1) * share)
    return exp(ordered[place - 1]) if place <= len(ordered) else inf
