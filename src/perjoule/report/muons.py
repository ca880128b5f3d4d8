"""The muon analysis in a report: cost per event, data locality, and the physics."""

from collections.abc import Sequence
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from perjoule.figures.dimuon import Dimuon, Peak
from perjoule.model import Cell, Interval, Record
from perjoule.model.metrics import metric_of
from perjoule.model.units import JOULES
from perjoule.results.table import Table, with_interval
from perjoule.store import Results
from perjoule.workloads.hep import WINDOW_GEV, Spectrum, density, fit, spectrum

TITLES = {"jpsi": "J/ψ", "z": "Z"}
TOGETHER_COUNT = 8  # bins of the histogram in one step of the drawn spectrum
STEPS_COUNT = 150  # of a fitted curve
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
            *(_text(cell.metrics[key], per) if key in cell.metrics else "–" for _, key, per in COLUMNS),
            *(_mass(cell, name) for name in TITLES),
        )
        for cell in cells
        if "events_per_s" in cell.metrics
    ]
    headers = ("file system", "workload", "clients", *(column[0] for column in COLUMNS))
    return Table((*headers, *(f"{title} in GeV" for title in TITLES.values())), tuple(rows))


def _text(value: Interval, per: float) -> str:
    if abs(value.mean) >= 0.1 * per or not value.mean:
        return with_interval(value, per)
    half = f"{(value.high - value.low) / 2 / per:.2g}" if isfinite(value.high) else "?"
    return f"{value.mean / per:.3g} ± {half}"  # a small job has few watt-hours


def _mass(cell: Cell, name: str) -> str:
    mass, error = (cell.metrics.get(f"{name}_{what}_ev") for what in ("mass", "mass_error"))
    per = metric_of(f"{name}_mass_ev").unit.per
    return f"{mass.mean / per:.4f} ± {error.mean / per:.4f}" if mass and error else "–"


def dimuon(results: Results, records: Sequence[Record]) -> Dimuon | None:
    """Read the spectrum of the first valid analysis again; all others of the same data set have the same."""
    for record in records:
        if record.outcome and "locality_ratio" in record.outcome.measured:  # as the analysis alone reports
            try:
                return drawn(spectrum(results.folder_of(record) / "raw"))
            except (OSError, ValueError, LookupError):
                continue  # `perjoule verify` reports what is wrong with it
    return None


def drawn(seen: Spectrum) -> Dimuon:
    """Return the figure's data."""
    whole = seen.counts[: len(seen.counts) // TOGETHER_COUNT * TOGETHER_COUNT].reshape(-1, TOGETHER_COUNT).sum(axis=1)
    edges_gev = seen.edges_gev[::TOGETHER_COUNT][: len(whole) + 1]
    rows = _per_gev(edges_gev, whole)
    peaks = {name: peak for name in TITLES if (peak := _peak(name, seen))}
    return Dimuon([(mass, pairs) for mass, pairs, _ in rows if pairs > 0], peaks)


def _peak(name: str, seen: Spectrum) -> Peak | None:
    try:
        found = fit(name, seen.edges_gev, seen.counts)
    except ValueError:
        return None  # the outcome's doubts say it
    low, high = WINDOW_GEV[name]
    rows = [row for row in _per_gev(seen.edges_gev, seen.counts) if low <= row[0] <= high]
    masses_gev = np.linspace(low, high, STEPS_COUNT)
    curve = density(name, masses_gev, *found.parameters)
    words = f"{TITLES[name]}: {found.mass_gev:.4f} ± {found.mass_error_gev:.4f} GeV"
    return Peak(words, rows, [(_short(m), _short(n)) for m, n in zip(masses_gev, curve, strict=True)])


def _per_gev(edges_gev: NDArray[np.float64], counts: NDArray[np.int64]) -> list[tuple[float, float, float]]:
    """Return the middle of each bin, its counts per GeV, and their standard error."""
    middles, widths = (edges_gev[1:] + edges_gev[:-1]) / 2, np.diff(edges_gev)
    return [(_short(m), _short(n / w), _short(n**0.5 / w)) for m, n, w in zip(middles, counts, widths, strict=True)]


def _short(value: float) -> float:
    return float(f"{value:.5g}")
