"""Pauses of this machine, and steps of its clocks."""

import os
import signal
import subprocess
import sys
import time

import pytest

from perjoule.execution import pauses
from perjoule.execution.pauses import Look, Watch, between

AT = Look(100.0, 5000.0, 1795273233.0)


def later(monotonic_s: float, *, suspended_s: float = 0.0, set_s: float = 0.0) -> Look:
    boot_s = AT.boot_s + monotonic_s + suspended_s
    return Look(AT.monotonic_s + monotonic_s, boot_s, AT.utc_s + monotonic_s + suspended_s + set_s)


@pytest.mark.parametrize(
    "after", [later(0.1), later(0.9), later(0.1, set_s=0.01), later(0.1, suspended_s=0.01)]
)
def test_what_is_usual_is_not_a_pause(after: Look) -> None:
    assert between(AT, after) is None


@pytest.mark.parametrize(
    ("after", "stood_still_s", "set_s"),
    [
        (later(9.0), 9.0, 0.0),  # stopped, or a virtual machine that was paused
        (later(0.1, suspended_s=0.5), 0.6, 0.0),  # a lid that was closed
        (later(0.1, suspended_s=3600.0), 3600.1, 0.0),
        (later(0.1, set_s=1.0), 0.0, 1.0),  # a leap second
        (later(0.1, set_s=-400 * 86400.0), 0.0, -400 * 86400.0),
        (later(2.0, suspended_s=5.0, set_s=-7.0), 7.0, -7.0),
    ],
)
def test_pauses_suspensions_and_steps_are_distinguished(
    after: Look, stood_still_s: float, set_s: float
) -> None:
    pause = between(AT, after)
    assert pause is not None
    assert (pause.stood_still_s, pause.set_s) == (pytest.approx(stood_still_s), pytest.approx(set_s))


STOPPED = """
import sys
from perjoule.execution.pauses import Watch
with Watch() as watch:
    print("begun", flush=True)
    sys.stdin.readline()
print(watch.stood_still())
"""


def test_a_process_that_is_stopped_notices_it() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", STOPPED], stdin=pipe, stdout=pipe, text=True) as watching:
        assert watching.stdin
        assert watching.stdout
        assert watching.stdout.readline() == "begun\n"
        os.kill(watching.pid, signal.SIGSTOP)
        time.sleep(1.6)
        os.kill(watching.pid, signal.SIGCONT)
        said = watching.communicate("\n")[0]
    assert said.startswith("perjoule or its machine stood still for ")


def test_a_quiet_time_has_no_message() -> None:
    with Watch() as watch:
        time.sleep(0.5)
    assert (watch.stood_still(), watch.set_and_back()) == (None, None)


@pytest.mark.parametrize(
    ("steps_s", "said"), [((5.0, -5.0), True), ((5.0,), False), ((0.2, 0.3), False), ((), False)]
)
def test_a_clock_that_is_set_and_set_back_is_reported(
    steps_s: tuple[float, ...], said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of a step in the end, the run's own clocks show (`workloads._raw.Ran`)."""
    looks = [later(0.0)]
    for number, step_s in enumerate(steps_s, start=1):
        looks.append(
            later(0.1 * number, set_s=step_s + looks[-1].utc_s - looks[-1].boot_s - (AT.utc_s - AT.boot_s))
        )
    monkeypatch.setattr(pauses, "read_clocks", lambda: looks.pop(0) if len(looks) > 1 else looks[0])
    watch = Watch()
    looks.insert(0, later(0.0))
    with watch:
        while len(looks) > 1:
            time.sleep(0.01)
    text = "the clock was set by +5 s during the load, and set back: times are uncertain by as much"
    assert watch.set_and_back() == (text if said else None)
