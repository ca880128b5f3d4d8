"""What emulation has never seen of another machine: how wrong profiles of emulated hosts are about clusters of
papers, to which nothing was fitted.

A cluster's numbers err together, so that as few clusters as there are say how far the next one is off: the errors
ln(predicted / printed) are normal around 0 with the mean square of all numbers, which is known with as many
degrees of freedom as there are clusters. Student's t of these makes the band.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, log, sqrt

from perjoule import catalogue
from perjoule.model import Direction, Json
from perjoule.papers import published
from perjoule.prediction.fitting import throughput_bytes_per_s
from perjoule.prediction.observation import WAYS
from perjoule.prediction.profile import shipped
from perjoule.prediction.targets import Target, cases
from perjoule.statistics.distributions import student_quantile

BAND_RATIO = 0.9
NORMAL_90 = 1.644854  # 90 % of a normal lie within this many standard deviations
NAME = "another machine than those emulated"  # as a part of a band
PAPER = "green-storage"
_OPTIONS: Mapping[str, Mapping[str, Json]] = {  # that the paper says, by its configurations
    "arm-cephfs": {"copies": 2},
    "arm-orangefs": {"beneath": {"kind": "zfs", "mirror": "zfs"}},
    "arm-moosefs": {"goal": 1},
    "arm-glusterfs": {"layout": "dispersed", "redundancy": 1},
    "reference-1": {},
    "reference-2": {"copies": 3},
}


@dataclass(frozen=True)
class Maxima:
    """The highest throughput of some numbers of clients that a paper prints, by direction, of what is predicted."""

    target: Target  # whose bands may not know it
    most_clients_count: int
    data_bytes: float  # that all clients together move
    printed_bytes_per_s: Mapping[Direction, float]

    def client_bytes(self, clients_count: int) -> int:
        """Return what each of so many clients moves."""
        return round(self.data_bytes / clients_count)

    def errors(self) -> tuple[float, ...]:
        """Return ln(predicted / printed) of each direction."""
        profile, best = self.target.profile, dict[Direction, float]()
        for count in range(1, self.most_clients_count + 1):
            for _, case, _ in cases(self.target, [count], self.client_bytes(count)):
                rate = throughput_bytes_per_s(profile.known[case.direction].fit, case, profile.unit_bytes)
                best[case.direction] = max(rate, best.get(case.direction, 0.0))
        return tuple(log(best[way] / rate) for way, rate in self.printed_bytes_per_s.items())


@cache
def maxima() -> tuple[Maxima, ...]:
    """Return what is printed of all clusters that profiles predict: Table II of "green-storage"."""
    paper = published.paper(PAPER)
    printed = {number.id: number.value for number in paper.numbers}
    maxima_of_paper: list[Maxima] = []
    for name, options in _OPTIONS.items():
        cluster = str(paper.configurations[name]["cluster"])
        profile = shipped(str(paper.configurations[name]["filesystem"]))
        target = Target(profile, catalogue.cluster(cluster), options, judged_by=cluster)
        data_bytes = printed["data_ref2" if cluster == "reference-2" else "data_other"]
        rates: Mapping[Direction, float] = {
            way: printed[f"max_{name.replace('-', '_')}_{way}"] for way in WAYS
        }
        maxima_of_paper.append(Maxima(target, int(printed["clients_most"]), data_bytes, rates))
    return tuple(maxima_of_paper)


@cache
def errors() -> Mapping[str, tuple[float, ...]]:
    """Return ln(predicted / printed) of each number, by cluster."""
    errors_by_cluster: dict[str, tuple[float, ...]] = {}
    for printed in maxima():
        cluster = printed.target.judged_by
        errors_by_cluster[cluster] = (*errors_by_cluster.get(cluster, ()), *printed.errors())
    return errors_by_cluster


def factor(of: Mapping[str, tuple[float, ...]], without: str = "") -> float:
    """Return the factor, to either side, within which 90 % of predictions for another machine lie.

    Args:
        of: errors as logarithms, by cluster.
        without: a cluster that is not to be known.
    """
    clusters = [cluster_errors for name, cluster_errors in of.items() if name != without]
    numbers = [error for cluster_errors in clusters for error in cluster_errors]
    mean_square = sum(error**2 for error in numbers) / len(numbers)
    return exp(student_quantile(len(clusters), 1 - BAND_RATIO) * sqrt(mean_square))


@cache
def band_factor(without: str = "") -> float:
    """Return that factor by the clusters at hand."""
    return factor(errors(), without)
