"""Results folders to profiles of file systems, for prediction."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perjoule import drivers, prediction, store
from perjoule.drivers.protocols import FileSystem
from perjoule.energy.hosts import data_hosts, hardware
from perjoule.machine.untrusted import MOST_NAMED_BYTES, text_of
from perjoule.measures import amplification
from perjoule.measures.overlap import served_bytes
from perjoule.model import Direction, Flow, Json, Pattern, Point, Record, Redundancy, option_name, value_at
from perjoule.model.errors import CampaignError
from perjoule.model.format import number
from perjoule.model.hardware import Cluster
from perjoule.model.units import counted
from perjoule.prediction import Observation, Profile, observations, profile
from perjoule.prediction.profile import CpuOf
from perjoule.prediction.scores import BAND_RATIO
from perjoule.prediction.validation import least_count
from perjoule.store import Results
from perjoule.store.disk import spoken
from perjoule.summary.computing import points_of
from perjoule.trial.reading import Reading


@dataclass(frozen=True)
class Observed:
    """A valid trial, its points, and what they say of its file system: nothing if a prediction can't learn
    from it.
    """

    record: Record
    points: tuple[Point, ...]
    observations: tuple[Observation, ...]


def observed(results: Results, cluster: Cluster | None = None) -> tuple[Observed, ...]:
    """Return the valid trials of a results folder with what each says of its file system, on a cluster as of
    `on`.

    Raises MachineError: it can't be read.
    """
    return tuple(
        _observed(results, record, cluster) for record in results.latest() if record.status == "valid"
    )


def _observed(results: Results, record: Record, cluster: Cluster | None) -> Observed:
    points = points_of(results, [record])
    return Observed(
        record, points, tuple(observations(on(record, cluster), points, _busiest(results, record)))
    )


def on(record: Record, cluster: Cluster | None) -> Record:
    """Return a record of hosts whose hardware it does not know as one of a cluster, by their roles; any
    other as it is.
    """
    if cluster is None or hardware(record) is not None:
        return record
    nodes = {node.role: node.name for node in reversed(cluster.nodes)}
    hosts = tuple(replace(host, node=nodes.get(host.role, "")) for host in record.hosts)
    return replace(record, hosts=hosts, hardware=cluster)


def _busiest(results: Results, record: Record) -> Mapping[Direction, float]:
    """Return the bytes of the busiest data host over the mean, by direction, as counters saw them."""
    reading = Reading(record, results.series(record))
    loads = record.outcome.results if record.outcome else ()
    imbalance: dict[Direction, float] = {}
    directions: set[Direction] = {load.direction for load in loads}
    for direction in sorted(directions):
        served = served_bytes([load for load in loads if load.direction == direction], reading)
        if served:
            imbalance[direction] = max(served.values()) * len(served) / sum(served.values())
    return imbalance


_ALONE = "calibrate from one of them alone"
# of a point: what its layout does not explain, see `amplification.unexplained`
Odd = tuple[Direction, Mapping[str, float]]


@dataclass(frozen=True)
class _Taught:
    """What one trial, or one profile, says of a file system."""

    points: tuple[Observation, ...]
    options: Mapping[str, Json]
    release: str
    emulated: bool
    data_roles: tuple[str, ...]
    unit_bytes: float
    pattern: Pattern
    setting: FileSystem | None = None  # of a trial; a profile does not keep those of all its points
    odds: tuple[Odd, ...] = ()  # of points that were compared with their layout
    cpu_of: CpuOf = "window"


@dataclass(frozen=True)
class Fitted:
    """A profile, and how the bytes of its points agree with the layout, on which a prediction's bounds rest.

    `moved` are lines: in how many points all bytes of networks and disks are the layout's (3 % and headers
    allowed, as in `measures.amplification`), then one for each counter that read others. Points of kept
    profiles are not compared again.
    """

    profile: Profile
    moved: tuple[str, ...]


def profiles(sources: Iterable[Path], cluster: Cluster | None = None) -> Mapping[str, Fitted]:
    """Fit a profile for each kind of file system in results folders, and in profiles (files, or names of
    those that come with perjoule), whose points count as well; on a cluster as of `on`.

    Raises:
        CampaignError: they hold no trial from which a prediction can learn, the same trial twice, or releases
            or testbeds that don't belong together.
        MachineError: one can't be read.
    """
    taught_by_kind: dict[str, list[_Taught]] = {}
    read = tuple(sources)
    for source in read:
        for kind, taught in _taught(source, cluster):
            taught_by_kind.setdefault(kind, []).append(taught)
    if not taught_by_kind:
        raise CampaignError(
            "no trial has what a prediction needs: hardware of the catalogue, CPU counters, data on servers",
            where=", ".join(map(str, read)),
            next="run `perjoule calibrate`, which writes such a campaign, or name your hardware with --on",
        )
    return {
        kind: Fitted(
            _joined(kind, taught), _moved([odd for source_taught in taught for odd in source_taught.odds])
        )
        for kind, taught in taught_by_kind.items()
    }


def _taught(source: Path, cluster: Cluster | None) -> Iterator[tuple[str, _Taught]]:
    shipped = not source.exists() and str(source) in prediction.names()
    if shipped or source.is_file():
        profile = prediction.shipped(str(source)) if shipped else prediction.read(_text(source), str(source))
        roles, unit_bytes = profile.data_roles, profile.unit_bytes
        whose = profile.release, profile.emulated, roles, unit_bytes, profile.pattern
        yield profile.kind, _Taught(profile.points, profile.options, *whose, cpu_of=profile.cpu_of)
        return
    results = store.open_results(source)
    for trial in observed(results, cluster):
        if trial.observations:
            record, used = trial.record, trial.record.trial.filesystem
            setting = drivers.filesystem(used)
            yield (
                used.kind,
                _Taught(
                    points=trial.observations,
                    options=used.options,
                    release=_release(record),
                    emulated=record.traits.reality != "real",
                    data_roles=tuple(
                        sorted({host.role for host in record.hosts if host.name in data_hosts(record)})
                    ),
                    unit_bytes=setting.unit_bytes,
                    pattern=record.traits.pattern,
                    setting=setting,
                    odds=tuple(_odds(record, trial.points)),
                ),
            )


def _odds(record: Record, points: Iterable[Point]) -> Iterator[Odd]:
    """Compare the bytes of each point with those of the layout."""
    if (flows := record.amplification) is None:
        return
    ways: Mapping[Direction, Flow] = {"write": flows.write, "read": flows.read}
    for point in points:
        if flow := ways.get(point.direction):
            chance_ratio = amplification.deviation_ratio(record)
            yield point.direction, amplification.unexplained(flow, point.metrics, chance_ratio)


def _moved(odds: Sequence[Odd]) -> tuple[str, ...]:
    ratios = defaultdict[tuple[str, str], list[float]](list)
    for direction, odd in odds:
        for name, ratio in odd.items():
            ratios[direction, name].append(ratio)
    explained = f"bytes of networks and disks are those of the layout in {sum(not odd for _, odd in odds)}"
    differing = (
        f"{direction}: {amplification.SUBJECTS[name]} {number(min(of_flow))} to {number(max(of_flow))} "
        f"bytes per user byte in {counted(len(of_flow), 'other point')}"
        for (direction, name), of_flow in sorted(ratios.items())
    )
    return (f"{explained} of {counted(len(odds), 'point')}", *differing) if odds else ()


def endless(profile: Profile) -> Iterator[str]:
    """Name the directions of which so few conditions were left out that no band has an end, and what to
    measure for one.
    """
    needed_count = least_count(BAND_RATIO)
    for direction, law in profile.known.items():
        if len(law.tests) < needed_count:
            tests = (
                f"{counted(len(law.tests), 'condition')} left out and predicted, where a 90 % band takes "
                f"{needed_count}"
            )
            advice = (
                "measure more numbers of clients, or servers at several speeds: server_cpu = [1.0, 0.5] in "
                "[testbed]"
            )
            yield f"{profile.kind}, {direction}: {tests}, so that bands have no end; {advice}"


def _text(path: Path) -> str:
    with spoken(path):
        return text_of(path, MOST_NAMED_BYTES)


def _joined(kind: str, taught: Sequence[_Taught]) -> Profile:
    first = taught[0]
    for mixed in (
        {taught_by.release for taught_by in taught},
        {"emulated hosts" if taught_by.emulated else "real hosts" for taught_by in taught},
        {taught_by.pattern.calls_text for taught_by in taught},
    ):
        if len(mixed) > 1:
            raise CampaignError(
                f"{kind}: trials of {' and '.join(sorted(mixed))} can't be mixed", next=_ALONE
            )
    _require_one_setting(kind, taught)
    points = [point for taught_by in taught for point in taught_by.points]
    if len({(taught_by.source, taught_by.case.direction) for taught_by in points}) < len(points):
        raise CampaignError(
            f"{kind}: the same trial is in two of these", next="name each results folder and profile once"
        )
    roles = tuple(sorted({role for taught_by in taught for role in taught_by.data_roles}))
    return profile(
        kind,
        first.options,
        points,
        release=first.release,
        data_roles=roles,
        unit_bytes=first.unit_bytes,
        emulated=first.emulated,
        pattern=first.pattern,
        cpu_of="trial" if any(taught_by.cpu_of == "trial" for taught_by in taught) else "window",
    )


def _require_one_setting(kind: str, taught: Sequence[_Taught]) -> None:
    """Check that trials differ in layout alone: other settings would be taken for scatter.

    Raises CampaignError.
    """
    first_settings: dict[tuple[Redundancy, float], FileSystem] = {}
    for setting, point in (
        (source_taught.setting, point)
        for source_taught in taught
        if source_taught.setting
        for point in source_taught.points
    ):
        first_setting = first_settings.setdefault(
            (point.case.redundancy, float(point.case.fleet.servers_count)), setting
        )
        for name in drivers.options(type(setting)):
            if name != "patience_s" and getattr(setting, name) != getattr(first_setting, name):
                mixture = f"trials of the same redundancy with another {option_name(name)} can't be mixed"
                raise CampaignError(f"{kind}: {mixture}", next=_ALONE)


def _release(record: Record) -> str:
    version = str(value_at(record.facts, "filesystem", "version") or "")
    number = re.search(r"(?<!\d)\d+(\.\d+)+", version)
    return number[0] if number else version
