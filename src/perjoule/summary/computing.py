"""Records to points, and points to cells; the numbers of a trial are kept."""

from collections.abc import Sequence

from perjoule import catalogue
from perjoule.model import Campaign, Cell, Point, Record
from perjoule.model.doubts import CHANGE, METERS, Doubt
from perjoule.statistics.cells import cells
from perjoule.statistics.stopping import campaign_widening
from perjoule.statistics.trends import campaign_doubts
from perjoule.store import Results
from perjoule.store.recalculated import recalculation_of
from perjoule.summary import Summary, _trials
from perjoule.summary.campaign import campaign_of
from perjoule.summary.trial import TrialSummary, trial_summary
from perjoule.trial.reading import emulated_scales


def of_trial(results: Results, record: Record) -> TrialSummary:
    """Return the numbers of a trial; empty if it failed. Raises MachineError: its series can't be read."""
    if record.status != "valid":
        return TrialSummary()
    digest = _trials.digest(results, record)
    summary = _trials.read(results, record, digest)
    if summary is None:
        summary = trial_summary(record, results.series(record))
        _trials.write(results, record, digest, summary)
    return summary


def points_of(results: Results, records: Sequence[Record]) -> tuple[Point, ...]:
    """Return the points of all valid trials among records, in their order. Raises MachineError."""
    return tuple(point for record in records for point in of_trial(results, record).points)


def computed(results: Results, trials: Sequence[tuple[Record, TrialSummary]] | None = None) -> Summary:
    """Return the summary of a results folder from its trials. Raises MachineError, CampaignError."""
    if trials is None:
        trials = [(record, of_trial(results, record)) for record in results.latest()]
    records, points = (
        [record for record, _ in trials],
        [point for _, numbers in trials for point in numbers.points],
    )
    campaign = campaign_of(results)
    table_cells = cells_of(campaign, records, points)
    doubts = (
        *campaign_doubts(table_cells),
        *_set_aside(results),
        *_corrected(trials),
        *_recalculated(results),
    )
    return Summary(table_cells, emulated_scales(records), doubts)


def cells_of(
    campaign: Campaign | None, records: Sequence[Record], points: Sequence[Point]
) -> tuple[Cell, ...]:
    """Compute cells with the campaign's weight of the delay, and the widening by its stop rule."""
    weight = campaign.edp_weight if campaign else 1
    return cells(records, points, edp_weight=weight, widening=campaign_widening(campaign))


def _corrected(trials: Sequence[tuple[Record, TrialSummary]]) -> tuple[Doubt, ...]:
    """Say of watts that were modelled of coefficients which the catalogue has otherwise today: nobody
    should quote them.
    """
    modelled = [
        record
        for record, numbers in trials
        if any("modelled" in (point.grade, *point.grades.values()) for point in numbers.points)
    ]
    clusters = [record.hardware for record in modelled if record.hardware is not None]
    corrections = (
        (cluster.name, changed) for cluster in clusters if (changed := catalogue.corrected(cluster))
    )
    return tuple(
        METERS.corrected(cluster=name, changes=changed) for name, changed in dict.fromkeys(corrections)
    )


def _recalculated(results: Results) -> tuple[Doubt, ...]:
    """Say that watts were modelled again after the trials, and which samples counters only bound."""
    recalculation = recalculation_of(results.folder)
    if recalculation is None:
        return ()
    between_count, samples_count = recalculation.between_count, recalculation.samples_count
    date = str(recalculation.date)
    return (METERS.recalculated(date=date, between_count=between_count, samples_count=samples_count),)


def _set_aside(results: Results) -> tuple[Doubt, ...]:
    """Name the attempts that were measured but are in no number here."""
    names = results.set_aside()
    if not names:
        return ()
    return (CHANGE.set_aside(attempt=names[0], count=len(names)),)
