"""The muon analysis: cost per event, data locality, and the physics, with the spectrum of muon pairs."""

from collections.abc import Iterator, Sequence
from math import isfinite

from perjoule.figures.vega import FULL_WIDTH, PANEL_WIDTH, Spec, titled
from perjoule.measures.physics import PER_EVENT, RATE
from perjoule.model import Cell, Record
from perjoule.model.format import with_half, with_interval
from perjoule.model.metrics import ENERGY, LOCALITY, NET, NETWORK_LOCALITY, metric_of
from perjoule.model.spectrum import TITLES, MassSpectrum, Peak
from perjoule.model.units import JOULES
from perjoule.results.table import Table, total_ends
from perjoule.statistics.modes import summarised_by_median
from perjoule.store import Results
from perjoule.views.content import Content
from perjoule.views.view import Shown, View

HEIGHT = 200


def dimuon(spectrum: MassSpectrum, *, notes: Sequence[str] = ()) -> Spec:
    """Draw the whole spectrum on logarithmic axes, and below it each peak with its fit."""
    full: Spec = {
        "width": FULL_WIDTH,
        "height": HEIGHT,
        "data": {"values": [{"mass": mass, "pairs": pairs} for mass, pairs in spectrum.pairs]},
        "mark": {"type": "line", "interpolate": "step", "strokeWidth": 1.2},
        "encoding": {
            "x": {"field": "mass", **_axis("mass of the pair in GeV", "log")},
            "y": {"field": "pairs", **_axis("pairs per GeV", "log")},
        },
    }
    panels = [_panel(peak) for peak in spectrum.peaks.values()]
    return titled(
        {"vconcat": [full, {"hconcat": panels, "spacing": 24}], "spacing": 24}, "Mass of muon pairs", notes
    )


def _panel(peak: Peak) -> Spec:
    points = [{"mass": m, "pairs": n, "low": n - error, "high": n + error} for m, n, error in peak.seen]
    x, y = _axis("mass of the pair in GeV", "linear"), _axis("pairs per GeV", "linear")
    layers: list[Spec] = [
        {"mark": {"type": "rule"}, "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}}},
        {
            "mark": {"type": "point", "filled": True, "size": 14, "opacity": 1},
            "encoding": {"y": {"field": "pairs", **y}},
        },
        {
            "data": {"values": [{"mass": m, "pairs": n} for m, n in peak.fitted]},
            "mark": {"type": "line", "strokeWidth": 1.6},
            "encoding": {"y": {"field": "pairs", **y}, "color": {"value": "#d97400"}},
        },
    ]
    heading = {"text": peak.words, "fontSize": 13, "frame": "group", "offset": 8}
    shared: Spec = {"x": {"field": "mass", **x}}
    return {
        "title": heading,
        "width": PANEL_WIDTH,
        "height": HEIGHT,
        "data": {"values": points},
        "encoding": shared,
        "layer": layers,
    }


def _axis(title: str, kind: str) -> Spec:
    return {"type": "quantitative", "title": title, "scale": {"type": kind, "zero": False, "nice": False}}


COLUMNS = (  # header, metric, what one unit of it is
    *((metric.label, metric.key, metric.unit.per) for metric in (RATE, PER_EVENT[NET])),
    ("Wh/job", ENERGY, JOULES["Wh"]),  # a job is the analysis of the whole data set
    *((metric.label, metric.key, metric.unit.per) for metric in map(metric_of, (LOCALITY, NETWORK_LOCALITY))),
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
        if RATE.key in cell.metrics
    ]
    headers = ("file system", "workload", "clients", *(column[0] for column in COLUMNS))
    return Table((*headers, *(f"{title} in GeV" for title in TITLES.values())), tuple(rows))


def _text(cell: Cell, key: str, per: float) -> str:
    value, by_median = cell.metrics[key], summarised_by_median(cell)
    text = with_interval(value, per, by_median=by_median)
    small = 0 < abs(value.mean) < 0.1 * per and not by_median
    if not small and "±" not in text:
        return text
    low, high = total_ends(cell, key)
    half = (high - low) / 2 / per
    if small:  # a job with few watt-hours
        return f"{value.mean / per:.3g} ± {f'{half:.2g}' if isfinite(half) else '?'}"
    return with_half(value.mean / per, half)


def _mass(cell: Cell, name: str) -> str:
    mass, error = (cell.metrics.get(f"{name}_{key}_ev") for key in ("mass", "mass_error"))
    per = metric_of(f"{name}_mass_ev").unit.per
    return f"{mass.mean / per:.4f} ± {error.mean / per:.4f}" if mass and error else "–"


def mass_spectrum(results: Results, records: Sequence[Record]) -> MassSpectrum | None:
    """Read the spectrum of the first valid analysis again; all others of the same data set have the same."""
    from perjoule import drivers

    for record in records:
        if record.outcome:
            try:
                spectrum = drivers.workload(record.trial.workload).mass_spectrum(
                    results.folder_of(record) / "raw"
                )
            except (OSError, ValueError, LookupError):
                continue  # `perjoule verify` reports what is wrong with it
            if spectrum:
                return spectrum
    return None


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if spectrum := mass_spectrum(content.results, content.records):
        pairs = (
            "pairs of opposite charge of one trial; below: standard errors, and the fit of a peak over a "
            "background"
        )
        yield "dimuon", dimuon(spectrum, notes=[pairs, *content.notes])


VIEW = View(
    rank=180,
    title="The muon analysis",
    tables=(
        Shown(
            lambda content: muons_table(content.cells),
            "The muon analysis",
            note="A job is the analysis of the whole data set. J and Wh are those of the servers, without switch and "
            "clients: an analysis that runs on clients looks cheaper than it is. Local by placement: the "
            "share read on a host that holds the file; local by network: the share that the analysing "
            "hosts did not receive from other hosts. Masses have standard errors.",
        ),
    ),
    figures=_figures,
)
