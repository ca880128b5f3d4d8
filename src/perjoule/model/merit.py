"""Figures of merit of work, time and energy, as T. L. Erxleben et al., "Green Storage", section IV."""


def edp(energy_j: float, duration_s: float, weight: int = 1) -> float:
    """Return the energy-delay product E * t^w, in J s^w; it compares only the same work."""
    return energy_j * duration_s**weight
