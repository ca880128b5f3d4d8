"""What is reported about a campaign's drift and of its neighbours, and which cells tell it."""

from dataclasses import replace
from math import sin

import pytest

from perjoule.model import Cell, Clock, Ran
from perjoule.statistics.drift import TimedValue, Trend, trend
from perjoule.statistics.intervals import interval
from perjoule.statistics.trends import campaign_doubts, campaign_trend, findings, window
from typed import present

FOUND = Trend(0.1, 0.05, 0.153, 0.001, 0.5, 0.002, error=0.02, freedom=9, span_s=1.0)
DRIFTS = "MiB/s drifts by +10.0 % from the first trial to the last (+5.0 % to +15.3 %, p = 0.001)"
CORRELATED = (
    "MiB/s of neighbouring trials is correlated (r = 0.50, p = 0.002): they carry less information than "
    "their number suggests"
)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({}, [DRIFTS, CORRELATED]),
        ({"freedom": 5}, [DRIFTS, CORRELATED]),
        ({"freedom": 4}, []),
        ({"drift_p": 0.0101}, [CORRELATED]),
        ({"drift_p": 0.0099}, [DRIFTS.replace("0.001", "0.0099"), CORRELATED]),
        ({"correlation_p": 0.0101}, [DRIFTS]),
        ({"correlation_p": 0.0099}, [DRIFTS, CORRELATED.replace("0.002", "0.0099")]),
        ({"correlation_ratio": -0.5}, [DRIFTS]),
    ],
)
def test_what_is_significant_at_one_percent_is_reported_with_enough_repetitions(words, told):
    assert [finding() for finding in findings("MiB/s", replace(FOUND, **words))] == told


METRIC = "throughput_bytes_per_s"


def cell(values, *, began_s=0.0, ran=None):
    ran = (
        [Ran(n, began_s + 100.0 * n, began_s + 100.0 * n + 50) for n in range(len(values))]
        if ran is None
        else ran
    )
    return Cell("moosefs", "fio", "write", 1, {METRIC: interval(values)}, ran=tuple(ran))


def test_a_campaigns_trend_is_that_of_all_its_cells():
    one, other = cell([10.0, 11.0, 12.5, 12.0]), cell([3.0, 3.3, 3.2, 3.9], began_s=40.0)
    timed = [
        TimedValue(n, ran.began_s, v)
        for n, c in enumerate((one, other))
        for ran, v in zip(c.ran, c.metrics[METRIC].values, strict=True)
    ]
    left_out = [cell([1.0, 2.0], ran=[Ran(1, 0.0, 1.0)]), cell([0.0, 5.0, 1.0]), replace(one, metrics={})]
    assert (
        campaign_trend([one, other], METRIC)
        == campaign_trend([*left_out, one, *left_out, other], METRIC)
        == trend(timed)
    )
    assert campaign_trend(left_out, METRIC) is None


def test_a_metric_is_called_by_the_name_that_people_use():
    drifting = [cell([10.0 + n + 0.1 * (n % 2) for n in range(9)])]
    assert campaign_doubts(drifting)[0].startswith("MiB/s drifts by ")


def test_a_drift_that_two_metrics_show_is_reported_once():
    """MiB/J drift as MiB/s do where the power is steady."""
    one = cell([10.0 + n + 0.1 * (n % 2) for n in range(9)])
    found = campaign_doubts(
        [replace(one, metrics={**one.metrics, "efficiency_bytes_per_j": one.metrics[METRIC]})]
    )
    (drift,) = (line for line in found if "drifts" in line)
    assert drift.startswith("MiB/s drifts by ")
    assert drift.endswith("; so does MiB/J")
    rising, falling = one.metrics[METRIC], cell([20.0 - n - 0.1 * (n % 2) for n in range(9)]).metrics[METRIC]
    apart = campaign_doubts([replace(one, metrics={METRIC: rising, "efficiency_bytes_per_j": falling})])
    assert sum("drifts" in line for line in apart) == 2


def test_the_least_p_of_neighbours_that_are_alike_is_one_in_a_thousand():
    """Values are exchanged 999 times."""
    found = present(trend([TimedValue("a", float(n), 100 + sin(n / 6)) for n in range(60)]))
    assert found.correlation_p == pytest.approx(1e-3, rel=1e-9)


def test_a_trial_was_measured_by_the_clock_of_all(made):
    record = replace(made.record(made.trial(), made.results((12.0, 20.5))), clock=Clock(2.0, 1000.0))
    assert window(record) == (1010.0, 1018.5)
