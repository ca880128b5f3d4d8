from math import exp, sqrt

import numpy as np
import pytest
from scipy import stats

from perjoule.statistics.users import jain, mixes
from readings import point_of
from typed import present


def test_jains_index_is_1_when_all_are_alike_and_1_by_n_when_one_has_nearly_all():
    assert jain([5, 5, 5]) == pytest.approx(1)
    assert jain([1e9, 1, 1, 1]) == pytest.approx(1 / 4, rel=1e-6)
    assert jain([1, 2, 3]) == pytest.approx(36 / (3 * 14))
    with pytest.raises(ValueError, match="positive"):
        jain([1, 0])


def mix(made, only, repetition, rates, **words):
    options = {"together": [{"user": "a"}, {"user": "b"}], "only": only}
    metrics = {f"user/{user}/throughput_bytes_per_s": rate for user, rate in rates.items()}
    metrics |= {"throughput_bytes_per_s": sum(rates.values()), "duration_s": 1.0}
    trial = made.trial(workload=f"mix {only}".strip(), repetition=repetition, options=options, **words)
    return point_of(trial, "mixed", metrics)


def test_together_is_held_against_alone_in_the_same_repetition(made):
    found = [mix(made, "", n, {"a": 50.0 * n, "b": 30.0 * n}) for n in (1, 2, 3)]
    found += [mix(made, "a", n, {"a": 100.0 * n}) for n in (1, 2, 3)]
    found += [mix(made, "b", n, {"b": 40.0 * n}) for n in (1, 2)]
    (joined,) = mixes(found)
    a, b = joined.users
    assert present(a.slowdown).values == pytest.approx((2, 2, 2))
    assert present(b.slowdown).values == pytest.approx((4 / 3, 4 / 3))
    assert present(a.slowdown).low == pytest.approx(2)  # what both of a pair share cancels
    assert present(joined.progress_fairness).values == pytest.approx([jain([0.5, 0.75])] * 2)
    assert joined.total["throughput_bytes_per_s"].values == (80, 160, 240)


def test_mixes_are_joined_on_the_same_file_system_with_the_same_clients_alone(made):
    found = [mix(made, "", 1, {"a": 50.0, "b": 30.0}), mix(made, "a", 1, {"a": 100.0}, clients_count=4)]
    (joined,) = mixes(found)
    assert [user.slowdown for user in joined.users] == [None, None]
    assert mixes(found[1:]) == ()


def test_a_user_alone_once_has_a_slow_down_without_an_interval(made):
    (joined,) = mixes([mix(made, "", 1, {"a": 50.0, "b": 30.0}), mix(made, "a", 1, {"a": 100.0})])
    assert (present(joined.users[0].slowdown).mean, present(joined.users[0].slowdown).low) == (
        pytest.approx(2),
        0,
    )
    assert joined.progress_fairness is None


def test_a_stop_rule_widens_all_intervals_of_users(made):
    together, by_itself, others = [50.0, 55.0, 52.0], [100.0, 104.0, 99.0], [30.0, 33.0, 31.0]
    found = [mix(made, "", n, {"a": together[n - 1], "b": others[n - 1]}) for n in (1, 2, 3)]
    found += [mix(made, "a", n, {"a": by_itself[n - 1]}) for n in (1, 2, 3)]
    found += [mix(made, "b", n, {"b": 40.0}) for n in (1, 2, 3)]
    (joined,) = mixes(found, 1.2)

    def half(values):
        return 1.2 * stats.t.ppf(0.975, 2) * np.std(values, ddof=1) / sqrt(3)

    a, total = joined.users[0], joined.total["throughput_bytes_per_s"]
    assert total.high - total.mean == pytest.approx(half(np.add(together, others)))
    assert a.rate.mean - a.rate.low == pytest.approx(half(together))
    assert present(a.alone).high - present(a.alone).mean == pytest.approx(half(by_itself))
    logs = np.log(by_itself) - np.log(together)
    assert present(a.slowdown).high == pytest.approx(exp(logs.mean() + half(logs)))
    kept = [
        jain([one / own, other / 40.0]) for one, own, other in zip(together, by_itself, others, strict=True)
    ]
    assert present(joined.progress_fairness).mean - present(joined.progress_fairness).low == pytest.approx(
        half(kept)
    )


def test_a_slow_down_is_of_positive_rates_however_small(made):
    """Operations that take seconds; in the second repetition one user did nothing together, in the third alone."""
    found = [mix(made, "", n, {"a": rate, "b": 0.125}) for n, rate in ((1, 0.25), (2, 0.0), (3, 0.25))]
    found += [mix(made, "a", n, {"a": rate}) for n, rate in ((1, 0.75), (2, 0.5), (3, 0.0))]
    found += [mix(made, "b", n, {"b": 0.25}) for n in (1, 2, 3)]
    (joined,) = mixes(found)
    a, b = (present(user.slowdown).values for user in joined.users)
    assert (a, b) == (pytest.approx((3.0,)), pytest.approx((2.0, 2.0, 2.0)))
    assert present(joined.progress_fairness).values == pytest.approx([jain([1 / 3, 1 / 2])])
