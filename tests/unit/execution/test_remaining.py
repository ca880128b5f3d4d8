"""The time left makes sense from the first moment on, and a run has one account of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from measured import CAMPAIGN, STEADY
from perjoule import campaign, store
from perjoule.execution import remaining, runner
from perjoule.execution.notices import Notice
from perjoule.execution.remaining import Remaining
from perjoule.store import progress

EXAMPLES = Path(__file__).parents[3] / "examples"


class Clock:
    """A clock that a test sets."""

    now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(remaining, "time", clock)
    return clock


def minutes(count: int) -> Remaining:
    """Trials of one minute each, called by their numbers."""
    return Remaining({str(number): 60.0 for number in range(count)})


def test_at_the_start_the_time_left_is_the_planned_one(clock: Clock) -> None:
    assert minutes(10).left_s() == 600


def test_the_time_left_runs_down_within_a_trial_but_never_below_the_rest(clock: Clock) -> None:
    account = minutes(10)
    clock.now_s += 30
    assert account.left_s() == 570
    clock.now_s += 3000
    assert account.left_s() == 540


def test_trials_that_take_twice_as_long_correct_the_time_left(clock: Clock) -> None:
    account = minutes(16)
    for number in range(8):
        clock.now_s += 120
        account.keep(str(number))
    assert account.left_s() == 880  # 8 times 2 min, and a tenth of trust in the plan


def test_one_slow_first_trial_does_not_turn_the_plan_over(clock: Clock) -> None:
    account = minutes(10)
    clock.now_s += 300
    account.keep("0")
    assert account.left_s() == 1620


def test_a_trial_that_is_not_needed_takes_no_time_and_is_not_counted(clock: Clock) -> None:
    account = minutes(3)
    account.drop("2")
    account.keep("0")
    assert (account.kept_count, account.trials_count, account.trials) == (1, 2, {"0", "1", "2"})
    account.drop("1")
    assert account.left_s() == 0


def test_repetitions_that_may_not_be_needed_count_with_their_chance(clock: Clock) -> None:
    planned_s = {f"{name}-{number}": 60.0 for number in range(1, 6) for name in "ab"}
    optional = {f"{name}-{number}": name for number in (4, 5) for name in "ab"}
    account = Remaining(planned_s, optional)
    assert account.left_s() == (6 + 2 * (1 / 2 + 1 / 4)) * 60
    for number in (1, 2, 3):
        for name in "ab":
            clock.now_s += 60
            account.keep(f"{name}-{number}")
    assert account.left_s() == 1.5 * 60
    account.drop("a-4")  # settled, so its fifth will not be needed either: one answer of one
    assert account.left_s() == round((1 / 3 + 1 / 9) * 60)
    clock.now_s += 60
    account.keep("b-4")
    assert account.left_s() == 30  # one answer of two
    account.drop("a-5")  # no new answer
    assert account.left_s() == 30
    account.drop("b-5")
    assert account.left_s() == 0


def test_dropped_trials_are_no_time_that_went_by_faster_than_planned(clock: Clock) -> None:
    account = minutes(20)
    for number in range(5):
        clock.now_s += 60
        account.keep(str(number))
    for number in range(5, 15):
        account.drop(str(number))
    assert account.left_s() == 300


def test_the_account_of_a_plan_knows_what_the_stop_rule_may_end() -> None:
    until = 'until = { metric = "MiB/J", interval = "10 %", max = 5 }'
    asked = campaign.parse(
        CAMPAIGN.format(top=f'repetitions = 3\n{until}\nsettle = "20 ms"', size="8 MiB", meter=STEADY)
    )
    plan = campaign.plan(asked)
    account = remaining.account_of(plan, {trial.id for trial in asked.trials})
    later_s = [step.duration_s for step in plan.steps if step.trial.repetition > 3]
    assert len(later_s) == 2
    assert plan.least_duration_s == pytest.approx(plan.duration_s - sum(later_s))
    expected_s = plan.duration_s - sum(later_s) + later_s[0] * (1 / 2 + 1 / 4)
    assert account.left_s() == pytest.approx(expected_s, abs=1)


def test_the_demo_takes_as_long_as_is_said_at_its_start_within_a_quarter() -> None:
    """On two cores it took 5 min 18 s, for 43 of its 60 trials."""
    plan = campaign.plan(campaign.read(EXAMPLES / "demo.toml"))
    account = remaining.account_of(plan, {step.trial.id for step in plan.steps})
    assert account.left_s() == pytest.approx(318, rel=0.25)


def test_the_first_missing_trial_of_each_deployment_brings_it_up() -> None:
    asked = campaign.parse(
        CAMPAIGN.format(top='repetitions = 3\nsettle = "20 ms"', size="8 MiB", meter=STEADY).replace(
            '"80 MiB/s"', '["80 MiB/s", "90 MiB/s"]'
        )
    )
    plan = replace(campaign.plan(asked), deployments_s=(100.0, 1000.0))
    ids = [trial.id for trial in asked.trials]
    own_s = {step.trial.id: step.duration_s for step in plan.steps}
    more_s = [round(s - own_s[id]) for id, s in plan.missing_s(ids).items()]
    assert more_s == [100, 0, 0, 1000, 0, 0]
    rest_s = plan.missing_s({ids[2], ids[4], ids[5]})
    assert {id: round(s - own_s[id]) for id, s in rest_s.items()} == {ids[2]: 100, ids[4]: 1000, ids[5]: 0}
    account = remaining.account_of(plan, set(ids))
    assert account.left_s() == pytest.approx(plan.duration_s, abs=1)


def test_a_runs_terminal_and_its_file_read_one_account(tmp_path: Path) -> None:
    asked = campaign.parse(
        CAMPAIGN.format(top='repetitions = 2\nsettle = "20 ms"', size="8 MiB", meter=STEADY)
    )
    account = Remaining({trial.id: 1e6 for trial in asked.trials})
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    seen: list[tuple[str, int]] = []

    def terminal(notice: Notice) -> None:
        seen.append((notice.kind, account.kept_count))

    runner.run(asked, results, terminal, account=account)
    # counted before the terminal hears of it
    assert [count for kind, count in seen if kind == "kept"] == [1, 2]
    states = [state for _, state in progress.read(results.folder).states]
    assert max(state.left_s for state in states) > 1e5  # of the account that was given
    assert (states[-1].kept_count, states[-1].trials_count, states[-1].left_s) == (2, 2, 0)
