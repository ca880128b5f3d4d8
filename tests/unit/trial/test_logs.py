"""When clients loaded, by their logs."""

import numpy as np
import pytest

from perjoule.trial.logs import loading


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
