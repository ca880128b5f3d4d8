"""The outcome of a mix, from the outcomes of its users' jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from perjoule.model import ClientResult, Outcome, Series, covered_s
from perjoule.model.doubts import APART, UNLIKE, Doubt

TOGETHER_RATIO = 1 / 3  # of the time with any load, below which a mix is mostly one user alone
LATE_S = 0.05  # behind its time, above which a job is said to have waited


def mixed(outcomes_of: Mapping[str, Sequence[Outcome]], waits_s: Mapping[str, Sequence[float]]) -> Outcome:
    """Join the outcomes of each user's jobs.

    Args:
        found: by user.
        waits_s: by user, how late each job began.
    """
    every = [(name, outcome) for name, outcomes in outcomes_of.items() for outcome in outcomes]
    results = tuple(replace(result, user=name) for name, outcome in every for result in outcome.results)
    doubts = [
        *(d.about(n) for n, outcome in every for d in outcome.doubts),
        *_late(waits_s),
        *_apart(results),
    ]
    return Outcome(
        engine=" + ".join(dict.fromkeys(outcome.engine for _, outcome in every)),
        results=results,
        doubts=tuple(dict.fromkeys(doubts)),
        series=Series.joined(_of_user(name, series) for name, outcome in every for series in outcome.series),
        measured=_measured(outcomes_of),
    )


def _late(waits_s: Mapping[str, Sequence[float]]) -> list[Doubt]:
    late = {name: sum(wait_s > LATE_S for wait_s in waits[1:]) for name, waits in waits_s.items()}
    return [
        UNLIKE.jobs_waited(user=name, count=n, all_count=len(waits_s[name])) for name, n in late.items() if n
    ]


def _apart(results: Sequence[ClientResult]) -> list[Doubt]:
    """Doubt a mix whose users hardly ran together."""
    users = [[r for r in results if r.user == user] for user in dict.fromkeys(r.user for r in results)]
    share = covered_s(users, 2) / covered_s(users, 1)
    if len(users) < 2 or share >= TOGETHER_RATIO:
        return []
    return [APART.users_alone(together_ratio=share)]


def _of_user(name: str, series: Series) -> Series:
    return replace(series, channel=replace(series.channel, component=f"user {name}"))


def _measured(outcomes_of: Mapping[str, Sequence[Outcome]]) -> dict[str, float]:
    """Return the extra measurements of each user's workload, as means over its jobs; and the number of
    jobs, if several.
    """
    measured: dict[str, float] = {}
    for name, outcomes in outcomes_of.items():
        for key in dict.fromkeys(key for outcome in outcomes for key in outcome.measured):
            measured[f"user/{name}/{key}"] = fmean(o.measured[key] for o in outcomes if key in o.measured)
        if len(outcomes) > 1:
            measured[f"user/{name}/jobs_count"] = len(outcomes)
    return measured
