"""The kept numbers of trials."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from perjoule.model import Channel, Direction, Numbers, Point, Record
from perjoule.store import Results
from perjoule.summary import _kept
from perjoule.summary.metered import MeteredTrial
from perjoule.summary.timeline import Timeline
from perjoule.summary.traffic import Overhead
from perjoule.summary.trial import TrialSummary


@dataclass(frozen=True)
class _Numbers(Numbers):
    """A point without its trial, which the record has."""

    _: KW_ONLY
    direction: Direction


@dataclass(frozen=True)
class _Trial:
    """A `TrialSummary` with such points."""

    points: tuple[_Numbers, ...]
    metered: MeteredTrial | None
    timeline: Timeline | None
    overhead: Overhead | None
    watts: tuple[float, ...]
    periods: tuple[tuple[Channel, float], ...]


def digest(results: Results, record: Record) -> str:
    """Return the digest of a trial's inputs."""
    folder = results.folder_of(record)
    inputs = (*(folder / name for name in _kept.MEASURED), *sorted((results.folder / "joined").glob("*")))
    return _kept.digest_of(_kept.states(results.folder, inputs))


def read(results: Results, record: Record, digest: str) -> TrialSummary | None:
    """Read the kept numbers of a trial; None if they must be computed."""
    numbers = _kept.read(_place(results, record), digest, _Trial)
    if numbers is None:
        return None
    points = (
        Point(n.by_key, n.doubts, trial=record.trial, direction=n.direction, reality=record.traits.reality)
        for n in numbers.points
    )
    return TrialSummary(
        tuple(points), numbers.metered, numbers.timeline, numbers.overhead, numbers.watts, numbers.periods
    )


def write(results: Results, record: Record, digest: str, summary: TrialSummary) -> None:
    """Keep the numbers of a trial."""
    points = tuple(_Numbers(p.by_key, p.doubts, direction=p.direction) for p in summary.points)
    numbers = _Trial(
        points, summary.metered, summary.timeline, summary.overhead, summary.watts, summary.periods
    )
    _kept.write(_place(results, record), digest, numbers)


def _place(results: Results, record: Record) -> Path:
    return _kept.place(results, f"{record.trial.id}-attempt-{record.attempt}")
