"""Predict first, measure later: pledges, the trials that were measured after them, and how wrong predictions
have been.

A pledge is a file with predictions, the moment at which they were made, and a digest of all of it. A trial is
joined to it if it began later, on the same hardware, with the same redundancy, direction, clients and bytes
for each client.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, log
from statistics import median
from types import MappingProxyType

from perjoule import __version__
from perjoule.machine.untrusted import from_json, json_from
from perjoule.model import Direction, Json, Record, Redundancy
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster
from perjoule.model.metrics import METRICS, POWER, RANKED, Metric
from perjoule.prediction import Observation, Prediction, Target
from perjoule.prediction.targets import fleet_of
from perjoule.results.calibration import observed
from perjoule.store import Results
from perjoule.store.records import to_json

FORMAT = "perjoule pledge"
_RATE, _WORK = (METRICS[key] for key in RANKED)
_WATTS = METRICS[POWER]


@dataclass(frozen=True)
class Pledged:
    """One prediction, with all that a measured point must share with it."""

    prediction: Prediction
    servers_count: float
    server_network_bytes_per_s: float
    server_mips: float
    disk_read_bytes_per_s: float
    disk_write_bytes_per_s: float
    server_memory_bytes: float | None = None  # a pledge of an earlier version does not say it


@dataclass(frozen=True)
class Pledge:
    """Predictions as they were made."""

    format: str
    made_s: float  # UTC
    perjoule: str
    kind: str
    profile: str  # digest of what was predicted from
    cluster: str
    predictions: tuple[Pledged, ...]
    version: int = 1


def pledged(target: Target, predictions: Sequence[Prediction]) -> str:
    """Return the text of a pledge's file."""
    rows: list[Pledged] = []
    fleet = fleet_of(target, 1)
    for prediction in predictions:
        rows.append(
            Pledged(
                prediction,
                float(fleet.servers_count),
                float(fleet.server_network_bytes_per_s),
                float(fleet.server_mips),
                float(fleet.disk_read_bytes_per_s),
                float(fleet.disk_write_bytes_per_s),
                float(fleet.server_memory_bytes),
            )
        )
    pledge = Pledge(
        FORMAT,
        time.time(),
        __version__,
        target.profile.kind,
        target.profile.digest,
        target.cluster.name,
        tuple(rows),
    )
    content = to_json(pledge)
    assert isinstance(content, dict)
    return json.dumps({**content, "digest": _digest(content)}, indent=1) + "\n"


def _digest(content: Mapping[str, Json]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read(text: str, name: str) -> Pledge:
    """Read a pledge. Raises CampaignError: it is none, or was changed after it was made."""
    try:
        content: Json = json_from(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f'its format is not "{FORMAT}"')
        digest = content.pop("digest", None)
        pledge = from_json(Pledge, content)
    except ValueError as error:
        raise CampaignError(
            f"not a pledge: {error}", where=name, next="write one with `perjoule predict --pledge`"
        ) from None
    if digest != _digest(content):
        raise CampaignError(
            "the pledge was changed after it was made", where=name, next="predict and measure again"
        )
    return pledge


@dataclass(frozen=True)
class LedgerSide:
    """One metric of a pledged prediction beside what was measured since."""

    metric: Metric
    predicted: tuple[float, float, float]  # the value and the ends of its 90 % band
    measured: tuple[float, ...]
    ranged: bool  # the prediction is a range, without a value

    @property
    def error(self) -> float | None:
        """ln(predicted / median measured); None: nothing was measured, or the prediction has no value."""
        return None if self.ranged or not self.measured else log(self.predicted[0] / median(self.measured))

    @property
    def held(self) -> bool | None:
        """Whether the band holds the median; None: nothing was measured."""
        return self.predicted[1] <= median(self.measured) <= self.predicted[2] if self.measured else None


@dataclass(frozen=True)
class Joined:
    """A pledged prediction and the trials that were measured after it."""

    kind: str
    prediction: Prediction
    measured_bytes_per_s: tuple[float, ...]
    measured_w: tuple[float, ...]
    measured_bytes_per_j: tuple[float, ...]
    earlier_count: int  # trials like it that had begun before the pledge: they prove nothing
    memory_count: int  # later ones like it, but for the memory of the servers
    grades: tuple[str, ...] = ()  # of the watts

    @property
    def sides(self) -> tuple[LedgerSide, ...]:
        """Throughput, watts and work per joule."""
        prediction, ranged = self.prediction, bool(self.prediction.rests_on)
        return (
            LedgerSide(_RATE, prediction.throughput_bytes_per_s, self.measured_bytes_per_s, ranged),
            LedgerSide(_WATTS, prediction.mean_w, self.measured_w, ranged),
            LedgerSide(_WORK, prediction.efficiency_bytes_per_j, self.measured_bytes_per_j, ranged),
        )

    @property
    def held(self) -> bool | None:
        """Whether all bands hold what was measured; None: nothing was."""
        verdicts = [side.held for side in self.sides if side.held is not None]
        return all(verdicts) if verdicts else None


def joined(
    pledges: Iterable[Pledge], results: Iterable[Results], cluster: Cluster | None = None
) -> tuple[Joined, ...]:
    """Join pledges to measured trials, hosts without known hardware as those of a cluster.

    Raises MachineError: a folder can't be read.
    """
    trials: list[tuple[str, float, Observation]] = []
    grades: dict[tuple[str, Direction], str] = {}
    for measured in (
        measured for folder in results for measured in observed(folder, cluster) if measured.observations
    ):
        trial = measured.record.trial
        trials += [
            (trial.filesystem.kind, began_s(measured.record), point) for point in measured.observations
        ]
        grades |= {(trial.id, point.direction): point.grade for point in measured.points}
    return tuple(join(pledge, row, trials, grades) for pledge in pledges for row in pledge.predictions)


def began_s(record: Record) -> float:
    """Return when the first client of a valid trial began, UTC."""
    assert record.outcome is not None
    return record.clock.utc_s + record.outcome.began_s - record.clock.monotonic_s


def join(
    pledge: Pledge,
    row: Pledged,
    trials: Sequence[tuple[str, float, Observation]],
    grades: Mapping[tuple[str, Direction], str] = MappingProxyType({}),
) -> Joined:
    """Join one pledged prediction to trials: kind of file system, begin (UTC), and point of each; grades
    of watts by trial.
    """
    alike = [(began, point) for kind, began, point in trials if kind == pledge.kind and _same(row, point)]
    same_memory = [(began, point) for began, point in alike if _same_memory(row, point)]
    later = [point for began, point in same_memory if began > pledge.made_s]
    return Joined(
        kind=pledge.kind,
        prediction=row.prediction,
        measured_bytes_per_s=tuple(point.throughput_bytes_per_s for point in later),
        measured_w=tuple(point.mean_w for point in later if point.mean_w is not None),
        measured_bytes_per_j=tuple(
            point.throughput_bytes_per_s / point.mean_w for point in later if point.mean_w is not None
        ),
        earlier_count=len(same_memory) - len(later),
        memory_count=sum(began > pledge.made_s for began, _ in alike) - len(later),
        grades=tuple(
            sorted(
                {grades.get((point.source, point.case.direction), "") for point in later if point.mean_w}
                - {""}
            )
        ),
    )


def _same_memory(row: Pledged, point: Observation) -> bool:
    return row.server_memory_bytes is None or isclose(
        row.server_memory_bytes, float(point.case.fleet.server_memory_bytes)
    )


def _same(row: Pledged, point: Observation) -> bool:
    case, fleet = point.case, point.case.fleet
    prediction = row.prediction
    exact = (
        case.direction,
        case.redundancy,
        int(fleet.clients_count),
        int(case.client_bytes),
        int(case.in_flight_count),
    ) == (
        prediction.direction,
        Redundancy(**vars(prediction.redundancy)),
        prediction.clients_count,
        prediction.client_bytes,
        prediction.in_flight_count,
    )
    pairs = (
        (row.servers_count, fleet.servers_count),
        (row.server_network_bytes_per_s, fleet.server_network_bytes_per_s),
        (row.server_mips, fleet.server_mips),
        (row.disk_read_bytes_per_s, fleet.disk_read_bytes_per_s),
        (row.disk_write_bytes_per_s, fleet.disk_write_bytes_per_s),
    )
    return exact and all(abs(a / float(b) - 1) < 1e-6 for a, b in pairs)
