"""How long the rest of a campaign takes: the plan, corrected by the trials so far.

A trial that a stop rule may find unnecessary counts with the chance that it is needed. Each time that the rule
is asked about a combination it goes on or is settled; with `n` answers, `m` of them to go on, the chance of
one more repetition is (m + 1) / (n + 2), and that of the k-th from here its k-th power.
"""

import time
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import replace
from types import MappingProxyType

from perjoule.campaign.plan import Plan

TRUST_RATIO = 0.1  # of the plan, as time that went by as planned: one slow first trial does not turn it over


def account_of(plan: Plan, missing: Container[str]) -> "Remaining":
    """Return the account of the missing trials of a plan."""
    missing_s = plan.missing_s(missing)
    steps = [step for step in plan.steps if step.trial.id in missing_s]
    return Remaining(
        missing_s, {step.trial.id: replace(step.trial, repetition=1).id for step in steps if step.optional}
    )


class Remaining:
    """A run's one account of the trials still to be kept or found unnecessary, and of the time that they
    take.

    The run writes it; the terminal and the file for those who watch read it, in threads of their own.

    Args:
        planned_s: the expected time of each missing trial, by trial ID, in the order of the campaign.
        optional: the combination of each trial that a stop rule may find unnecessary, by trial ID.
    """

    def __init__(
        self, planned_s: Mapping[str, float], optional: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._planned_s, self._optional = dict(planned_s), optional
        self._done_s = 0.0  # planned for what was kept
        self._answers_count = self._needed_count = 0  # of the stop rule
        self._settled: set[str] = set()  # combinations
        self._began_s = self._kept_s = time.monotonic()  # kept_s: when the last trial was kept
        self._prior_s = self._expected_s() * TRUST_RATIO
        self.trials = frozenset(planned_s)  # that were missing at the start
        self.trials_count = len(planned_s)  # without those that turned out not to be needed

    def keep(self, trial: str) -> None:
        """A trial was kept."""
        self._done_s += self._planned_s.pop(trial, 0.0)
        self._kept_s = time.monotonic()
        if trial in self._optional:
            self._answers_count += 1
            self._needed_count += 1

    def drop(self, trial: str) -> None:
        """A trial is not needed, nor is any later one of its combination."""
        self._planned_s.pop(trial, None)
        self.trials_count -= 1
        combination = self._optional.get(trial, trial)
        if combination not in self._settled:
            self._settled.add(combination)
            self._answers_count += 1

    @property
    def kept_count(self) -> int:
        """The number of trials kept."""
        return self.trials_count - len(self._planned_s)

    def left_s(self) -> float:
        """Return the time left: what is expected of the plan, corrected by the trials so far, less what the
        current one has taken; 0 at the end.
        """
        if not (planned_s := list(self._planned_s.values())):
            return 0.0
        ratio = (
            (self._kept_s - self._began_s + self._prior_s) / (self._done_s + self._prior_s)
            if self._prior_s
            else 1.0
        )
        current_s = min(time.monotonic() - self._kept_s, planned_s[0] * ratio)
        return float(max(1, round(self._expected_s() * ratio - current_s)))

    def _expected_s(self) -> float:
        """The planned time of what is missing, each trial weighted with the chance that it is needed."""
        chance = (self._needed_count + 1) / (self._answers_count + 2)
        ahead_counts = Counter[str]()
        expected_s = 0.0
        for trial, trial_s in list(self._planned_s.items()):
            combination = self._optional.get(trial)
            if combination is None:
                expected_s += trial_s
            elif combination not in self._settled:
                ahead_counts[combination] += 1
                expected_s += trial_s * chance ** ahead_counts[combination]
        return expected_s
