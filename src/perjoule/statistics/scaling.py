"""Scaling with storage hosts: against the ideal from the smallest number, and the law that the values follow.

Ideal is throughput in proportion to storage hosts, and the same work per joule for any number. Laws, of n
hosts:

- power law a n^k, by least squares on logarithms of all repetitions; at least 3 numbers of hosts.
- Universal Scalability Law a n / (1 + s (n - 1) + c n (n - 1)), s the serial share, c the crosstalk, by least
  squares of n / value, linear in the parameters, weighted for relative errors; Amdahl's if c is not
  significantly different from 0. At least 4. N. J. Gunther, Guerrilla Capacity Planning (2007), ch. 4 to 6,
  https://doi.org/10.1007/978-3-540-31010-5

Intervals are Student's t, widened under a stop rule; those of s and c by the delta method. They hold if the
law does: if values deviate from the power law by more than repetitions scatter (an F test at 5 %), a doubt
says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perjoule.model import Cell, Direction, Interval
from perjoule.model.metrics import PER_JOULE, RATES, metric_of
from perjoule.statistics.better import refusal, sample
from perjoule.statistics.contrast import contrast
from perjoule.statistics.distributions import CONFIDENCE_RATIO, fisher_p, student_quantile
from perjoule.statistics.modes import summarised_by_median
from perjoule.statistics.stopping import widening_of

IDEAL_EXPONENTS: Mapping[str, int] = {  # what is reported, and the power of n with which it grows at best
    **dict.fromkeys(RATES, 1),
    **dict.fromkeys(PER_JOULE, 0),
}
RELEVANT_RATIO = 1e-3  # of the ideal at the largest number of hosts, below which crosstalk is none
LEAST_SCATTER = 1e-12  # squared and relative: repetitions that are alike to the last digits
LEAST_COUNTS = {"power law": 3, "scalability law": 4}

Floats = NDArray[np.float64]
Values = Mapping[int, Sequence[float]]  # by number of storage hosts, all repetitions


@dataclass(frozen=True)
class ScalingLaw:
    """A law with its parameters: "exponent" of a power law, "serial" of Amdahl's, and also "crosstalk" of
    the universal one.
    """

    kind: Literal["power law", "Amdahl", "USL"]
    scale: float
    parameters: Mapping[str, Interval]

    def at(self, servers_count: float) -> float:
        """Return its value for a number of storage hosts."""
        n, p = servers_count, {name: interval.mean for name, interval in self.parameters.items()}
        if self.kind == "power law":
            return self.scale * n ** p["exponent"]
        return self.scale * n / (1 + p["serial"] * (n - 1) + p.get("crosstalk", 0.0) * n * (n - 1))


@dataclass(frozen=True)
class Scaling:
    """One metric of one file system, workload, direction and number of clients against the number of
    storage hosts.
    """

    filesystem: str
    workload: str
    direction: Direction
    clients_count: int
    metric: str
    values: Mapping[int, Interval]  # by number of storage hosts, the smallest first
    of_ideal: Mapping[int, Interval]  # ratio to the ideal; without the smallest
    laws: tuple[ScalingLaw, ...]
    refused: tuple[str, ...]  # which laws were not fitted, and why
    doubts: tuple[str, ...]
    by_median: frozenset[int] = frozenset()  # numbers of storage hosts whose repetitions have no useful mean

    def ideal(self, servers_count: float) -> float:
        """Return the ideal for a number of storage hosts, from the mean at the smallest."""
        least, interval = next(iter(self.values.items()))
        return interval.mean * (servers_count / least) ** IDEAL_EXPONENTS[self.metric]


def scaling(cells: Sequence[Cell]) -> tuple[Scaling, ...]:
    """Join the cells that differ only in the number of storage hosts; empty if there is only one number.

    Joules of different grades are not joined: each grade has an ideal of its own.
    """
    grouped: dict[tuple[str, str, Direction, int, str], dict[str, dict[int, Cell]]] = {}
    for cell in cells:
        for metric in IDEAL_EXPONENTS:
            if cell.servers_count and metric in cell.metrics and min(cell.metrics[metric].values) > 0:
                key = (family(cell), cell.workload, cell.direction, cell.clients_count, metric)
                grade = cell.grade_of(metric_of(metric).boundary) if metric_of(metric).energy else ""
                grouped.setdefault(key, {}).setdefault(grade, {})[cell.servers_count] = cell
    joined: list[Scaling] = []
    for key, of_grades in grouped.items():
        if len({n for by_count in of_grades.values() for n in by_count}) > 1:
            refused = refusal(
                [cell for by_count in of_grades.values() for cell in by_count.values()], key[-1]
            )
            scaled = (
                (grade, _scaling(*key, dict(sorted(by_count.items()))))
                for grade, by_count in of_grades.items()
            )
            joined += [_apart(join, grade, refused) if refused else join for grade, join in scaled]
    return tuple(joined)


def _apart(scaling: Scaling, grade: str, refused: str) -> Scaling:
    """Name the grade of one whose other numbers of hosts have another, and why they are not joined."""
    return replace(scaling, filesystem=f"{scaling.filesystem}, {grade}", refused=(refused, *scaling.refused))


def family(cell: Cell) -> str:
    """Name the file system without its number of storage hosts."""
    n = cell.servers_count
    return cell.filesystem.removesuffix(f", {n} server{'' if n == 1 else 's'}").replace(f" servers {n}", "")


def _scaling(
    filesystem: str,
    workload: str,
    direction: Direction,
    clients_count: int,
    metric: str,
    cells: Mapping[int, Cell],
) -> Scaling:
    values = {n: cell.metrics[metric].values for n, cell in cells.items()}
    least, widening = min(values), widening_of(tuple(cells.values()))
    ideal = {n: (n / least) ** IDEAL_EXPONENTS[metric] for n in values}
    samples = {n: sample(cell, metric) for n, cell in cells.items()}
    ratios = {n: contrast([(1, samples[n]), (-1, samples[least])]).ratio for n in values if n != least}
    laws: list[ScalingLaw] = []
    refused: list[str] = []
    for name, least_count in LEAST_COUNTS.items():
        if name != "power law" and not IDEAL_EXPONENTS[metric]:
            continue  # of speed-ups
        if len(values) < least_count:
            numbers = f"{len(values)} number{'' if len(values) == 1 else 's'} of storage hosts"
            refused.append(f"no {name}: {numbers}, but it needs {least_count}")
        else:
            laws.append((power_law if name == "power law" else scalability_law)(values, widening))
    return Scaling(
        filesystem=filesystem,
        workload=workload,
        direction=direction,
        clients_count=clients_count,
        metric=metric,
        values={n: cell.metrics[metric] for n, cell in cells.items()},
        of_ideal={n: _divided(ratio, ideal[n]) for n, ratio in ratios.items()},
        laws=tuple(laws),
        refused=tuple(refused),
        doubts=_doubts(values) if laws else (),
        by_median=frozenset(n for n, cell in cells.items() if summarised_by_median(cell)),
    )


def power_law(values: Values, widening: float = 1.0) -> ScalingLaw:
    """Fit a n^k to all repetitions at 3 numbers of storage hosts or more; all values positive."""
    n, y = _flat(values)
    beta, covariance, freedom = _least_squares(np.column_stack([np.ones_like(n), np.log(n)]), np.log(y))
    return ScalingLaw(
        "power law",
        float(np.exp(beta[0])),
        {"exponent": _interval(beta[1], widening**2 * covariance[1, 1], freedom)},
    )


def scalability_law(values: Values, widening: float = 1.0) -> ScalingLaw:
    """Fit the Universal Scalability Law, or Amdahl's if crosstalk is not significant, at 4 numbers of
    hosts or more.
    """
    universal = _rational(values, ("serial", "crosstalk"), widening)
    crosstalk, most = universal.parameters["crosstalk"], max(values)
    apart = crosstalk.low > 0 or crosstalk.high < 0
    relevant = abs(crosstalk.mean) * most * (most - 1) > RELEVANT_RATIO
    return universal if apart and relevant else _rational(values, ("serial",), widening)


def _rational(values: Values, names: Sequence[str], widening: float) -> ScalingLaw:
    n, y = _flat(values)
    terms = {"serial": n - 1, "crosstalk": n * (n - 1)}
    design = np.column_stack([np.ones_like(n), *(terms[name] for name in names)])
    each = y / n  # errors in proportion: every n / value weighs by its inverse
    beta, covariance, freedom = _least_squares(design * each[:, None], np.ones_like(n))
    parameters: dict[str, Interval] = {}
    for index, name in enumerate(names, start=1):
        ratio = beta[index] / beta[0]
        slope = np.zeros(len(beta))
        slope[index], slope[0] = 1 / beta[0], -ratio / beta[0]
        parameters[name] = _interval(ratio, widening**2 * float(slope @ covariance @ slope), freedom)
    return ScalingLaw("USL" if "crosstalk" in names else "Amdahl", float(1 / beta[0]), parameters)


def _doubts(values: Values) -> tuple[str, ...]:
    """Test the power law's lack of fit: the residuals of the means against the scatter of repetitions."""
    n, y = _flat(values)
    law, repeated = power_law(values), len(y) - len(values)
    scatter = sum(
        float(np.sum((np.log(repetitions) - np.mean(np.log(repetitions))) ** 2))
        for repetitions in map(np.asarray, values.values())
    )
    misfit = float(sum((log(v) - log(law.at(count))) ** 2 for count, v in zip(n, y, strict=True))) - scatter
    if repeated < 1 or misfit <= LEAST_SCATTER:
        return ()
    ratio = (misfit / (len(values) - 2)) / (max(scatter, LEAST_SCATTER) / repeated)
    p = fisher_p(ratio, len(values) - 2, repeated)
    if p >= 1 - CONFIDENCE_RATIO:
        return ()
    return (
        "the means deviate from the power law by more than the scatter of repetitions: no single exponent "
        "describes them",
    )


def _flat(values: Values) -> tuple[Floats, Floats]:
    pairs = [(n, value) for n, repetitions in values.items() for value in repetitions]
    n, y = zip(*pairs, strict=True)
    return np.asarray(n, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _least_squares(design: Floats, y: Floats) -> tuple[Floats, Floats, int]:
    """Return coefficients, their covariance, and the degrees of freedom."""
    beta: Floats = np.linalg.lstsq(design, y, rcond=None)[0].astype(np.float64)
    freedom = len(y) - design.shape[1]
    residual = y - design @ beta
    covariance: Floats = (
        np.linalg.inv(design.T @ design).astype(np.float64) * float(residual @ residual) / freedom
    )
    return beta, covariance, freedom


def _interval(mean: float, variance: float, freedom: int) -> Interval:
    half = student_quantile(freedom) * sqrt(max(0.0, variance))
    return Interval(float(mean), float(mean - half), float(mean + half), (float(mean),))


def _divided(interval: Interval, by: float) -> Interval:
    return Interval(
        interval.mean / by,
        interval.low / by,
        interval.high / by,
        tuple(value / by for value in interval.values),
    )
