"""The steps of a paced load as one outcome: what they moved together, the share they reached, and what is doubtful about it."""

from collections.abc import Iterator, Sequence

from perjoule.model import ClientResult, Outcome, Series
from perjoule.model.doubts import UNLIKE, Doubt

MISSED_RATIO = 0.05  # of the share, from which a load that falls short is a doubt
UNSTEADY_RATIO = 0.2  # of the maximum, by which a load at full speed may fall short of it without a doubt
BETWEEN_RATIO = 0.05  # of a profile, from which the time between its steps is a doubt


def rate_bytes_per_s(results: Sequence[ClientResult]) -> float:
    """Return the throughput of all clients, in wall time: the bytes until the last one's end."""
    began_s, ended_s = min(one.began_s for one in results), max(one.ended_s for one in results)
    return sum(one.moved_bytes for one in results) / (ended_s - began_s)


def mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted mean."""
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)


def joined(found: Sequence[Outcome]) -> Outcome:
    """Join steps: each client moved the bytes of all, from the first step's beginning to the last one's end."""
    began_s, ended_s = found[0].began_s, found[-1].ended_s
    loads: dict[str, list[ClientResult]] = {}
    for one in (one for step in found for one in step.results if one.direction != "idle"):
        loads.setdefault(one.host, []).append(one)
    results = tuple(
        ClientResult(
            host,
            own[0].direction,
            began_s,
            ended_s,
            sum(one.moved_bytes for one in own),
            sum(one.operations_count for one in own),
        )
        for host, own in loads.items()
    )
    engine = next(step.engine for step in found if any(one.direction != "idle" for one in step.results))
    doubts = tuple(dict.fromkeys(doubt for step in found for doubt in step.doubts))
    return Outcome(engine, results, doubts, Series.joined(series for step in found for series in step.series))


def pace_doubts(asked: float, reached: float, found: Sequence[Outcome]) -> Iterator[Doubt]:
    """Doubt a share that was missed, a maximum that does not last, and a profile whose steps lie far apart."""
    if asked < 1 and abs(reached - asked) > MISSED_RATIO * asked:
        yield UNLIKE.doubt(f"the load was {100 * reached:.1f} % of the maximum, instead of {100 * asked:.1f} %")
    if asked == 1 and reached < 1 - UNSTEADY_RATIO:
        yield UNLIKE.doubt(f"at full speed the load was {100 * reached:.1f} % of the maximum measured before: lengthen duration")
    inside_s = sum(one.ended_s - one.began_s for one in found)
    whole_s = found[-1].ended_s - found[0].began_s
    if whole_s - inside_s > BETWEEN_RATIO * whole_s:
        between = f"{100 * (1 - inside_s / whole_s):.0f} % of the window lie between the steps of the profile: lengthen hour"
        yield UNLIKE.doubt(between)
