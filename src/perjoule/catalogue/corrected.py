"""Watts that the catalogue corrected since a record was made of them."""

from collections.abc import Mapping
from math import isclose

from perjoule.catalogue.coefficients import EFFICIENCY, LOAD, RATING, coefficients
from perjoule.catalogue.finding import choices, cluster
from perjoule.model.format import estimate
from perjoule.model.hardware import Cluster


def corrected(recorded: Cluster) -> tuple[str, ...]:
    """Name the watts of a record's hardware that the catalogue has otherwise today, each with both values."""
    if recorded.name not in choices():
        return ()
    return tuple(
        f"{name} {estimate(before)}{unit}, now {estimate(today)}{unit}"
        for name, (before, today) in moved(recorded, cluster(recorded.name)).items()
        for unit in ("" if name == EFFICIENCY else " W",)
    )


def moved(former: Cluster, today: Cluster) -> Mapping[str, tuple[float, float]]:
    """Return the coefficients of watts that have another value, by name, with both values."""
    current = coefficients(today)
    return {
        name: (before.value, current[name].value)
        for name, before in coefficients(former).items()
        if name != LOAD
        and not name.startswith(RATING)
        and name in current
        and not isclose(before.value, current[name].value)
    }
