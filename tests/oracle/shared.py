"""What all repetitions of a row share: docs/explanations/uncertainty.md, "What a comparison shares"."""

import json
from collections.abc import Sequence

import numpy as np

from .boundary import boundaries, cover
from .energy import beside_idle, joules
from .folder import Attempt
from .numbers import durable_s

Sources = dict[str, float]  # by the error's source, its relative standard uncertainty


def sources(attempt: Attempt) -> Sources:
    """Those of the energy of a trial's servers, of channels that add up; their meters state no latency, no
    clock and no resolution.

    Errors that meters of one name share add up linearly.
    """
    results = attempt.record["outcome"]["results"]
    began_s, ended_s = min(r["began_s"] for r in results), durable_s(attempt, results)
    errors_j, energy_j = Sources(), 0.0
    for sign, samples in cover(attempt, boundaries(attempt)[""]):
        name, stated = (
            samples["meter"].iloc[0],
            json.loads(samples["more"].iloc[0] or "{}").get("specification", {}),
        )
        own_j = joules(samples, began_s, ended_s) + beside_idle(samples, began_s, ended_s, attempt.idle)
        counter = samples["semantics"].iloc[0] == "counter"
        offset_j = stated.get("offset", 0.0) * (np.sqrt(2) if counter else ended_s - began_s)
        for source, error_j in (("gain", stated.get("gain_ratio", 0.0) * own_j), ("offset", offset_j)):
            errors_j[f"{name}: {source}"] = errors_j.get(f"{name}: {source}", 0.0) + error_j / np.sqrt(3)
        energy_j += sign * own_j
    return {source: error_j / energy_j for source, error_j in errors_j.items()}


def of_row(repetitions: Sequence[Attempt]) -> Sources:
    """The mean of a row's repetitions."""
    each = [sources(attempt) for attempt in repetitions]
    return {
        name: float(np.mean([own.get(name, 0.0) for own in each]))
        for name in {n for own in each for n in own}
    }


def variance(one: Sources, other: Sources) -> float:
    """Of the logarithm of a ratio: the differences of each source, in quadrature."""
    return sum((one.get(name, 0.0) - other.get(name, 0.0)) ** 2 for name in {*one, *other})
