"""Import what other tools measured into a results folder, joined by time of day.

`sources` finds files and their formats, `runs` combines their contents into trials, `counters` and `power`
read the data of hosts, `missing` lists what was not measured. Times of imported results are seconds of UTC on
either clock.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from perjoule import store
from perjoule.importing import clocks
from perjoule.importing.counters import Counted, counters
from perjoule.importing.keeping import keep, manifest_of
from perjoule.importing.power import Log, near
from perjoule.importing.runs import (
    ImportedLoad,
    SourceRun,
    is_kept,
    labels,
    loads,
    runs,
    with_own_names,
    workload,
)
from perjoule.importing.sources import COUNTERS, Source
from perjoule.model import Record, Series, Spec, Trial
from perjoule.model.doubts import WORK
from perjoule.model.errors import CampaignError, WorkloadError
from perjoule.store import Results
from perjoule.store.journal import sha256

__all__ = ["Brought", "bring", "create"]

CAMPAIGN = "# These trials were imported; there is no campaign to run.\n"


@dataclass(frozen=True)
class Brought:
    """The imported trials and their data."""

    records: tuple[Record, ...]
    series: Mapping[str, tuple[Series, ...]]  # by trial id: counters and power
    known_count: int = 0  # loads that were here already
    nodes: tuple[str, ...] = ()  # that have counters but no known role
    hosts: Mapping[str, str] = field(default_factory=dict[str, str])  # roles
    elsewhen: tuple[str, ...] = ()  # files of hosts or power that cover none of the runs
    unread: tuple[tuple[Path, str], ...] = ()  # damaged files, which were left out, and why
    remarks: tuple[str, ...] = ()  # of what lay in the folder and is in no line of its journal


def create(folder: Path) -> Results:
    """Make a results folder for imports, or open one. Raises MachineError: it holds something else."""
    return store.create(folder, CAMPAIGN, folder.resolve().name)


def bring(
    results: Results,
    read_sources: Sequence[Source],
    logs: Sequence[Log] = (),
    *,
    filesystem: str = "",
    roles: Mapping[str, str] | None = None,
    zone_assumed: str = "",
) -> Brought:
    """Import sources and logs into a results folder; existing contents are left alone.

    Args:
        results: from `create`.
        found: from `sources`.
        logs: of power.
        filesystem: label of the file system; by default the load's working folder.
        roles: the role of each host that is not a client.
        zone_assumed: the zone in which times without one are taken to be; "" if it was given.

    Raises:
        CampaignError: there is no run among the sources, or a log covers an unknown host.
        WorkloadError: all files are damaged.
    """
    roles_given = dict(roles or {})
    ran_in, nodes, unread = _read(read_sources)
    all_loads = loads(with_own_names(ran_in), filesystem)
    if not all_loads:
        paths = ", ".join(str(source.path) for source in read_sources)
        raise CampaignError(
            "there are counters, but no run that they belong to",
            where=paths,
            next="also name the output of the run",
        )
    clients = {client for load in all_loads for client in load.clients}
    with results.hold() as untold:
        digests = {digest for entry in results.entries() for digest in entry.files.values()}
        before = [clocks.of_record(record) for record in results.records()]
        lost = [source.path for source, _ in unread if source.format != COUNTERS]
        ran = clocks.Others([*before, *map(clocks.of_load, all_loads)])
        trials, seen_count = _trials(results, all_loads, digests)
        records: list[Record] = []
        # logs and counters that a trial of this import has, for the others to share
        stored: dict[Path, Path] = {}
        series_of: dict[str, tuple[Series, ...]] = {}
        for trial, load in trials:
            hosts = {**dict.fromkeys(load.clients, "client"), **roles_given}
            apart = (*clocks.doubts(load, ran), *(WORK.unreadable(file=path.name) for path in lost))
            record, series = keep(results, trial, load, hosts, nodes, logs, zone_assumed, apart, stored)
            records.append(record)
            series_of[trial.id] = series
    without = tuple(sorted(node for node in nodes if node not in clients and node not in roles_given))
    everyone = {**dict.fromkeys(sorted(clients), "client"), **roles_given}
    files = [
        (source.path, s)
        for name in everyone
        for source, counted in nodes.get(name, ())
        for s in counted.series
    ]
    files += [(log.path, s) for log in logs for s in log.series]
    return Brought(
        tuple(records),
        series_of,
        seen_count,
        without,
        everyone,
        tuple(_elsewhen(records, files)),
        tuple((source.path, fault) for source, fault in unread),
        untold,
    )


def _read(
    read_sources: Sequence[Source],
) -> tuple[list[SourceRun], dict[str, list[tuple[Source, Counted]]], tuple[tuple[Source, str], ...]]:
    """Read the runs and the counters of each node, and say which sources can't be read.

    Raises WorkloadError: none can be.
    """
    ran: list[SourceRun] = []
    nodes: dict[str, list[tuple[Source, Counted]]] = {}
    faults: list[tuple[Source, WorkloadError]] = []
    for source in read_sources:
        try:
            if source.format != COUNTERS:
                ran += runs(source)
                continue
            for node, counted in counters(source).items():
                nodes.setdefault(node, []).append((source, counted))
        except WorkloadError as error:
            faults.append((source, error))
    if faults and not ran:
        raise faults[0][1]
    for node_files in nodes.values():  # a node's files follow each other
        node_files.sort(
            key=lambda file_counted: min((float(s.t_s[0]) for s in file_counted[1].series), default=0.0)
        )
    return ran, nodes, tuple((source, str(error)) for source, error in faults)


def _elsewhen(records: Sequence[Record], files: Sequence[tuple[Path, Series]]) -> Iterator[str]:
    """Say which files have no sample within a run, and when both were."""
    windows = [(record.outcome.began_s, record.outcome.ended_s) for record in records if record.outcome]
    if not windows:
        return
    ran = _span_text(min(began_s for began_s, _ in windows), max(ended_s for _, ended_s in windows))
    for path in dict.fromkeys(path for path, _ in files):
        of_path = [series for file, series in files if file == path and len(series.t_s)]
        if of_path and not any(near(series, *window) for series in of_path for window in windows):
            span = _span_text(min(float(s.t_s[0]) for s in of_path), max(float(s.t_s[-1]) for s in of_path))
            yield (
                f"{path.name} is of another time, {span}, than the runs, {ran}: check its time zone and date"
            )


def _span_text(began_s: float, ended_s: float) -> str:
    began, ended = (datetime.fromtimestamp(t_s, UTC) for t_s in (began_s, ended_s))
    return f"{began:%Y-%m-%d %H:%M:%S} to {ended:%Y-%m-%d %H:%M:%S} UTC"


def _trials(
    results: Results, all_loads: Sequence[ImportedLoad], known_digests: set[str]
) -> tuple[list[tuple[Trial, ImportedLoad]], int]:
    """Number the loads that are not here yet among equal ones."""
    records = results.records()
    before = [record.trial for record in records]
    names = labels(all_loads, {trial.workload.label: trial.workload.options for trial in before})
    taken = {trial.id for trial in before}
    repetitions: dict[str, int] = {}  # the next to try, by the id of the first
    new_trials: list[tuple[Trial, ImportedLoad]] = []
    for index, load in enumerate(all_loads):
        digests = {sha256(part.source.files[name]) for part in load.source_runs for name in part.files}
        stored = {hashlib.sha256(manifest_of(load).encode()).hexdigest(), *digests} <= known_digests
        if stored or any(is_kept(load, record) for record in records):
            continue
        trial = Trial(
            testbed=Spec("imported", {}, "imported"),
            filesystem=Spec("imported", {"name": load.filesystem}, load.filesystem),
            workload=workload(load, names[index]),
            meters=(),
            clients_count=max(1, len(load.clients)),
            repetition=1,
        )
        first_id = trial.id
        trial = replace(trial, repetition=repetitions.get(first_id, 1))
        while trial.id in taken:
            trial = replace(trial, repetition=trial.repetition + 1)
        repetitions[first_id] = trial.repetition + 1
        taken.add(trial.id)
        new_trials.append((trial, load))
    return new_trials, len(all_loads) - len(new_trials)
