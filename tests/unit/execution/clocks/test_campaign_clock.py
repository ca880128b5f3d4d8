"""The clock of this machine over a campaign."""

import re
from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.execution import pauses, runner
from perjoule.execution.clocks import campaign_clock
from perjoule.execution.pauses import Look
from perjoule.model import Record
from perjoule.store import Results, create

DAY_S = 86400.0
CAMPAIGN = """
name = "clock"
repetitions = {repetitions}
settle = "20 ms"
quiet = 0
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "1 GiB/s"
[[workload]]
kind = "simulated"
size = "100 MiB"
"""


class Machine:
    """A machine whose clock is set and which is suspended by a test; its real clocks go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.set_s = self.suspended_s = 0.0
        now, utc_s = pauses.read_clocks, runner.time.time
        monkeypatch.setattr(pauses, "read_clocks", lambda: self._shifted(now()))
        monkeypatch.setattr("time.time", lambda: utc_s() + self.set_s + self.suspended_s)

    def _shifted(self, look: Look) -> Look:
        # time.time, which `read_clocks` calls, is shifted already
        return Look(look.monotonic_s, look.boot_s + self.suspended_s, look.utc_s)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def measured(results: Results, repetitions: int = 2) -> None:
    runner.run(campaign.parse(CAMPAIGN.format(repetitions=repetitions)), results, lambda _: None)


def results_in(folder: Path) -> Results:
    wanted = campaign.parse(CAMPAIGN.format(repetitions=2))
    return create(folder / "results", wanted.text, wanted.name)


def said(record: Record) -> list[str]:
    return [str(one) for one in record.doubts if "the clock was set" in one]


def test_trials_one_after_the_other_are_not_doubted(tmp_path: Path, machine: Machine) -> None:
    results = results_in(tmp_path)
    measured(results)
    assert [said(record) for record in results.records()] == [[], []]


@pytest.mark.parametrize(
    ("set_s", "words"), [(-400 * DAY_S, "back by 9600 h 0 min"), (30.0, "forward by 30 s")]
)
def test_a_clock_that_is_set_between_two_trials_is_a_doubt_of_the_second(
    set_s: float, words: str, tmp_path: Path, machine: Machine
) -> None:
    results = results_in(tmp_path)

    def observe(notice: runner.Notice) -> None:
        if notice.kind == "kept" and not machine.set_s:
            machine.set_s = set_s

    runner.run(campaign.parse(CAMPAIGN.format(repetitions=2)), results, observe)
    first, second = results.records()
    assert said(first) == []
    assert len(said(second)) == 1
    assert said(second)[0].startswith(f"since the trial before this one the clock was set {words}")
    assert [one.kind.key for one in second.doubts if "the clock was set" in one] == ["change"]


def test_a_clock_that_was_set_back_before_a_resume_is_a_doubt(tmp_path: Path, machine: Machine) -> None:
    results = results_in(tmp_path)

    class Stopped(Exception):
        pass

    def stop(notice: runner.Notice) -> None:
        if notice.kind == "kept":
            raise Stopped

    with pytest.raises(Stopped):
        runner.run(campaign.parse(CAMPAIGN.format(repetitions=2)), results, stop)
    machine.set_s = -400 * DAY_S
    measured(results)
    first, second = results.records()
    assert said(first) == []
    assert len(said(second)) == 1
    assert re.search(r"set back by (9600 h 0|9599 h 59) min$", said(second)[0])


def test_a_machine_that_was_suspended_or_off_between_trials_is_not_doubted(
    tmp_path: Path, machine: Machine
) -> None:
    results = results_in(tmp_path)

    def suspend(notice: runner.Notice) -> None:
        if notice.kind == "kept":
            machine.suspended_s += 3600.0

    runner.run(campaign.parse(CAMPAIGN.format(repetitions=2)), results, suspend)
    assert [said(record) for record in results.records()] == [[], []]
    assert campaign_clock.CampaignClock(results).doubt(0.0) is None
