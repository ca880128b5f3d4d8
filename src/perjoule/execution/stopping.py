"""Trials that are no longer needed, for a campaign that repeats until an interval is narrow enough.

Every attempt is kept and counts. A combination is settled when the metric's interval is narrow enough in each
of its directions. If it never gives the metric (no meter, a refused energy), more repetitions would not help:
it ends with the least count.
"""

from collections.abc import Container, Mapping
from dataclasses import replace

from perjoule.model import Campaign, Record, Trial
from perjoule.model.format import uncertainty_text
from perjoule.model.metrics import BY_LABEL
from perjoule.statistics.intervals import half_width_ratio
from perjoule.statistics.modes import unseen_text
from perjoule.statistics.stopping import campaign_widening, narrow_enough, stopped_interval
from perjoule.store import Results
from perjoule.summary.computing import of_trial


class StopState:
    """The state of the campaign's stop rule in a results folder; without a rule no trial is ever settled, and
    none of those that are wanted `again`.
    """

    def __init__(self, campaign: Campaign, results: Results, again: Container[str] = ()) -> None:
        self._rule, self._results, self._again = campaign.until, results, again
        self._least_count, self._widening = campaign.least_count, campaign_widening(campaign)
        # of each kept attempt: direction -> value
        self._seen: dict[tuple[str, int], Mapping[str, float]] = {}

    def settled(self, trial: Trial) -> str:
        """Return why a trial is not needed; "" if it is."""
        if self._rule is None or trial.repetition <= self._least_count or trial.id in self._again:
            return ""
        records = [record for record in self._repetitions(trial) if record.status == "valid"]
        if len(records) < self._least_count:
            return ""
        values: dict[str, list[float]] = {}
        for record in sorted(records, key=lambda r: r.trial.repetition):
            for direction, value in self._values(record).items():
                values.setdefault(direction, []).append(value)
        if not values:
            return f"{self._rule.metric} is not measured, so more repetitions would not settle it"
        if not all(
            narrow_enough(measured, self._rule.interval_ratio, self._least_count)
            for measured in values.values()
        ):
            return ""
        widest_ratio = max(
            half_width_ratio(stopped_interval(measured, self._widening)) for measured in values.values()
        )
        reached = f"{self._rule.metric} ± {uncertainty_text(widest_ratio)} % after {len(records)} repetitions"
        return f"{reached}; {unseen_text(len(records))}"

    def _repetitions(self, trial: Trial) -> list[Record]:
        """Return the last attempt at each repetition of a trial; no other record is read."""
        assert self._rule is not None
        ids = {replace(trial, repetition=number).id for number in range(1, self._rule.most_count + 1)}
        last = {entry.trial: entry for entry in self._results.entries() if entry.trial in ids}
        return [self._results.record(entry) for entry in last.values()]

    def _values(self, record: Record) -> Mapping[str, float]:
        assert self._rule is not None
        key = (record.trial.id, record.attempt)
        if key not in self._seen:
            metric = BY_LABEL[self._rule.metric].key
            points = of_trial(self._results, record).points
            self._seen[key] = {p.direction: p.metrics[metric] for p in points if metric in p.metrics}
        return self._seen[key]
