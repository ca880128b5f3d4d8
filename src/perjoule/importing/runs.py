"""Runs of files joined to trials: clients that ran the same load at the same time are one trial."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perjoule.importing.sources import Source
from perjoule.model import Json, Record, Spec
from perjoule.model.errors import NotImported, WorkloadError
from perjoule.model.units import BYTES, bytes_text, exact_text
from perjoule.workloads.imported import ImportedRun, read, told_files

# Options of fio and of IOR and mdtest that are the keys of object stores, where they have a value.
_SECRET = re.compile(
    r'http_(?:pass|s3_key|s3_security_token|s3_sse_customer_key|swift_auth_token)(?="\s*:\s*"[^"])'
    r"|(?<![\w.-])--[\w.-]*secret-key(?=[\s'\"]*[=\s])"
)
SAME_S = 1e-3  # by which two files of elbencho, which counts milliseconds, may differ on one run
AT_ONCE_RATIO = 0.5  # of the shorter of two runs, that they overlap by
# by which a stated begin may be too early, so that runs that follow each other overlap
ROUNDED_S: Mapping[str, float] = {"ior": 1.0, "mdtest": 1.0, "io500": 1.0, "rados": 1.0}


@dataclass(frozen=True)
class SourceRun:
    """A run, and its source."""

    source: Source
    number: int  # among the runs of its source
    run: ImportedRun
    files: tuple[str, ...]  # of the source, that describe it


@dataclass(frozen=True)
class ImportedLoad:
    """One future trial: the same operation of one or more clients at the same time."""

    source_runs: tuple[SourceRun, ...]
    filesystem: str

    @property
    def options(self) -> Mapping[str, Json]:
        """The options of the workload `imported`."""
        first = self.source_runs[0]
        run, ways = (
            first.run,
            {
                r.direction
                for source_run in self.source_runs
                if source_run.run.outcome
                for r in source_run.run.outcome.results
            },
        )
        return {
            "format": first.source.format,
            "operation": run.operation,
            **({"transfer": exact_text(run.transfer_bytes, BYTES)} if run.transfer_bytes else {}),
            **({"details": ", ".join(run.details)} if run.details else {}),
            "direction": "both"
            if len(ways) == 2
            else next(iter(ways), "read" if "read" in run.operation else "write"),
        }

    @property
    def label(self) -> str:
        """The workload's short name in tables."""
        run = self.source_runs[0].run
        size = f" {bytes_text(run.transfer_bytes)}" if run.transfer_bytes else ""
        return f"{self.source_runs[0].source.format} {run.operation}{size}"

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients of the load; a failed one has none."""
        outcomes = [source_run.run.outcome for source_run in self.source_runs if source_run.run.outcome]
        return tuple(dict.fromkeys(result.host for outcome in outcomes for result in outcome.results))


def runs(source: Source) -> tuple[SourceRun, ...]:
    """Read all runs of a source. Raises WorkloadError with its path."""
    try:
        texts = source.texts()
        if secret := next((match[0] for match in map(_SECRET.search, texts.values()) if match), ""):
            raise WorkloadError(
                f"it may hold a secret ({secret}), and results are made to be published",
                next="take it out of the file",
            )
        runs_read = read(source.format, texts, source.told)
    except WorkloadError as error:
        raise NotImported(error.what, where=str(source.path), next=error.next) from error
    return tuple(
        SourceRun(source, number, run, told_files(source.format, run, texts))
        for number, run in enumerate(runs_read)
    )


def with_own_names(source_runs: Sequence[SourceRun]) -> list[SourceRun]:
    """Return the runs with another name for each client where files of one name, which alone names it, ran the same
    load at once, as host-1/fio.json and host-2/fio.json: that of the folder, or of the file with its ending.

    Copies of a file are one.
    """
    source_runs = _without_copies(source_runs)
    by_work: dict[object, list[SourceRun]] = {}
    for source_run in sorted(source_runs, key=_began_s):
        source, run = source_run.source, source_run.run
        if not source.told.clients and _clients(source_run) == {source.told.stem}:
            work = (source.format, source.told.stem, run.operation, run.details, run.transfer_bytes)
            by_work.setdefault(work, []).append(source_run)
    groups: list[set[Path]] = []
    for alike in by_work.values():
        for place, first in enumerate(alike):
            for second in alike[place + 1 :]:
                if _began_s(second) >= _ended_s(first):
                    break
                pair = {first.source.path, second.source.path}
                if len(pair) == 2 and ran_at_once(first.source.format, _window_s(first), _window_s(second)):
                    joined = pair.union(*(group for group in groups if group & pair))
                    groups = [*(group for group in groups if not group & pair), joined]
    names = {path: name for group in groups for path, name in _own_names(group).items()}
    renamed: list[SourceRun] = []
    for source_run in source_runs:
        source = source_run.source
        if source.path not in names or source.told.clients:
            renamed.append(source_run)
        elif source_run.number == 0:
            renamed += runs(replace(source, told=replace(source.told, stem=names[source.path])))
    return renamed


def _without_copies(source_runs: Sequence[SourceRun]) -> list[SourceRun]:
    """Leave out runs that are equal to the last byte, of clients of one name."""
    firsts: dict[object, Path] = {}
    originals: list[SourceRun] = []
    for source_run in source_runs:
        source, outcome = source_run.source, source_run.run.outcome
        results = outcome.results if outcome else ()
        moved = tuple(
            (r.host, r.direction, r.began_s, r.ended_s, r.moved_bytes, r.operations_count) for r in results
        )
        key = (
            source.format,
            source.told,
            source_run.number,
            source_run.run.operation,
            source_run.run.details,
            moved,
        )
        if not moved or firsts.setdefault(key, source.path) == source.path:
            originals.append(source_run)
    return originals


def _own_names(paths: set[Path]) -> dict[Path, str]:
    """Return a name for each file: the shortest kind that differs."""
    choices = (
        {path: path.absolute().parent.name for path in paths},
        {path: path.name for path in paths},
        {path: f"{path.absolute().parent.name}-{path.name}" for path in paths},
        {path: str(path.absolute()).strip("/").replace("/", "-") for path in paths},
    )
    return next(names for names in choices if len(set(names.values())) == len(paths))


def ran_at_once(format: str, first_s: tuple[float, float], second_s: tuple[float, float]) -> bool:
    """Return whether two runs of a tool, each from its begin to its end, overlap for longer than runs that follow each
    other do by the rounding of times.
    """
    overlap_s = min(first_s[1], second_s[1]) - max(first_s[0], second_s[0])
    shorter_s = min(ended_s - began_s for began_s, ended_s in (first_s, second_s))
    return overlap_s > max(ROUNDED_S.get(format, 0.0), AT_ONCE_RATIO * shorter_s)


def loads(source_runs: Sequence[SourceRun], filesystem: str) -> tuple[ImportedLoad, ...]:
    """Join runs to loads, in order of time; failed runs stay separate, at the end."""
    source_runs = _once(source_runs)
    grouped: list[list[SourceRun]] = []
    # by what they do: groups that have not ended when the next run begins
    running: dict[object, list[list[SourceRun]]] = {}
    for source_run in sorted((f for f in source_runs if f.run.outcome), key=_began_s):
        key = (
            source_run.source.format,
            source_run.run.operation,
            source_run.run.details,
            source_run.run.transfer_bytes,
            filesystem or source_run.run.folder,
        )
        alike = [
            members for members in running.get(key, ()) if max(map(_ended_s, members)) > _began_s(source_run)
        ]
        members = next(
            (members for members in reversed(alike) if _together(source_run, members)), list[SourceRun]()
        )
        if not members:
            grouped.append(members)
            alike.append(members)
        members.append(source_run)
        running[key] = alike
    alone = [[source_run] for source_run in source_runs if source_run.run.outcome is None]
    return tuple(
        ImportedLoad(tuple(members), filesystem or members[0].run.folder or "imported")
        for members in (*grouped, *alone)
    )


def _once(source_runs: Sequence[SourceRun]) -> list[SourceRun]:
    """Return each run once: of two files that report the very run, take what says more."""
    best: dict[object, SourceRun] = {}
    for source_run in source_runs:
        run = source_run.run
        key = (source_run.source.format, run.id) if run.id else id(source_run)
        if key not in best or _lacks(run) < _lacks(best[key].run):
            best[key] = source_run
    return list(best.values())


def _lacks(run: ImportedRun) -> tuple[bool, int]:
    return (run.outcome is None, len(run.outcome.doubts) if run.outcome else 0)


def is_kept(load: ImportedLoad, record: Record) -> bool:
    """Return whether a record is of the very run of a load, from another file that reports it, too."""
    run, before, options = load.source_runs[0].run, record.outcome, record.trial.workload.options
    if not run.id or run.outcome is None or before is None:
        return False
    alike = all(options.get(key) == load.options[key] for key in ("format", "operation"))
    moments = ((before.began_s, run.outcome.began_s), (before.ended_s, run.outcome.ended_s))
    return alike and all(abs(first_s - second_s) <= SAME_S for first_s, second_s in moments)


def labels(all_loads: Sequence[ImportedLoad], before: Mapping[str, Mapping[str, Json]]) -> Mapping[int, str]:
    """Name the workload of each load: with the short name, or with all parameters if the short name would fit
    several.

    Args:
        all_loads: loads.
        before: labels in use, with their options.
    """
    meant: dict[str, list[Json]] = {label: [_work(options)] for label, options in before.items()}
    for load in all_loads:
        if _work(load.options) not in meant.setdefault(load.label, []):
            meant[load.label].append(_work(load.options))
    names: dict[int, str] = {}
    for index, load in enumerate(all_loads):
        details = load.options.get("details")
        first = load.label in before and _work(before[load.label]) == _work(load.options)
        short = len(meant[load.label]) == 1 or first or not details
        names[index] = load.label if short else f"{load.label}, {details}"
    return names


def workload(load: ImportedLoad, label: str) -> Spec:
    """Return the workload of a load for its trial."""
    return Spec("imported", load.options, label)


def _work(options: Mapping[str, Json]) -> Json:
    return {key: value for key, value in options.items() if key != "direction"}


def _together(source_run: SourceRun, members: Sequence[SourceRun]) -> bool:
    """Return whether a run is of other clients than these, at a time that overlaps theirs."""
    apart = _clients(source_run).isdisjoint(client for member in members for client in _clients(member))
    return apart and any(
        _began_s(source_run) < _ended_s(member) and _began_s(member) < _ended_s(source_run)
        for member in members
    )


def _clients(source_run: SourceRun) -> set[str]:
    return {result.host for result in source_run.run.outcome.results} if source_run.run.outcome else set()


def _window_s(source_run: SourceRun) -> tuple[float, float]:
    return _began_s(source_run), _ended_s(source_run)


def _began_s(source_run: SourceRun) -> float:
    return source_run.run.outcome.began_s if source_run.run.outcome else 0.0


def _ended_s(source_run: SourceRun) -> float:
    return source_run.run.outcome.ended_s if source_run.run.outcome else 0.0
