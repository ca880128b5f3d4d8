"""The first screen: the question, and for each workload the answer in one sentence; "no clear winner" is
an answer too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perjoule.model import Cell
from perjoule.model.metrics import EVENT_COSTS, IDLE, PER_JOULE, RATES, metric_of
from perjoule.model.units import clients_text, listed
from perjoule.report.methods import GRADES
from perjoule.results.limitations import graded
from perjoule.results.table import load_text, pair_texts, row_text, with_meter
from perjoule.statistics.winners import Finding
from perjoule.views.content import Content

NO_WINNER = "No clear winner"
ANSWERS_COUNT = 8  # on the first screen; the table of the best has all
# A workload is judged by bytes, or else by operations; an idle file system by the capacity that a watt keeps.
_JUDGED: tuple[tuple[str, ...], ...] = (*zip(RATES, PER_JOULE, strict=True), IDLE[:1])


@dataclass(frozen=True)
class WorkloadAnswer:
    """Who is best with the most clients of a workload."""

    heading: str  # "fio write, 4 clients"
    headline: str  # "CephFS wins", or NO_WINNER
    sentence: str


def question(content: Content) -> str:
    """Return what the campaign asked."""
    if content.claims:
        return f"Do the claims of “{content.paper.title}” hold here?"
    systems = list(dict.fromkeys(cell.filesystem for cell in content.cells))
    if not systems:
        return "Nothing was measured: no trial is valid."
    units = [
        metric_of(key).unit.symbol
        for keys in _JUDGED
        for key in keys
        if any(key in cell.metrics for cell in content.cells)
    ]
    if len(systems) == 1:
        return f"How many {listed(units[:2])} does {systems[0]} reach?"
    return f"Which of {listed(systems)} reaches the most {', and the most '.join(units[:2])}?"


def answers(content: Content) -> Iterator[WorkloadAnswer]:
    """Answer for each workload, with the most clients that it was measured with."""
    for workload, direction in dict.fromkeys((cell.workload, cell.direction) for cell in content.cells):
        cells = [cell for cell in content.cells if (cell.workload, cell.direction) == (workload, direction)]
        most = max(cell.clients_count for cell in cells)
        cells = [cell for cell in cells if cell.clients_count == most]
        metrics = next((p for p in _JUDGED if any(p[0] in cell.metrics for cell in cells)), ())
        load = load_text(workload, direction)
        findings = [
            finding
            for metric in metrics
            for finding in content.winners
            if (finding.among, finding.workload, finding.direction, finding.clients_count, finding.metric)
            == ("", workload, direction, most, metric)
        ]
        if findings:
            yield WorkloadAnswer(
                f"{load}, {clients_text(most)}",
                _headline(findings),
                _sentence(findings, cells) + _events(cells),
            )
        elif metrics:
            yield _alone(f"{load}, {clients_text(most)}", cells, metrics)


def _alone(heading: str, cells: Sequence[Cell], metrics: Sequence[str]) -> WorkloadAnswer:
    """Say what the only one that did this work reached."""
    best = max(
        (cell for cell in cells if metrics[0] in cell.metrics), key=lambda cell: cell.metrics[metrics[0]].mean
    )
    reached = [f"{with_meter(best, key)} {_unit(key)}" for key in metrics if key in best.metrics]
    sentence = f"{best.filesystem} is the only one measured: it reaches {' and '.join(reached)}."
    return WorkloadAnswer(heading, reached[0], sentence + _events(cells))


def _events(cells: Sequence[Cell]) -> str:
    """Say what events cost each file system, if something happened to servers: a sentence of its own."""
    costs: dict[str, list[str]] = {}
    for cell in cells:
        for key in (key for key in EVENT_COSTS if key in cell.metrics):
            cost = f"{row_text(cell, key)} {metric_of(key).label}"
            costs.setdefault(cell.filesystem, []).append(cost)
    each = (f"{filesystem} {', '.join(costs_of)}" for filesystem, costs_of in costs.items())
    return f" With events: {'; '.join(each)}." if costs else ""


def clear(finding: Finding) -> bool:
    """Whether the best is significantly better than every other one."""
    return not finding.grades and not finding.rivals


def _headline(findings: Sequence[Finding]) -> str:
    won = {_unit(finding.metric): finding.best for finding in findings if clear(finding)}
    if not won:
        return NO_WINNER
    if len(won) == len(findings) and len(set(won.values())) == 1:
        return f"{findings[0].best} wins"
    winners = [
        f"{won[unit]} wins in {unit}" if (unit := _unit(finding.metric)) in won else f"none in {unit}"
        for finding in findings
    ]
    return ", ".join(winners)


def _sentence(findings: Sequence[Finding], cells: Sequence[Cell]) -> str:
    reached = [_reached(finding, cells) for finding in findings]
    judged = [_judged(finding) for finding in findings]
    # the page says once, below, in what
    differs = "; redundancy differs" if any(map(_unequal, findings)) else ""
    # where the power is steady
    if len({finding.best for finding in findings}) == 1 and len(set(judged)) == 1:
        return f"{findings[0].best} reaches {' and '.join(reached)}{judged[0]}{differs}."
    clauses = [
        f"{finding.best} reaches {reach}{judgement}"
        for finding, reach, judgement in zip(findings, reached, judged, strict=True)
    ]
    return "; ".join(clauses) + differs + "."


def _unequal(finding: Finding) -> bool:
    """Whether the best is ranked against one that it stores another redundancy than."""
    return not finding.grades and any(
        verdict.redundancy and not verdict.refused for verdict in finding.verdicts.values()
    )


def _reached(finding: Finding, cells: Sequence[Cell]) -> str:
    best = next(cell for cell in cells if cell.filesystem == finding.best)
    return f"{with_meter(best, finding.metric)} {_unit(finding.metric)}"


def _judged(finding: Finding) -> str:
    """Say how the best compares with the second, and with those that it is not better than: the end of a
    sentence.
    """
    second, verdict = next(iter(finding.verdicts.items()))
    if finding.grades or verdict.refused:
        return f"; {finding.plain_verdict}"
    ratio, p = pair_texts(verdict)
    chance = f"p {p if p.startswith('<') else f'= {p}'}"
    if clear(finding):
        return f", {ratio} times {second}, the second best ({chance})"
    return f", {ratio} times {second} ({chance}): {finding.plain_verdict}"


def _unit(metric: str) -> str:
    return metric_of(metric).unit.symbol


def redundancy(cells: Sequence[Cell]) -> tuple[str, bool]:
    """Say the redundancy of all, and whether it differs between file systems."""
    names_of: dict[str, dict[str, None]] = {}
    for cell in cells:
        names_of.setdefault(cell.redundancy.sentence if cell.redundancy else "not known", {})[
            cell.filesystem
        ] = None
    if len(names_of) == 1:
        return next(iter(names_of)), False
    return "; ".join(f"{listed(list(names))}: {sentence}" for sentence, names in names_of.items()), True


def watts(cells: Sequence[Cell], recalculated_on: str = "") -> tuple[str, bool]:
    """Say how the watts were obtained, and whether that needs a warning: they were not measured, or not
    all alike.
    """
    grades = list(dict.fromkeys(grade for cell in cells if cell.grade for grade in cell.grade.split("+")))
    if not grades:
        return "none: no meter of power covered the servers", True
    meanings = ((grade, GRADES.get(grade, grade)) for grade in grades)
    text = "; ".join(how if how.startswith(grade) else f"{grade}: {how}" for grade, how in meanings)
    text += f"; recalculated on {recalculated_on} with corrected coefficients" if recalculated_on else ""
    return text, len(grades) > 1 or "not measured" in text


def reality(content: Content) -> tuple[str, bool]:
    """Say what the hosts were, and whether that needs a warning: they were simulated or emulated."""
    came, places = graded(content.records), ", ".join(content.clusters)
    if "simulated" in came:
        return f"simulated{f' {places}' if places else ''}: nothing real was measured", True
    if came or any(record.traits.reality == "emulated" for record in content.records):
        return f"{places}, {came or 'emulated'}".removeprefix(", "), True
    return places or listed(sorted({record.trial.testbed.kind for record in content.records})), False
