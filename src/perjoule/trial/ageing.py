"""What a file system went through before its trials: its times and its joules, in emulated time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perjoule.model import Record, Series, value_at
from perjoule.trial.reading import Reading


@dataclass(frozen=True)
class AgeingFact:
    """The ageing of one deployment.

    Times and joules are emulated; `energy_j` is None if no meter covers the servers.
    """

    folder: str
    full_before_ratio: float
    full_ratio: float
    usable_bytes: int
    files_count: int
    written_bytes: int
    deleted_bytes: int
    overwritten_bytes: int
    overwrites_count: int
    seed: int
    duration_s: float
    energy_j: float | None


def ageing(record: Record) -> AgeingFact | None:
    """Return what a trial's file system had been through; None if it was new, or the record is not whole."""
    facts = record.facts.get("aged")
    if not isinstance(facts, Mapping):
        return None
    numbers = {
        key: value
        for key, value in facts.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    try:
        counts = {key: int(numbers[key]) for key in _COUNTS}
        return AgeingFact(
            folder=str(facts["folder"]),
            full_before_ratio=float(numbers["full_before_ratio"]),
            full_ratio=float(numbers["full_ratio"]),
            duration_s=Reading(record).dilation.emulated(numbers["ended_s"] - numbers["began_s"]),
            energy_j=numbers.get("energy_j"),
            **counts,
        )
    except (KeyError, ValueError, OverflowError):
        return None


_COUNTS = (
    "usable_bytes",
    "files_count",
    "written_bytes",
    "deleted_bytes",
    "overwritten_bytes",
    "overwrites_count",
    "seed",
)


def energy_j(record: Record, series: Sequence[Series]) -> float | None:
    """Return the energy of the servers from the first file to the last, without the wait until they were
    quiet.

    None if no meter covers them all.
    """
    began_s, ended_s = (value_at(record.facts, "aged", key) for key in ("began_s", "ended_s"))
    if not isinstance(began_s, int | float) or not isinstance(ended_s, int | float):
        return None
    reading = Reading(record, series, (began_s, ended_s))  # meters of their own record an ageing
    net_j = reading.servers(began_s, ended_s).net_j
    return None if net_j is None else reading.dilation.emulated(net_j)
