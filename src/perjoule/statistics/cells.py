"""Points to cells: all repetitions of one combination, with intervals, for a table's row or a figure's
mark.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from statistics import fmean, median

from perjoule.model import Cell, Direction, Interval, Point, Ran, Record, Trial, least_real
from perjoule.model.doubts import METERS, REPETITIONS
from perjoule.model.merit import edp
from perjoule.model.metrics import DURATION, EDP, EDP_RATIO, ENERGY, NET, RATES, metric_of
from perjoule.statistics import modes
from perjoule.statistics.proportionality import with_proportionality
from perjoule.statistics.stopping import stopped_interval
from perjoule.statistics.trends import window

# file system, workload, direction, clients, and the options of the trials
Key = tuple[str, str, Direction, int, str]

DIRECTIONS: tuple[Direction, ...] = ("write", "read", "mixed", "idle")
Spread = Callable[[Sequence[float]], Interval]


def cells(
    records: Sequence[Record], points: Sequence[Point], *, edp_weight: int = 1, widening: float = 1.0
) -> tuple[Cell, ...]:
    """Summarise repetitions, sorted by workload, direction, file system and clients.

    Args:
        records: the attempts at all trials; only the last attempt of a trial counts.
        points: the numbers of the valid ones.
        edp_weight: the power to which the energy-delay product takes the delay.
        widening: of intervals that decided when to stop (`stopping.campaign_widening`).

    If some repetitions lack a metric, its interval is over the others, with a doubt.
    """
    testbeds: dict[str, set[str]] = {}  # a campaign's labels distinguish testbeds by themselves
    for record in records:
        testbeds.setdefault(record.trial.filesystem.label, set()).add(record.trial.testbed.label)
    several = {label for label, testbed_labels in testbeds.items() if len(testbed_labels) > 1}
    of = {record.trial.id: record for record in records}
    grouped: dict[Key, list[Point]] = {}
    for point in points:
        grouped.setdefault(_key(point.trial, point.direction, several), []).append(point)
    failed: dict[Key, int] = {}
    for record in {record.trial.id: record for record in records}.values():
        if record.status == "failed":
            for direction in record.traits.directions:
                key = _key(record.trial, direction, several)
                failed[key] = failed.get(key, 0) + 1
    spread = partial(stopped_interval, factor=widening)
    by_key = {
        key: _cell(key, grouped.get(key, []), failed.get(key, 0), of, spread, widening)
        for key in grouped | failed
    }
    counts = Counter(key[:4] for key in by_key)
    by_key = {key: _beside_another(cell) if counts[key[:4]] > 1 else cell for key, cell in by_key.items()}
    ordered = sorted(by_key, key=lambda k: (as_read(k[1]), DIRECTIONS.index(k[2]), as_read(k[0]), *k[3:]))
    return with_proportionality(_with_edp_ratio([by_key[key] for key in ordered], edp_weight, spread))


def as_read(label: str) -> tuple[str | float, ...]:
    """Return the key that sorts labels as people read them: "load 5 %" before "load 25 %"."""
    return tuple(
        float(part) if number % 2 else part for number, part in enumerate(re.split(r"(\d+(?:\.\d+)?)", label))
    )


def filesystem_names(trial: Trial) -> tuple[str, str]:
    """Return both names that cells may have for a trial's file system: the latter where it ran on several
    testbeds.
    """
    label = trial.filesystem.label
    return label, f"{label} on {trial.testbed.label}"


def _key(trial: Trial, direction: Direction, several: Container[str]) -> Key:
    alone, with_testbed = filesystem_names(trial)
    name = with_testbed if alone in several else alone
    return name, trial.workload.label, direction, trial.clients_count, _options(trial)


def _options(trial: Trial) -> str:
    """Return what repetitions have in common, whatever their labels are: the options of their parts, and
    the events.
    """
    specs = [spec.identity() for spec in (trial.testbed, trial.filesystem, trial.workload)]
    return json.dumps([specs, [event.identity() for event in trial.events]], sort_keys=True)


def _beside_another(cell: Cell) -> Cell:
    return replace(cell, doubts=(*cell.doubts, REPETITIONS.same_name()))


def _cell(
    key: Key,
    repetitions: Sequence[Point],
    failed_count: int,
    of: Mapping[str, Record],
    spread: Spread,
    widening: float,
) -> Cell:
    filesystem, workload, direction, clients_count, _ = key
    ordered = sorted(repetitions, key=lambda p: p.trial.repetition)
    measured = [of[p.trial.id] for p in ordered if p.trial.id in of]
    names = dict.fromkeys(name for p in ordered for name, value in p.metrics.items() if isfinite(value))
    doubts = dict.fromkeys(d for p in ordered for d in p.doubts)
    omitted = {boundary: why for p in ordered for boundary, why in p.omitted.items()}
    # the mean of the repetitions that have it would be too high; net is of the same servers in each
    names = {name: None for name in names if metric_of(name).boundary not in omitted.keys() - {NET}}
    values = {
        name: [p.metrics[name] for p in ordered if isfinite(p.metrics.get(name, float("nan")))]
        for name in names
    }
    # an error that a trial has not, such as that of a meter's steps, is no number that it lacks
    errors = {key for of in map(metric_of, names) for key in (of.uncertainty, of.shared_uncertainty)}
    if lacking := [name for name in names if len(values[name]) < len(ordered) and name not in errors]:
        labels = ", ".join(dict.fromkeys(metric_of(name).label for name in lacking))
        doubts[REPETITIONS.incomplete(metrics=labels)] = None
    grades = sorted({p.grade for p in ordered if p.grade})
    if len(grades) > 1:
        doubts[METERS.grades_differ(grades=grades)] = None
    boundaries = dict.fromkeys(name for p in ordered for name in p.grades if name not in omitted)
    of_others = {
        name: "+".join(sorted({p.grades[name] for p in ordered if name in p.grades})) for name in boundaries
    }
    sources = sorted({p.source for p in ordered if p.source})
    if len(sources) > 1:
        doubts[METERS.sources_differ(sources=sources)] = None
    redundancies = list(dict.fromkeys(record.redundancy for record in measured if record.redundancy))
    if len(redundancies) > 1:
        texts = sorted(redundancy.text for redundancy in redundancies)
        doubts[REPETITIONS.redundancy_differs(redundancies=texts)] = None
    metrics = {name: spread(measured_values) for name, measured_values in values.items()}
    doubts |= dict.fromkeys(modes.doubts(metrics))
    return Cell(
        filesystem=filesystem,
        workload=workload,
        direction=direction,
        clients_count=clients_count,
        metrics=metrics,
        failed_count=failed_count,
        doubts=tuple(doubts),
        omitted=tuple(dict.fromkeys(omitted.values())),
        servers_count=max(
            (sum(host.role == "storage" for host in record.hosts) for record in measured), default=0
        ),
        grade="+".join(grades),
        redundancy=redundancies[0] if len(redundancies) == 1 else None,
        shared={name: _shared(name, ordered) for name in names if any(name in p.shared for p in ordered)},
        ran=tuple(Ran(record.trial.repetition, *window(record)) for record in measured if record.outcome),
        widening=widening,
        grades=of_others,
        unstated=tuple(dict.fromkeys(boundary for p in ordered for boundary in p.unstated)),
        reality=least_real(p.reality for p in ordered),
    )


def _shared(metric: str, repetitions: Sequence[Point]) -> dict[str, float]:
    """Return the shared errors of all repetitions of a metric, the mean of those that have the metric."""
    errors = [p.shared.get(metric, {}) for p in repetitions if metric in p.metrics]
    return {
        source: fmean(repetition_errors.get(source, 0.0) for repetition_errors in errors)
        for source in dict.fromkeys(s for repetition_errors in errors for s in repetition_errors)
    }


def _with_edp_ratio(cells: Sequence[Cell], weight: int, spread: Spread) -> tuple[Cell, ...]:
    """Divide energy-delay products by the lowest among those of the same work and grade; a single one has no
    ratio.

    The lowest is of what rows are summarised by, a mean or a median, so that the best row prints 1. The
    product compares only the same work (Erxleben et al., "Green Storage", section IV, who normalise
    likewise).
    """
    products = {index: _products(cell, weight) for index, cell in enumerate(cells) if EDP in cell.metrics}
    averages: dict[object, list[float]] = {}
    for index, values in products.items():
        average = median if modes.summarised_by_median(cells[index]) else fmean
        averages.setdefault(_work(cells[index]), []).append(average(values))
    best = {work: min(values) for work, values in averages.items() if work is not None and len(values) > 1}
    return tuple(
        replace(
            cell,
            metrics={**cell.metrics, EDP_RATIO: spread([v / best[_work(cell)] for v in products[index]])},
            shared={**cell.shared, **({EDP_RATIO: cell.shared[EDP]} if EDP in cell.shared else {})},
        )
        if index in products and _work(cell) in best
        else cell
        for index, cell in enumerate(cells)
    )


def _products(cell: Cell, weight: int) -> list[float]:
    """Return the energy-delay product of each repetition that has one."""
    products_js = cell.metrics[EDP].values
    if weight == 1:
        return list(products_js)
    energies_j = cell.metrics[ENERGY].values
    return [edp(e, product / e, weight) for product, e in zip(products_js, energies_j, strict=True)]


def _work(cell: Cell) -> object:
    """Return the key of the work: a workload, its amount and clients; None if repetitions did not do the
    same.

    A load that ends by time does as much as it can, which no other row has to match.
    """
    unit = RATES[0] if RATES[0] in cell.metrics else RATES[1]
    rates, times_s = cell.metrics[unit].values, cell.metrics[DURATION].values
    # six digits, of rounded products
    works = {f"{rate * time_s:.6g}" for rate, time_s in zip(rates, times_s, strict=False)}
    if len(works) != 1 or len(rates) != len(times_s):
        return None
    return cell.workload, cell.direction, cell.clients_count, *works, cell.grade
