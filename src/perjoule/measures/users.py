"""Several users at once: each one's own numbers, and their fairness.

A user's throughput is its bytes over the time in which its jobs ran. Its fair share is by clients: each
client's equal share is divided equally among its users. The energy of a trial is that of all users together;
no part of it can be assigned to one user.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from perjoule.measures.latency import percentiles
from perjoule.model import ClientResult, Numbers, covered_s
from perjoule.model.metrics import FAIRNESS, ONE, PERCENT, RATES, SHARE, TOKENS, Metric, S

if TYPE_CHECKING:
    from perjoule.trial.load import Load

TOGETHER = Metric(
    "together_ratio", "% together", PERCENT, "time in which several users loaded / time in which any did"
)
BUSY = Metric("busy_s", "busy", S, "time in which a user's jobs ran")
METRICS = (
    TOGETHER,
    Metric(FAIRNESS, "fair", ONE, "Jain's index of throughput by fair share", "higher"),
    Metric(SHARE, "% of bytes", PERCENT, "bytes that a user moved / bytes that all users moved"),
    BUSY,
    Metric("jobs_count", "jobs", ONE, "number of jobs of a user"),
)


def measure(load: "Load") -> Numbers:
    """Return each user's own numbers ("user/analysis/throughput_bytes_per_s") and their fairness; none
    without users.
    """
    outcome = load.record.outcome
    served = outcome is not None and TOKENS in outcome.measured  # prefill and decode of the same requests
    numbers = Numbers.plain(user_metrics(load.results, load.emulated, compete=not served))
    latencies = {
        f"user/{user}/{key}": number
        for user, results in _by_user(load.results).items()
        for key, number in percentiles(load, results).items()
    }
    return Numbers({**numbers.by_key, **latencies})


def user_metrics(
    results: Sequence[ClientResult], emulated: Callable[[float], float], *, compete: bool = True
) -> dict[str, float]:
    """Return the same without latencies by key, with times of the wall clock as this function emulates them.

    With several users, "fairness_ratio" is Jain's index of throughput by fair share, and "together_ratio" the
    share of the time with any load in which several users ran. Nothing is fair between users that don't
    `compete`, as parts of one load.
    """
    from perjoule.statistics.users import jain

    by_user = _by_user(results)
    all_bytes = sum(result.moved_bytes for result in results)
    numbers: dict[str, float] = {}
    rates: dict[str, float] = {}
    for user, user_results in by_user.items():
        busy_s, moved_bytes = (
            emulated(covered_s([user_results], 1)),
            sum(result.moved_bytes for result in user_results),
        )
        work = moved_bytes or sum(result.operations_count for result in user_results)
        rates[user] = work / busy_s
        of_user = {RATES[0] if moved_bytes else RATES[1]: rates[user], BUSY.key: busy_s}
        of_user |= {SHARE: moved_bytes / all_bytes} if all_bytes else {}
        numbers |= {f"user/{user}/{key}": value for key, value in of_user.items()}
    if len(by_user) > 1:
        every = list(by_user.values())
        numbers[TOGETHER.key] = covered_s(every, 2) / covered_s(every, 1)
        # bytes are not operations
        if compete and all(sum(r.moved_bytes for r in user_results) for user_results in every):
            shares = _fair_shares(by_user)
            numbers[FAIRNESS] = jain([rates[user] / shares[user] for user in by_user])
    return numbers


def _by_user(results: Sequence[ClientResult]) -> dict[str, list[ClientResult]]:
    by_user: dict[str, list[ClientResult]] = {}
    for result in results:
        if result.user:
            by_user.setdefault(result.user, []).append(result)
    return by_user


def _fair_shares(by_user: Mapping[str, Sequence[ClientResult]]) -> Mapping[str, float]:
    hosts = {user: {result.host for result in user_results} for user, user_results in by_user.items()}
    return {
        user: sum(1 / sum(host in other_hosts for other_hosts in hosts.values()) for host in user_hosts)
        for user, user_hosts in hosts.items()
    }
