"""Watts that the catalogue corrected since a record was made of them."""

from collections.abc import Mapping
from math import isclose

from perjoule.catalogue.coefficients import EFFICIENCY, LOAD, RATING, coefficients, unstated
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
    """Return the coefficients of watts that have another value, by name, with both values: 0 where one states
    no step, bend or loss without load. What only one of them has, as a board, is no correction.
    """
    current = _values(today)
    return {
        name: (before, current[name])
        for name, before in _values(former).items()
        if name in current and not isclose(before, current[name])
    }


def _values(of: Cluster) -> dict[str, float]:
    by_name = {
        name: value.value
        for name, value in coefficients(of).items()
        if name != LOAD and not name.startswith(RATING)
    }
    return by_name | dict.fromkeys(unstated(of), 0.0)
