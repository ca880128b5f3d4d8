"""Results folders to profiles of file systems, for prediction."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from perjoule import drivers, store
from perjoule.analysis.hosts import data_hosts
from perjoule.analysis.overlap import served_bytes
from perjoule.model import Direction, Json, Record
from perjoule.model.errors import CampaignError
from perjoule.prediction import Observation, Profile, observations, profile
from perjoule.store import Results
from perjoule.summary.computing import points_of


def observed(results: Results) -> tuple[tuple[Record, tuple[Observation, ...]], ...]:
    """Return the valid trials of a results folder with what each says of its file system. Raises MachineError."""
    valid = [record for record in results.latest() if record.status == "valid"]
    return tuple(
        (record, tuple(observations(record, points_of(results, [record]), _busiest(results, record)))) for record in valid
    )


def _busiest(results: Results, record: Record) -> Mapping[Direction, float]:
    """Return the bytes of the busiest data host over the mean, by direction, as counters saw them."""
    series = results.series(record)
    loads = record.outcome.results if record.outcome else ()
    found: dict[Direction, float] = {}
    directions: set[Direction] = {load.direction for load in loads}
    for direction in sorted(directions):
        served = served_bytes([load for load in loads if load.direction == direction], record, series)
        if served:
            found[direction] = max(served.values()) * len(served) / sum(served.values())
    return found


def profiles(folders: Iterable[Path]) -> Mapping[str, Profile]:
    """Fit a profile for each kind of file system in results folders.

    Raises:
        CampaignError: they hold no trial from which a prediction can learn, or releases or testbeds that don't belong together.
        MachineError: a folder can't be read.
    """
    found: dict[str, list[tuple[Record, tuple[Observation, ...]]]] = {}
    read = tuple(folders)
    for folder in read:
        for record, points in observed(store.open_results(folder)):
            if points:
                found.setdefault(record.trial.filesystem.kind, []).append((record, points))
    if not found:
        raise CampaignError(
            "no trial has what a prediction needs: hardware of the catalogue, CPU counters, data on servers",
            where=", ".join(map(str, read)),
            next="run `perjoule calibrate`, which writes such a campaign",
        )
    return {kind: _profile(kind, trials) for kind, trials in found.items()}


def _profile(kind: str, trials: Sequence[tuple[Record, tuple[Observation, ...]]]) -> Profile:
    first, _ = trials[0]
    releases = {_release(record) for record, _ in trials}
    realities = {record.traits.reality for record, _ in trials}
    if len(releases) > 1 or len(realities) > 1:
        what = " and ".join(sorted(releases if len(releases) > 1 else realities))
        raise CampaignError(f"{kind}: trials of {what} can't be mixed", next="calibrate from one of them alone")
    roles = {host.role for record, _ in trials for host in record.hosts if host.name in data_hosts(record)}
    options: Mapping[str, Json] = first.trial.filesystem.options
    return profile(
        kind,
        options,
        [point for _, points in trials for point in points],
        release=releases.pop(),
        data_roles=tuple(sorted(roles)),
        unit_bytes=drivers.filesystem(first.trial.filesystem).unit_bytes,
        emulated=realities.pop() != "real",
    )


def _release(record: Record) -> str:
    facts = record.facts.get("filesystem")
    said = str(facts.get("version", "")) if isinstance(facts, Mapping) else ""
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else said
