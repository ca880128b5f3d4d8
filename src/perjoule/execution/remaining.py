"""How long the rest of a campaign takes: the plan, corrected by the trials so far."""

import time
from collections.abc import Container, Mapping

from perjoule.campaign.plan import Plan

TRUST_RATIO = 0.1  # of the plan, as time that went by as planned: one slow first trial does not turn it over


def planned_s(plan: Plan, missing: Container[str]) -> Mapping[str, float]:
    """Return the expected time of each missing trial, including its share of the deployments, by trial ID."""
    share_s = plan.deployments_s / max(1, len(plan.steps))
    return {step.trial.id: step.duration_s + share_s for step in plan.steps if step.trial.id in missing}


class Remaining:
    """A run's one account of the trials still to be kept or found unnecessary, and of the time that they
    take.

    The run writes it; the terminal and the file for those who watch read it, in threads of their own.

    Args:
        planned_s: the expected time of each missing trial, by trial ID.
    """

    def __init__(self, planned_s: Mapping[str, float]) -> None:
        self._planned_s = dict(planned_s)
        self._total_s = sum(planned_s.values())
        self._began_s = self._kept_s = time.monotonic()  # kept_s: when the last trial was kept
        self.trials = frozenset(planned_s)  # that were missing at the start
        self.trials_count = len(planned_s)  # without those that turned out not to be needed

    def keep(self, trial: str) -> None:
        """A trial was kept."""
        self._planned_s.pop(trial, None)
        self._kept_s = time.monotonic()

    def drop(self, trial: str) -> None:
        """A trial is not needed."""
        self._planned_s.pop(trial, None)
        self.trials_count -= 1

    @property
    def kept_count(self) -> int:
        """The number of trials kept."""
        return self.trials_count - len(self._planned_s)

    def left_s(self) -> float:
        """Return the time left: the plan, corrected by the trials so far, less what the current one has
        taken; 0 at the end.
        """
        if not (left_s := list(self._planned_s.values())):
            return 0.0
        rest_s = sum(left_s)
        prior_s = self._total_s * TRUST_RATIO
        ratio = (
            (self._kept_s - self._began_s + prior_s) / (self._total_s - rest_s + prior_s) if prior_s else 1.0
        )
        current_s = left_s[0] * ratio
        return float(max(1, round(rest_s * ratio - min(time.monotonic() - self._kept_s, current_s))))
