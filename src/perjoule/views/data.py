"""All numbers of a results folder as data, for `perjoule show --json`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perjoule.model import Cell, Record
from perjoule.model.metrics import metric_of
from perjoule.views.content import Content

if TYPE_CHECKING:
    from perjoule.summary.metered import MeteredTrial


_OF_FINDING = ("among", "workload", "direction", "clients_count", "metric", "best", "rivals", "verdict")


def as_data(content: Content) -> dict[str, object]:
    """Return a results folder's rows with all of their metrics, and what is derived, in SI units."""
    return {
        "scales": content.summary.scales,
        "doubts": content.doubts,
        "rows": [_row(cell) for cell in content.cells],
        "failed": [
            {"trial": record.trial.id, "id": record.reason_id, "reason": record.reason}
            for record in content.records
            if record.status == "failed"
        ],
        "winners": [{name: getattr(finding, name) for name in _OF_FINDING} for finding in content.winners],
        "users": content.mixes,
        "scaling": content.scaling,
        "replacements": [
            {
                **vars(replacement),
                "machines_count": replacement.machines_count,
                "verdict": replacement.verdict,
            }
            for replacement in content.replacements
        ],
        "budgets": [
            budget for record, summary in content.trials for budget in _budgets(record, summary.metered)
        ],
    }


def _row(cell: Cell) -> dict[str, object]:
    metrics = {
        key: {
            "unit": metric_of(key).unit.si,
            **{name: getattr(interval, name) for name in ("mean", "low", "high", "values")},
        }
        | {"grade": cell.grade_of(metric_of(key).boundary)}
        for key, interval in cell.metrics.items()
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


def _budgets(record: Record, metered: "MeteredTrial | None") -> Iterator[dict[str, object]]:
    """Return the uncertainty budget of each energy of a trial."""
    for direction, energies in metered.energies.items() if metered else ():
        for boundary, budget in energies.budgets.items():
            terms = [
                {"name": term.name, "meter": term.meter, "standard_j": term.standard_j}
                for term in budget.terms
            ]
            yield {
                "trial": record.trial.id,
                "direction": direction,
                "boundary": boundary,
                "energy_j": budget.value_j,
                "expanded_j": budget.expanded_j,
                "terms": terms,
                "unknown": budget.unknown,
            }
