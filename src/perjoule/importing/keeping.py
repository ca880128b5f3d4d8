"""How a load becomes a stored trial: its files, the counters and power of its time, and its record."""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule import __version__, drivers
from perjoule.importing.counters import Counted
from perjoule.importing.power import Log, near
from perjoule.importing.runs import ImportedLoad
from perjoule.importing.sources import Source, copy_named
from perjoule.model import Clock, HostFact, Phase, Record, Series, Trial
from perjoule.model.doubts import TIMES, Doubt
from perjoule.model.errors import WorkloadError
from perjoule.model.records import IMPORTED_BY
from perjoule.store import Attempt, Results
from perjoule.store.disk import spoken
from perjoule.workloads.imported import MANIFEST, RunPart, joined, manifest

LOCAL_TIMES = ("ior", "mdtest", "io500", "mlperf")  # formats whose times name no zone


def keep(
    results: Results,
    trial: Trial,
    load: ImportedLoad,
    hosts: Mapping[str, str],
    nodes: Mapping[str, Sequence[tuple[Source, Counted]]],
    logs: Sequence[Log],
    zone_assumed: str,
    apart: Sequence[Doubt],
    stored: dict[Path, Path],
) -> tuple[Record, tuple[Series, ...]]:
    """Store a load as a trial, with the counters and logs of its time; `stored` grows by the files that it
    has.
    """
    shared: dict[Path, Path] = {}
    with results.attempt(trial) as attempt:
        with spoken(attempt.raw):
            for folder, part in zip(_folders(load), load.source_runs, strict=True):
                files = [part.source.files[name] for name in part.files]
                _copy(files, attempt.raw / folder, part.source.inside)
            (attempt.raw / MANIFEST).write_text(manifest_of(load))
        outcome, failure, loaded = None, None, drivers.workload(trial.workload)
        try:
            outcome = joined([part.run for part in load.source_runs])  # `verify` reads the files again
        except WorkloadError as error:
            failure = error
        series: list[Series] = []
        local = load.source_runs[0].source.format in LOCAL_TIMES
        if outcome is not None:
            counted = [
                (s, source.path, source.inside)
                for name in hosts
                for source, counted_of in nodes.get(name, ())
                for s in counted_of.series
            ]
            metered = [(s, log.path, ()) for log in logs for s in log.of(hosts)]
            series, shared = _joined(attempt, (*counted, *metered), outcome.began_s, outcome.ended_s, stored)
            for part_series in (*outcome.series, *series):
                attempt.sink.extend(part_series)
        judged = (
            [doubt for name in hosts for _, counted_of in nodes.get(name, ()) for doubt in counted_of.doubts]
            if series
            else []
        )
        powered = any(s.channel.quantity in ("power", "energy") for s in series)
        local |= powered and any(log.zone_assumed for log in logs)
        moment_s = outcome.ended_s if outcome else time.time()
        record = Record(
            trial=trial,
            status="valid" if outcome else "failed",
            reason=failure.what if failure else "",
            reason_id=failure.id if failure else "",
            attempt=attempt.number,
            clock=Clock(moment_s, moment_s),
            scale=1.0,
            cluster="",
            hosts=tuple(HostFact(name, role, "") for name, role in hosts.items()),
            phases=(Phase("measure", outcome.began_s, outcome.ended_s),) if outcome else (),
            outcome=outcome,
            facts={"imported": [part.source.path.name for part in load.source_runs]},
            environment={IMPORTED_BY: f"perjoule {__version__}"},
            traits=drivers.traits(None, None, loaded),
            doubts=(
                *(outcome.doubts if outcome else ()),
                *apart,
                *((TIMES.zone_assumed(zone=zone_assumed),) if local and zone_assumed else ()),
                *((TIMES.power_unaligned(),) if powered else ()),
                *(doubt for log in logs if log.path in shared for doubt in log.doubts),
                *dict.fromkeys(judged),
            ),
        )
        attempt.keep(record)
    for path, copy in shared.items():
        stored.setdefault(path, attempt.final / "raw" / copy)
    return record, tuple(series)


def _joined(
    attempt: Attempt,
    those: Sequence[tuple[Series, Path, Sequence[Path]]],
    began_s: float,
    ended_s: float,
    stored: Mapping[Path, Path],
) -> tuple[list[Series], dict[Path, Path]]:
    """Take the samples around a window, and keep the whole files that they come from; return where, in its
    raw folder.
    """
    clipped: list[Series] = []
    files: dict[Path, Sequence[Path]] = {}
    for series, path, inside in those:
        part = near(series, began_s, ended_s)
        if part is not None:
            clipped.append(part)
            files[path] = inside
    copies = {path: Path("joined", str(number), path.name) for number, path in enumerate(files)}
    with spoken(attempt.raw):
        for path, copy in copies.items():
            if path in stored:
                _share(stored[path], attempt.raw / copy)
            else:
                _copy([path], (attempt.raw / copy).parent, files[path])
    return clipped, copies


def _share(stored: Path, to: Path) -> None:
    """Give a trial a file of another one: the same on disk, or a copy where a file has only one name."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(stored, to, follow_symlinks=False)
    except OSError:
        shutil.copyfile(stored, to)


def _copy(files: Sequence[Path], folder: Path, inside: Sequence[Path]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in files:
        copy_named(path, folder / path.name, inside)


def manifest_of(load: ImportedLoad) -> str:
    """Return how the raw files of a load are read, as JSON."""
    return manifest(
        [
            RunPart(
                part.source.format,
                tuple(f"{folder}/{name}" for name in part.files),
                part.number,
                part.source.told,
            )
            for folder, part in zip(_folders(load), load.source_runs, strict=True)
        ]
    )


def _folders(load: ImportedLoad) -> list[str]:
    """Return the folder of each run's files: one for the runs of several hosts in one file."""
    keys = [(part.source.path, part.source.told) for part in load.source_runs]
    return [str(keys.index(key)) for key in keys]
