"""When clients loaded and when nothing moved, and how long calls took, by their logs."""

from dataclasses import replace
from math import ceil, inf, isnan

import numpy as np
import pytest

from perjoule.trial.logs import Calls, calls, inside_s, loading, stalls_s


def log(made, host, *ends_s):
    """A client's log with samples that end then, the first of which lasts two seconds."""
    duration_s = np.diff(ends_s, prepend=ends_s[0] - 2.0)
    return made.series(
        made.channel(host, "all", "goodput", "window mean", "counter"), ends_s, 1.0, duration_s
    )


@pytest.mark.parametrize(
    ("samples_count", "ended_s"), [(1, 20.0), (2, 14.0), (3, 17.0)], ids=["one", "two", "three"]
)
def test_a_load_ends_where_the_last_sample_of_a_log_of_two_begins(made, samples_count, ended_s):
    """By the definition of E in the docs; the latest of clients counts, and a log of one sample says nothing."""
    results = made.results((11.0, 20.0), (12.0, 20.0))
    of_first, of_second = (
        log(made, "client-1", *(14.0, 17.0, 19.5)[:samples_count]),
        log(made, "client-2", 13.0, 15.0),
    )
    assert loading(results, [of_first, of_second]) == (11.0, ended_s)


def test_a_load_without_logs_ends_with_its_last_client(made):
    assert loading(made.results((11.0, 19.0), (12.0, 20.0)), []) == (11.0, 20.0)


def test_stalls_are_runs_of_samples_without_bytes_cut_to_the_window(made):
    """Samples of a second; nothing in those that end at 2, 3, 6 and 9 s."""
    t_s = np.arange(1.0, 11.0)
    still = np.isin(t_s, (2.0, 3.0, 6.0, 9.0))
    of = made.series(
        made.channel("client-1", "all", "goodput", "window mean"), t_s, np.where(still, 0, 7), 1.0
    )
    assert stalls_s(of, 0.0, 10.0) == [2.0, 1.0, 1.0]
    assert stalls_s(of, 1.25, 8.5) == [1.75, 1.0, 0.5]
    assert stalls_s(of, 3.0, 5.0) == []
    assert list(inside_s(of, 2.5, 4.25)) == [0, 0, 0.5, 1, 0.25, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("percent", [1, 50, 95, 99, 100])
@pytest.mark.parametrize(("after_s", "until_s"), [(-inf, inf), (2.0, 7.0), (0.0, 1.0), (6.5, 7.5)])
def test_a_percentile_is_the_call_of_this_number_in_order(percent, after_s, until_s):
    """By listing all calls of windows that end after the one moment and not after the other."""
    dice = np.random.default_rng(percent)
    t_s, latency_s = np.repeat(np.arange(1.0, 11.0), 4), dice.permutation(40) / 8
    count = dice.integers(0, 5, 40).astype(float)
    count[4:8] = 1, 2, 0, 4  # of the second second
    inside = (t_s > after_s) & (t_s <= until_s)
    every = sorted(np.repeat(latency_s[inside], count[inside].astype(int)))
    wanted_s = every[ceil(percent * len(every) / 100) - 1]
    assert Calls(t_s, latency_s, count).percentile_s(percent, after_s, until_s) == wanted_s


def test_no_calls_have_no_percentile():
    none = Calls(np.arange(3.0), np.arange(3.0), np.zeros(3))
    assert isnan(none.percentile_s(50, -inf, inf))
    assert isnan(Calls(np.arange(3.0), np.arange(3.0), np.ones(3)).percentile_s(50, 2.0, inf))


def logged(made, host, component, t_s=(1.0, 2.0), latency_s=0.5):
    """How many calls returned after how long: five in each window."""
    return [
        made.series(made.channel(host, component, quantity, "window mean", "counter"), t_s, value)
        for quantity, value in (("latency", latency_s), ("calls", 5.0))
    ]


@pytest.mark.parametrize("user", ["", "analysis"])
def test_calls_are_those_of_all_clients_or_none(made, user):
    results = tuple(replace(one, user=user) for one in made.results((0.0, 2.0), (0.0, 2.0)))
    component = f"user {user}" if user else "write"
    both = [*logged(made, "client-1", component), *logged(made, "client-2", component, latency_s=0.25)]
    beside = [*logged(made, "client-3", component), *logged(made, "client-1", "read")]
    found = calls([*both, *beside], results)
    assert sorted(zip(found.t_s, found.latency_s, found.count, strict=True)) == [
        (t_s, latency_s, 5.0) for t_s in (1.0, 2.0) for latency_s in (0.25, 0.5)
    ]
    # two jobs of a client are in one log
    assert len(calls([*both, *beside], (*results, *results)).count) == 4
    apart = [*both[:3], *logged(made, "client-2", component, (1.0, 2.5))[1:]]
    for lacking in ([], both[:2], both[:3], apart, beside):
        found = calls(lacking, results)
        assert len(found.t_s) == len(found.latency_s) == len(found.count) == 0
        assert isnan(found.percentile_s(50, -inf, inf))
