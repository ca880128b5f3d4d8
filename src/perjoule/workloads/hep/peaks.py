"""The spectrum of a muon analysis and its peaks, as a figure shows them."""

import numpy as np
from numpy.typing import NDArray

from perjoule.model.spectrum import TITLES, MassSpectrum, Peak
from perjoule.workloads._muons.fit import WINDOW_GEV, density, fit
from perjoule.workloads.hep.report import Spectrum

TOGETHER_COUNT = 8  # bins of the histogram in one step of the drawn spectrum
STEPS_COUNT = 150  # of a fitted curve


def peaks(spectrum: Spectrum) -> MassSpectrum:
    """Return the whole spectrum in wider bins, and each peak that can be fitted."""
    wide_counts = (
        spectrum.counts[: len(spectrum.counts) // TOGETHER_COUNT * TOGETHER_COUNT]
        .reshape(-1, TOGETHER_COUNT)
        .sum(axis=1)
    )
    edges_gev = spectrum.edges_gev[::TOGETHER_COUNT][: len(wide_counts) + 1]
    rows = _per_gev(edges_gev, wide_counts)
    peak_of = {name: peak for name in TITLES if (peak := _peak(name, spectrum))}
    return MassSpectrum([(mass, pairs) for mass, pairs, _ in rows if pairs > 0], peak_of)


def _peak(name: str, spectrum: Spectrum) -> Peak | None:
    try:
        fitted = fit(name, spectrum.edges_gev, spectrum.counts)
    except ValueError:
        return None  # the outcome's doubts say it
    low, high = WINDOW_GEV[name]
    rows = [row for row in _per_gev(spectrum.edges_gev, spectrum.counts) if low <= row[0] <= high]
    masses_gev = np.linspace(low, high, STEPS_COUNT)
    curve = density(name, masses_gev, *fitted.parameters)
    title = f"{TITLES[name]}: {fitted.mass_gev:.4f} ± {fitted.mass_error_gev:.4f} GeV"
    return Peak(title, rows, [(_short(m), _short(n)) for m, n in zip(masses_gev, curve, strict=True)])


def _per_gev(edges_gev: NDArray[np.float64], counts: NDArray[np.int64]) -> list[tuple[float, float, float]]:
    """Return the middle of each bin, its counts per GeV, and their standard error."""
    middles, widths = (edges_gev[1:] + edges_gev[:-1]) / 2, np.diff(edges_gev)
    return [
        (_short(m), _short(n / w), _short(n**0.5 / w))
        for m, n, w in zip(middles, counts, widths, strict=True)
    ]


def _short(value: float) -> float:
    return float(f"{value:.5g}")
