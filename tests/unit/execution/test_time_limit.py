"""Trials against the time for which a batch system lends its nodes."""

import math
import time
from collections.abc import Callable

import pytest

from perjoule import campaign, drivers
from perjoule.drivers.protocols import Lease, Leased, Testbed
from perjoule.execution import time_limit
from perjoule.execution.time_limit import TrialPace
from perjoule.model import Spec
from perjoule.model.errors import Interrupted
from perjoule.testbeds.simulated import SimulatedTestbed

TEXT = """
repetitions = 4
settle = "1 ms"
quiet = "0 s"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
[[workload]]
kind = "simulated"
"""


def forever() -> str:
    return ""


def lease(left_s: float, over: Callable[[], str] = forever) -> Lease:
    return Lease("Slurm job 7", time.monotonic() + left_s, over)


def test_what_does_not_fit_is_reported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = campaign.parse(TEXT)
    plan = campaign.plan(asked)
    assert time_limit.beforehand(plan, asked.trials) == ""
    limit_s = time_limit.TAKE_DOWN_S + 2.5 * plan.duration_s / 4

    class Lent(SimulatedTestbed, Leased):
        @property
        def lease_s(self) -> float:
            return limit_s

    def lent(_: Spec) -> Testbed:
        return Lent()

    monkeypatch.setattr(drivers, "testbed", lent)
    assert "about 2 of 4 trials fit, and `perjoule resume`" in time_limit.beforehand(plan, asked.trials)
    assert time_limit.beforehand(plan, asked.trials[2:]) == ""


def test_the_first_trial_begins_and_the_next_only_if_it_fits() -> None:
    asked = campaign.parse(TEXT)
    plan = campaign.plan(asked)
    pace, first, left = TrialPace(plan), asked.trials[0], asked.trials[1:]
    pace.require_time(lease(1.0), asked.trials, "again")  # nothing is known of it
    pace.took(first, 30.0)
    pace.took(first, 20.0)  # the longest counts
    pace.require_time(lease(41.0), left, "again")
    pace.require_time(lease(math.inf), left, "again")
    pace.require_time(None, left, "again")
    with pytest.raises(Interrupted) as stopped:
        pace.require_time(lease(39.0), left, "again")
    assert stopped.value.what == (
        "Slurm job 7 ends in 39 s, and the next trial takes about 30 s: 3 trials are left"
    )
    assert stopped.value.next == "continue in the next allocation with: again"
    with pytest.raises(Interrupted, match=r"ends now, .*: 1 trial is left"):
        pace.require_time(lease(-1.0), left[:1], "again")
