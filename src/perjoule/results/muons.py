"""The muon analysis: cost per event, data locality, and the physics."""

from collections.abc import Sequence
from math import isfinite

from perjoule import drivers
from perjoule.model import Cell, Record
from perjoule.model.format import with_interval
from perjoule.model.metrics import metric_of
from perjoule.model.spectrum import TITLES, MassSpectrum
from perjoule.model.units import JOULES
from perjoule.results.table import Table
from perjoule.statistics.modes import summarised_by_median
from perjoule.store import Results

COLUMNS = (  # header, metric, what one unit of it is
    *((one.label, one.key, one.unit.per) for one in map(metric_of, ("events_per_s", "energy_per_event_j"))),
    ("Wh/job", "energy_j", JOULES["Wh"]),  # a job is the analysis of the whole data set
    *((one.label, one.key, one.unit.per) for one in map(metric_of, ("locality_ratio", "network_locality_ratio"))),
)


def muons_table(cells: Sequence[Cell]) -> Table:
    """Lay out the cost of events and the fitted masses; empty if no load counted events."""
    rows = [
        (
            *(cell.filesystem, cell.workload, str(cell.clients_count)),
            *(_text(cell, key, per) if key in cell.metrics else "–" for _, key, per in COLUMNS),
            *(_mass(cell, name) for name in TITLES),
        )
        for cell in cells
        if "events_per_s" in cell.metrics
    ]
    headers = ("file system", "workload", "clients", *(column[0] for column in COLUMNS))
    return Table((*headers, *(f"{title} in GeV" for title in TITLES.values())), tuple(rows))


def _text(cell: Cell, key: str, per: float) -> str:
    value, by_median = cell.metrics[key], summarised_by_median(cell)
    if abs(value.mean) >= 0.1 * per or not value.mean or by_median:
        return with_interval(value, per, by_median=by_median)
    half = f"{(value.high - value.low) / 2 / per:.2g}" if isfinite(value.high) else "?"
    return f"{value.mean / per:.3g} ± {half}"  # a small job has few watt-hours


def _mass(cell: Cell, name: str) -> str:
    mass, error = (cell.metrics.get(f"{name}_{what}_ev") for what in ("mass", "mass_error"))
    per = metric_of(f"{name}_mass_ev").unit.per
    return f"{mass.mean / per:.4f} ± {error.mean / per:.4f}" if mass and error else "–"


def mass_spectrum(results: Results, records: Sequence[Record]) -> MassSpectrum | None:
    """Read the spectrum of the first valid analysis again; all others of the same data set have the same."""
    for record in records:
        if record.outcome:
            try:
                found = drivers.workload(record.trial.workload).mass_spectrum(results.folder_of(record) / "raw")
            except (OSError, ValueError, LookupError):
                continue  # `perjoule verify` reports what is wrong with it
            if found:
                return found
    return None
