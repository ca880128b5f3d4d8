"""What a tuning is for: a metric in its better direction, perhaps with a limit on the power."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from statistics import fmean

from perjoule.model import Point
from perjoule.model.errors import CampaignError
from perjoule.model.metrics import BY_LABEL, RANKED, Metric, metric_of
from perjoule.model.metrics import POWER as MEAN_POWER
from perjoule.model.units import WATTS, quantity
from perjoule.model.validation import clauses, instead

POWER = metric_of(MEAN_POWER)
PENALTY = 10.0  # an excess of 1 % over the limit costs as much as 10 % of the metric

Item = tuple[str, int, str]  # workload, clients, direction


@dataclass(frozen=True)
class Objective:
    """The metric to improve."""

    metric: Metric
    limit_w: float | None = None  # of the servers' mean power, without the switch

    @property
    def text(self) -> str:
        """Its name: "MiB/s within 20 W"."""
        return self.metric.label + (f" within {self.limit_w:g} W" if self.limit_w is not None else "")

    def scores(self, points: Iterable[Point]) -> Mapping[Item, float]:
        """Return the score of each workload, number of clients and direction that was measured: a logarithm,
        higher is better.

        With a limit, power beyond it costs PENALTY times its logarithmic excess.
        """
        scores: dict[Item, float] = {}
        sign = -1 if self.metric.better == "lower" else 1
        for point in points:
            value, power_w = point.metrics.get(self.metric.key, 0.0), point.metrics.get(POWER.key, 0.0)
            if not value > 0 or (self.limit_w is not None and not power_w > 0):
                continue
            excess = max(0.0, log(power_w / self.limit_w)) if self.limit_w is not None else 0.0
            item = (point.trial.workload.label, point.trial.clients_count, point.direction)
            scores[item] = sign * log(value) - PENALTY * excess
        return scores


def objective(metric: str, limit: str = "") -> Objective:
    """Read what to tune for.

    Raises CampaignError: an unknown metric or limit, or a metric without a better direction.
    """
    if metric not in BY_LABEL:
        raise CampaignError(f'no metric is called "{metric}"', where="--for", next=instead(metric, BY_LABEL))
    definition = BY_LABEL[metric]
    if not definition.better:
        raise CampaignError(
            f"neither more nor less {metric} is better",
            where="--for",
            next=f"tune for {' or '.join(metric_of(key).label for key in RANKED)}",
        )
    if not limit:
        return Objective(definition)
    try:
        limit_w = quantity(limit, WATTS)
    except ValueError as error:
        fault, advice = clauses(str(error))
        raise CampaignError(fault, where="--within", next=advice) from None
    if not limit_w > 0:
        raise CampaignError(
            f"{limit} is not a positive power", where="--within", next='write one such as "20 W"'
        )
    return Objective(definition, limit_w)


def value(scores: Mapping[Item, float], items: Iterable[Item]) -> float | None:
    """Return the objective of a block, the mean score of these items; None if one of them was not
    measured.
    """
    required = tuple(items)
    return fmean(scores[item] for item in required) if all(item in scores for item in required) else None
