"""Watts that the catalogue corrected since a record was made of them."""

from perjoule.catalogue.coefficients import EFFICIENCY, LOAD, RATING, coefficients
from perjoule.catalogue.finding import choices, cluster
from perjoule.model.format import estimate
from perjoule.model.hardware import Cluster

RATIO = 1e-9  # of a value: what writing it down may change


def corrected(kept: Cluster) -> tuple[str, ...]:
    """Name the watts of a record's hardware that the catalogue has otherwise today, each with both values."""
    if kept.name not in choices():
        return ()
    today = coefficients(cluster(kept.name))
    watts = {
        name: value
        for name, value in coefficients(kept).items()
        if name != LOAD and not name.startswith(RATING)
    }
    return tuple(
        f"{name} {estimate(old.value)}{unit}, now {estimate(new.value)}{unit}"
        for name, old in watts.items()
        for unit in ("" if name == EFFICIENCY else " W",)
        if (new := today.get(name)) is not None and abs(new.value - old.value) > RATIO * abs(old.value)
    )
