"""All numbers of a results folder as data, for `perjoule show --json`."""

from collections.abc import Iterator, Sequence

from perjoule.model import Cell, Record
from perjoule.model.metrics import metric_of
from perjoule.results.mixed_users import mixes_of
from perjoule.results.replacement import replacements
from perjoule.statistics.scaling import scaling
from perjoule.statistics.winners import best
from perjoule.store import Results
from perjoule.summary import summary
from perjoule.summary.computing import of_trial


def data(several: Sequence[Results]) -> dict[str, object]:
    """Return the rows of the first results folder with all of their metrics, and what is derived from them, in SI units.

    Args:
        several: the folder, and others whose machines may replace its own.
    """
    results = several[0]
    found, records = summary(results), results.latest()
    return {
        "scales": found.scales,
        "doubts": found.doubts,
        "rows": [_row(cell) for cell in found.cells],
        "winners": [
            {"among": one.among, "workload": one.workload, "direction": one.direction, "clients_count": one.clients_count}
            | {"metric": one.metric, "best": one.best, "rivals": one.rivals, "verdict": one.verdict}
            for one in best(records, found.cells)
        ],
        "users": mixes_of(results),
        "scaling": scaling(found.cells),
        "replacements": [
            {**vars(one), "machines_count": one.machines_count, "verdict": one.verdict} for one in replacements(several)
        ],
        "budgets": [budget for record in records for budget in _budgets(results, record)],
    }


def _row(cell: Cell) -> dict[str, object]:
    metrics = {
        key: {"unit": metric_of(key).unit.si, "mean": one.mean, "low": one.low, "high": one.high, "values": one.values}
        | {"grade": cell.grade_of(metric_of(key).boundary)}
        for key, one in cell.metrics.items()
    }
    return {
        "filesystem": cell.filesystem,
        "redundancy": cell.redundancy.text if cell.redundancy else None,
        "workload": cell.workload,
        "direction": cell.direction,
        "clients_count": cell.clients_count,
        "servers_count": cell.servers_count,
        "failed_count": cell.failed_count,
        "grade": cell.grade,
        "reality": cell.reality,
        "doubts": cell.doubts,
        "omitted": cell.omitted,
        "accuracy_unknown": cell.unstated,
        "metrics": metrics,
    }


def _budgets(results: Results, record: Record) -> Iterator[dict[str, object]]:
    """Return the uncertainty budget of each energy of a trial."""
    metered = of_trial(results, record).metered
    for direction, energies in metered.energies.items() if metered else ():
        for boundary, budget in energies.budgets.items():
            terms = [{"name": term.name, "meter": term.meter, "standard_j": term.standard_j} for term in budget.terms]
            yield {
                "trial": record.trial.id,
                "direction": direction,
                "boundary": boundary,
                "energy_j": budget.value_j,
                "expanded_j": budget.expanded_j,
                "terms": terms,
                "unknown": budget.unknown,
            }
