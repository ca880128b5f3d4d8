"""The spectrum that an analysis of muon pairs finds: counts by mass, and the peaks in it with their fits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TITLES = {"jpsi": "J/ψ", "z": "Z"}  # of the peaks


@dataclass(frozen=True)
class Peak:
    """A peak in its window: (mass in GeV, pairs per GeV, their standard error) of each bin, and points of
    the fitted curve.
    """

    words: str
    seen: Sequence[tuple[float, float, float]]
    fitted: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class MassSpectrum:
    """Pairs of opposite charge: (mass in GeV, pairs per GeV) of each bin with any, in order, and the peaks
    by name.
    """

    pairs: Sequence[tuple[float, float]]
    peaks: Mapping[str, Peak]
