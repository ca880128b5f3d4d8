"""The steps of a paced load as one outcome: what they moved together, the share they reached, and what is
doubtful about it.
"""

from collections.abc import Iterator, Sequence

from perjoule.model import ClientResult, Outcome, Series
from perjoule.model.doubts import UNLIKE, Doubt

MISSED_RATIO = 0.05  # of the share, from which a load that falls short is a doubt
UNSTEADY_RATIO = 0.2  # of the maximum, by which a load at full speed may fall short of it without a doubt
BETWEEN_RATIO = 0.05  # of a profile, from which the time between its steps is a doubt


def rate_bytes_per_s(results: Sequence[ClientResult]) -> float:
    """Return the throughput of all clients, in wall time: the bytes until the last one's end."""
    began_s, ended_s = min(result.began_s for result in results), max(result.ended_s for result in results)
    return sum(result.moved_bytes for result in results) / (ended_s - began_s)


def mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean."""
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def joined(outcomes: Sequence[Outcome]) -> Outcome:
    """Join steps: each client moved the bytes of all, from the first step's beginning to the last one's
    end.
    """
    began_s, ended_s = outcomes[0].began_s, outcomes[-1].ended_s
    loads: dict[str, list[ClientResult]] = {}
    for result in (result for step in outcomes for result in step.results if result.direction != "idle"):
        loads.setdefault(result.host, []).append(result)
    results = tuple(
        ClientResult(
            host,
            host_results[0].direction,
            began_s,
            ended_s,
            sum(result.moved_bytes for result in host_results),
            sum(result.operations_count for result in host_results),
        )
        for host, host_results in loads.items()
    )
    engine = next(
        step.engine for step in outcomes if any(result.direction != "idle" for result in step.results)
    )
    doubts = tuple(dict.fromkeys(doubt for step in outcomes for doubt in step.doubts))
    return Outcome(
        engine, results, doubts, Series.joined(series for step in outcomes for series in step.series)
    )


def pace_doubts(share: float, reached: float, outcomes: Sequence[Outcome]) -> Iterator[Doubt]:
    """Doubt a share that was missed, a maximum that does not last, and a profile whose steps lie far
    apart.
    """
    if share < 1 and abs(reached - share) > MISSED_RATIO * share:
        yield UNLIKE.share_missed(reached_ratio=reached, asked_ratio=share)
    if share == 1 and reached < 1 - UNSTEADY_RATIO:
        yield UNLIKE.maximum_missed(reached_ratio=reached)
    inside_s = sum(outcome.ended_s - outcome.began_s for outcome in outcomes)
    whole_s = outcomes[-1].ended_s - outcomes[0].began_s
    if whole_s - inside_s > BETWEEN_RATIO * whole_s:
        yield UNLIKE.between_steps(between_ratio=1 - inside_s / whole_s)
