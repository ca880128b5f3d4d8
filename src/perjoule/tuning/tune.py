"""Runs a tuning: the rounds of the race, then the final comparison, each a campaign in a results folder of
its own.

Nothing is kept but results folders: what comes next is decided from them each time, so a killed tuning
continues where it stopped, and a round that was begun is finished as it was written.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import expm1
from pathlib import Path

from perjoule import campaign, store
from perjoule.model import Campaign, Point
from perjoule.model.errors import CampaignError, WorkloadError
from perjoule.store import Results
from perjoule.store.disk import spoken
from perjoule.store.place import entered
from perjoule.summary import summary
from perjoule.summary.computing import of_trial
from perjoule.tuning.folder import TUNED as TUNED_FILE
from perjoule.tuning.objective import Item, Objective, value
from perjoule.tuning.outcome import TuningOutcome, gain, importance, power_w
from perjoule.tuning.race import (
    LEAST_GAIN_RATIO,
    MOST_FINAL_COUNT,
    Standing,
    first_round,
    next_round,
    standing,
    winner,
)
from perjoule.tuning.space import Setting
from perjoule.tuning.study import DEFAULT, TUNED, Study
from perjoule.tuning.surface import Block

Measure = Callable[[Campaign, Path], Results]  # what is missing of a campaign, into a results folder
USED_UP = "its trials were used up"
NO_MORE = f"no setting was expected to gain another {100 * LEAST_GAIN_RATIO:g} %"
HOPELESS_COUNT = 2  # settings that failed, of which none with a value succeeded, until that value is given up


@dataclass(frozen=True)
class RoundProgress:
    """How far a tuning is after a round."""

    round: int
    trials_count: int  # so far
    most_count: int
    best: str  # the best setting so far, in words
    gain_ratio: float  # of it over the default, as expected
    improvement_ratio: float  # the largest that is expected of any other setting


@dataclass
class _Race:
    """What was measured so far."""

    study: Study
    blocks: list[Block] = field(default_factory=list[Block])
    failed: dict[Setting, str] = field(default_factory=dict[Setting, str])  # -> why
    items: tuple[Item, ...] = ()  # that the default has
    labels: dict[Setting, str] = field(default_factory=dict[Setting, str])
    used_count: int = 0  # blocks
    rounds_count: int = 0

    def labelled(self, settings: tuple[Setting, ...]) -> Mapping[str, Setting]:
        """Return settings by label, the same ones in all rounds."""
        for setting in settings:
            default = setting == self.study.declared.space.default
            self.labels.setdefault(setting, DEFAULT if default else f"setting {len(self.labels)}")
        return {self.labels[setting]: setting for setting in settings}

    def allowed(self, setting: Setting) -> bool:
        """Return whether a setting may be measured."""
        return (
            setting not in self.failed
            and not self._hopeless(setting)
            and self.study.declared.allowed(setting)
        )

    def _hopeless(self, setting: Setting) -> bool:
        worked = [block.setting for block in self.blocks]
        return any(
            sum(failed[n] == choice for failed in self.failed) >= HOPELESS_COUNT
            and all(measured[n] != choice for measured in worked)
            for n, choice in enumerate(setting)
        )

    def standing(self) -> Standing:
        """Return what is known."""
        return standing(self.study.declared.space, self.blocks, self.allowed, self.study.tuned_campaign.seed)

    def next(self) -> tuple[Setting, ...]:
        """Return the settings of the next round; () if the race has ended."""
        if not self.blocks:
            return first_round(
                self.study.declared.space, self.study.budget, self.allowed, self.study.tuned_campaign.seed
            )
        return next_round(self.standing(), self.study.budget, self.used_count)

    def take(self, results: Results, settings: Mapping[str, Setting]) -> None:
        """Add a round. Raises CampaignError, WorkloadError: the campaign's own setting can't be tuned."""
        self.rounds_count += 1
        self.used_count += len(settings)
        self.labels |= {setting: label for label, setting in settings.items()}
        for label, setting in settings.items():
            points, reason = _measured(results, label)
            scores = self.study.objective.scores(points)
            if not self.items and label == DEFAULT:
                _require_default(points, reason, self.study.objective, results)
                self.items = tuple(scores)
            score = value(scores, self.items)
            if reason or score is None:
                self.failed[setting] = reason or f"{self.study.objective.text} was not measured"
            else:
                self.blocks.append(Block(setting, self.rounds_count, score))


def tune(
    study: Study, folder: Path, measure: Measure, tell: Callable[[RoundProgress], None]
) -> TuningOutcome:
    """Measure what is missing of a tuning and conclude.

    Raises:
        CampaignError: the campaign does not measure the metric.
        WorkloadError: the campaign's own setting failed.
        MachineError, CampaignError: whatever `measure` raises.
    """
    race = _Race(study)
    while True:
        number = race.rounds_count + 1
        place = folder / f"round-{number}"
        written = _begun(place)
        if written is None:
            if not (settings := race.next()):
                break
            written = study.round(number, race.labelled(settings))
        race.take(measure(written, place), study.labels(written))
        state = race.standing()
        tried = race.used_count * study.work_count
        most_count = (study.budget.search_count + 2 * study.budget.final_count) * study.work_count
        tell(
            RoundProgress(
                number,
                tried,
                most_count,
                study.declared.description(state.best),
                expm1(state.gain),
                expm1(state.improvement),
            )
        )
    return _concluded(race, folder, measure)


def _begun(place: Path) -> Campaign | None:
    """Return the campaign of a results folder as it was begun; None without one."""
    if not (place / "results.json").exists():
        return None
    results = store.open_results(place)
    return campaign.parse(
        results.campaign_text, source=str(place / "campaign.toml"), overrides=results.overrides, folder=place
    )


def _measured(results: Results, label: str) -> tuple[list[Point], str]:
    """Return the points of a file system, and why a trial of it failed; "" if none did."""
    records = [record for record in results.latest() if record.trial.filesystem.label == label]
    reason = next(
        (record.reason for record in records if record.status == "failed"), "" if records else "not measured"
    )
    return [point for record in records for point in of_trial(results, record).points], reason


def _require_default(points: list[Point], reason: str, objective: Objective, results: Results) -> None:
    """Check that the campaign's own setting was measured. Raises WorkloadError, CampaignError."""
    folder = str(results.folder)
    if reason:
        fault = f"the campaign's own setting failed, so there is nothing to compare with: {reason}"
        again = (
            f"see its logs with `perjoule show {shlex.quote(folder)}`; once fixed, `perjoule resume "
            f"{shlex.quote(str(results.folder.parent))} --failed`"
        )
        raise WorkloadError(fault, where=folder, next=again)
    if not objective.scores(points):
        why = next((cause for point in points for cause in point.omitted.values()), "")
        fault = f"{objective.text} was not measured" + (f": {why}" if why else "")
        raise CampaignError(fault, where=folder, next="tune for another metric with --for, or add a meter")


def _concluded(race: _Race, folder: Path, measure: Measure) -> TuningOutcome:
    """Compare the winner with the default by fresh trials, and write the tuned campaign if it is better."""
    study, state = race.study, race.standing()
    declared, shared, place = study.declared, study.budget, folder / "final"
    best = winner(declared.space, state, race.allowed)
    left_count = shared.search_count - race.used_count
    repetitions_count = min(MOST_FINAL_COUNT, shared.final_count + left_count // 2)
    written = _begun(place)
    if written is None and best != declared.space.default:
        written = study.final(best, repetitions_count)
    judged, power, trials_count, doubts = None, None, race.used_count * study.work_count, ()
    if written is not None:
        best = study.labels(written)[TUNED]
        results = measure(written, place)
        compared = summary(results)
        judged, power, doubts = (
            gain(compared.cells, study.objective.metric.key),
            power_w(compared.cells),
            compared.doubts,
        )
        trials_count += len(written.trials)
        repetitions_count = max(trial.repetition for trial in written.trials)
    outcome = TuningOutcome(
        objective=study.objective,
        winner=declared.description(best),
        changes=declared.changes(best),
        gives_up=declared.gives_up(best),
        gain=judged,
        repetitions_count=repetitions_count if written else 0,
        power_w=power if study.objective.limit_w is not None else None,
        importance=importance(
            declared.space, state.surface, less_is_better=study.objective.metric.better == "lower"
        ),
        settings_count=len(race.labels),
        failed={declared.description(setting): reason for setting, reason in race.failed.items()},
        trials_count=trials_count,
        ended=USED_UP if left_count <= 0 else NO_MORE,
        doubts=doubts,
    )
    if outcome.better:
        with spoken(folder / TUNED_FILE), entered(folder) as place:
            place.put(TUNED_FILE, study.tuned(best, outcome.sentence))
    return outcome
