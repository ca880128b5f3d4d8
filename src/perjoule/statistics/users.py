"""Several users at once, over repetitions: each one's throughput, its slow-down against running alone, and
fairness.

Jain's index of x is (sum x)^2 / (n sum x^2): 1 when all are alike, 1/n when one has all.

    R. Jain, D. Chiu, W. Hawe, A quantitative measure of fairness and discrimination (1984),
    https://arxiv.org/abs/cs/9809099
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite

from perjoule.model import Interval, Point, Trial
from perjoule.model.metrics import FAIRNESS, LATENCY, RATES, SHARE
from perjoule.statistics.intervals import ratio_interval
from perjoule.statistics.stopping import stopped_interval


def jain(values: Sequence[float]) -> float:
    """Return Jain's index of fairness of positive values, from 1/n to 1.

    Raises ValueError: there are none.
    """
    if not values or min(values) <= 0:
        raise ValueError("fairness is of positive values, and at least one")
    return sum(values) ** 2 / (len(values) * sum(v * v for v in values))


@dataclass(frozen=True)
class MixUser:
    """One user of a mix, over repetitions; None was not measured."""

    name: str
    rate: Interval  # bytes or operations per second
    rate_name: str  # which of RATES it is
    share: Interval | None  # of all users' bytes
    latency: Interval | None  # 99th percentile, seconds
    alone: Interval | None  # its rate when it loads alone
    slowdown: Interval | None  # its rate alone over that with the others, paired by repetition


@dataclass(frozen=True)
class Mix:
    """Several users on a file system."""

    filesystem: str
    workload: str
    clients_count: int
    users: tuple[MixUser, ...]
    total: Mapping[str, Interval]  # metrics of all users together
    progress_fairness: Interval | None  # Jain's index of what each kept of its rate alone

    @property
    def fairness(self) -> Interval | None:
        """Jain's index of throughput by fair share."""
        return self.total.get(FAIRNESS)


def mixes(points: Sequence[Point], widening: float = 1.0) -> tuple[Mix, ...]:
    """Join the trials of all users together with those of each alone, for every file system and number of
    clients.

    `widening` is that of intervals that decided when to stop (`stopping.widening_of`).
    """
    grouped: dict[str, dict[str, dict[int, Point]]] = {}  # mix -> who alone ("" for all) -> repetition
    for point in points:
        if any(name.startswith("user/") for name in point.metrics):
            alone = str(point.trial.workload.options.get("only", ""))
            grouped.setdefault(_mix_key(point.trial), {}).setdefault(alone, {})[point.trial.repetition] = (
                point
            )
    return tuple(_mix(of_mix.pop(""), of_mix, widening) for of_mix in grouped.values() if "" in of_mix)


def _mix_key(trial: Trial) -> str:
    options = {key: value for key, value in trial.workload.options.items() if key != "only"}
    identity = [
        trial.testbed.identity(),
        trial.filesystem.identity(),
        trial.workload.kind,
        options,
        trial.clients_count,
    ]
    return json.dumps(identity, sort_keys=True)


def _mix(together: Mapping[int, Point], alone: Mapping[str, Mapping[int, Point]], widening: float) -> Mix:
    interval = partial(stopped_interval, factor=widening)
    repetitions = sorted(together)
    first = together[repetitions[0]]
    rates = [key.split("/") for key in first.metrics if key.startswith("user/") and key.endswith(RATES)]
    names = list(dict.fromkeys(name for _, name, *_ in rates))
    totals = {
        key: [together[n].metrics[key] for n in repetitions if key in together[n].metrics]
        for key in first.metrics
    }
    progress: dict[int, list[float]] = {n: [] for n in repetitions}
    users = tuple(_user(name, together, alone.get(name, {}), progress, widening) for name in names)
    complete = [jain(shares) for shares in progress.values() if len(shares) == len(names) > 1]
    return Mix(
        filesystem=first.trial.filesystem.label,
        workload=first.trial.workload.label,
        clients_count=first.trial.clients_count,
        users=users,
        total={key: interval(values) for key, values in totals.items() if all(map(isfinite, values))},
        progress_fairness=interval(complete) if complete else None,
    )


def _user(
    name: str,
    all_points: Mapping[int, Point],
    alone: Mapping[int, Point],
    progress: Mapping[int, list[float]],
    widening: float,
) -> MixUser:
    interval = partial(stopped_interval, factor=widening)

    def of(points: Mapping[int, Point], metric: str) -> dict[int, float]:
        key = f"user/{name}/{metric}"
        return {n: points[n].metrics[key] for n in sorted(points) if key in points[n].metrics}

    rate_name = next(metric for metric in RATES if of(all_points, metric))
    together, by_itself = of(all_points, rate_name), of(alone, rate_name)
    both = [n for n in together if n in by_itself and together[n] > 0 and by_itself[n] > 0]
    for n in both:
        progress[n].append(together[n] / by_itself[n])
    share, latency = of(all_points, SHARE), of(all_points, LATENCY)
    return MixUser(
        name=name,
        rate=interval(list(together.values())),
        rate_name=rate_name,
        share=interval(list(share.values())) if share else None,
        latency=interval(list(latency.values())) if latency else None,
        alone=interval(list(by_itself.values())) if by_itself else None,
        slowdown=ratio_interval([by_itself[n] for n in both], [together[n] for n in both], widening)
        if both
        else None,
    )
