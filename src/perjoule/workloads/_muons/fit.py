"""Fits of the peaks in the di-muon spectrum: maximum likelihood for counts, with errors."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perjoule.workloads._muons.data import JPSI, Particle, Z

Array = NDArray[np.float64]

ROUNDS_COUNT = 4  # of reweighting; the estimate moves by less than 1e-3 of its error after three
WINDOW_GEV = {"z": (76.0, 106.0), "jpsi": (2.7, 3.5)}
PEAKS: dict[str, Particle] = {"z": Z, "jpsi": JPSI}


@dataclass(frozen=True)
class PeakFit:
    """A peak over a background that falls like a power of the mass, slightly curved; errors are standard
    errors.

    The width is the natural one (full, at half maximum) for the Z, whose resolution is known, and the
    resolution (standard deviation) for the J/psi, whose natural width is invisible.
    """

    mass_gev: float
    mass_error_gev: float
    width_gev: float
    width_error_gev: float
    parameters: tuple[float, ...]  # of `density`


def density(name: str, mass_gev: Array, *parameters: float) -> Array:
    """Return counts per GeV at a mass: of the peak (area, mass and width come first), and of the
    background.
    """
    special: Any = importlib.import_module("scipy.special")
    area, mass, width, height, power, bend = parameters
    gauss, lorentz = (Z.resolution_gev, width / 2) if name == "z" else (width, 0.0)
    peak = np.asarray(special.voigt_profile(mass_gev - mass, abs(gauss), abs(lorentz)), dtype=np.float64)
    relative = np.log(mass_gev / PEAKS[name].mass_gev)
    return area * peak + height * np.exp(power * relative + bend * relative**2)


def fit(name: str, edges_gev: Array, counts: NDArray[np.int64]) -> PeakFit:
    """Fit a peak ("z", "jpsi") in its window.

    Iterates least squares with the model's own counts as variances: the fixed point is the maximum of the
    likelihood.

    Raises:
        ValueError: it does not converge, or there are too few counts.
    """
    optimize: Any = importlib.import_module("scipy.optimize")
    truth, (low, high) = PEAKS[name], WINDOW_GEV[name]
    inside = np.flatnonzero((edges_gev[:-1] >= low) & (edges_gev[1:] <= high))
    lows, highs = edges_gev[inside], edges_gev[inside + 1]
    middles, widths = (lows + highs) / 2, highs - lows
    window_counts = counts[inside].astype(np.float64)
    if window_counts.sum() < 10 * len(window_counts):
        raise ValueError(f"{window_counts.sum():.0f} pairs are too few")

    def model(middles: Array, *parameters: float) -> Array:
        at_edges = density(name, lows, *parameters) + density(name, highs, *parameters)
        # Simpson's integral over each bin
        return (at_edges + 4 * density(name, middles, *parameters)) / 6 * widths

    edge = window_counts[:5].sum() / widths[:5].sum()
    width = truth.width_gev or truth.resolution_gev
    parameters: Any = (
        window_counts.sum() - edge * (high - low) / 2,
        truth.mass_gev,
        width,
        edge / 2 + 1,
        -1.0,
        0.0,
    )
    error: Any = None
    try:
        for _ in range(ROUNDS_COUNT):
            sigma = np.sqrt(np.maximum(model(middles, *parameters), 1.0))
            parameters, error = optimize.curve_fit(
                model, middles, window_counts, p0=parameters, sigma=sigma, absolute_sigma=True
            )
    except RuntimeError as failure:
        raise ValueError(str(failure)) from failure
    errors = np.sqrt(np.diag(error))
    if not np.isfinite(errors).all():
        raise ValueError("the errors are not finite")
    values = tuple(float(value) for value in parameters)
    return PeakFit(values[1], float(errors[1]), abs(values[2]), float(errors[2]), values)
