"""Trials against the time for which hosts are lent: a batch system ends what is left of a job."""

import math
import time
from collections.abc import Sequence

from perjoule import drivers
from perjoule.campaign.plan import Plan
from perjoule.drivers.protocols import Lease, Leased
from perjoule.model import Trial
from perjoule.model.errors import Interrupted
from perjoule.model.units import seconds_text

TAKE_DOWN_S = 10.0


def beforehand(plan: Plan, trials: Sequence[Trial]) -> str:
    """Say how many trials fit into the time for which their hosts are lent; "" if all do."""
    missing_s = plan.missing_s({trial.id for trial in trials})
    testbeds = map(drivers.testbed, {trial.testbed.label: trial.testbed for trial in trials}.values())
    lease_s = min((testbed.lease_s for testbed in testbeds if isinstance(testbed, Leased)), default=math.inf)
    fitting_count, took_s = 0, TAKE_DOWN_S
    for trial_s in missing_s.values():
        took_s += trial_s
        fitting_count += took_s <= lease_s
    if fitting_count == len(missing_s):
        return ""
    return (
        f"the allocation lasts {seconds_text(lease_s)}: about {fitting_count} of {len(missing_s)} trials fit, "
        "and `perjoule resume` continues in the next one"
    )


class TrialPace:
    """How long trials take: by the plan, and by how much those so far took longer."""

    def __init__(self, plan: Plan) -> None:
        self._planned_s = {step.trial.id: step.duration_s for step in plan.steps}
        # nothing is known yet: a plan can be far off on hosts that are not in the catalogue
        self._ratio = 0.0

    def took(self, trial: Trial, took_s: float) -> None:
        """Learn from a trial."""
        self._ratio = max(self._ratio, took_s / self._planned_s[trial.id])

    def require_time(self, lease: Lease | None, remaining: Sequence[Trial], again: str) -> None:
        """Stop if the next trial does not fit into the time that is left. The first always begins.

        Raises:
            Interrupted: what is left, and how to go on (`again`).
        """
        needed_s = self._planned_s[remaining[0].id] * self._ratio
        if lease and needed_s and (left_s := lease.ends_s - time.monotonic()) < needed_s + TAKE_DOWN_S:
            ending = f"ends in {seconds_text(left_s)}" if left_s > 0 else "ends now"
            reason = f"{lease.name} {ending}, and the next trial takes about {seconds_text(needed_s)}"
            count = f"{len(remaining)} trials are left" if len(remaining) > 1 else "1 trial is left"
            raise Interrupted(f"{reason}: {count}", next=f"continue in the next allocation with: {again}")


def require_lent(lease: Lease | None, again: str) -> None:
    """Stop if hosts are no longer ours: what failed on them says nothing. Raises Interrupted."""
    if lease and (how := lease.over()):
        raise Interrupted(f"{lease.name} {how}", next=f"continue in the next allocation with: {again}")
