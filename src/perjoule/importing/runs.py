"""Runs of files joined to trials: clients that ran the same load at the same time are one trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perjoule.importing.sources import Source
from perjoule.model import Json, Outcome, Spec
from perjoule.model.errors import WorkloadError
from perjoule.model.units import BYTES, bytes_text, exact_text
from perjoule.workloads.imported import Run, joined, read, told_files


@dataclass(frozen=True)
class Found:
    """A run, and its source."""

    source: Source
    number: int  # among the runs of its source
    run: Run
    files: tuple[str, ...]  # of the source, that describe it

    def outcome(self) -> Outcome:
        """Return its outcome. Raises WorkloadError if it failed."""
        return joined([self.run])


@dataclass(frozen=True)
class Load:
    """One future trial: the same operation of one or more clients at the same time."""

    found: tuple[Found, ...]
    filesystem: str

    @property
    def options(self) -> Mapping[str, Json]:
        """The options of the workload `imported`."""
        first = self.found[0]
        run, ways = first.run, {r.direction for one in self.found if one.run.outcome for r in one.run.outcome.results}
        return {
            "format": first.source.format,
            "operation": run.operation,
            **({"transfer": exact_text(run.transfer_bytes, BYTES)} if run.transfer_bytes else {}),
            **({"details": ", ".join(run.details)} if run.details else {}),
            "direction": "both" if len(ways) == 2 else next(iter(ways), "read" if "read" in run.operation else "write"),
        }

    @property
    def label(self) -> str:
        """The workload's short name in tables."""
        run = self.found[0].run
        size = f" {bytes_text(run.transfer_bytes)}" if run.transfer_bytes else ""
        return f"{self.found[0].source.format} {run.operation}{size}"

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients of the load; a failed one has none."""
        outcomes = [one.run.outcome for one in self.found if one.run.outcome]
        return tuple(dict.fromkeys(result.host for outcome in outcomes for result in outcome.results))


def runs(source: Source) -> tuple[Found, ...]:
    """Read all runs of a source. Raises WorkloadError with its path."""
    try:
        texts = source.texts()
        found = read(source.format, texts, source.told)
    except WorkloadError as error:
        raise WorkloadError(error.what, where=str(source.path), next=error.next) from error
    return tuple(Found(source, number, run, told_files(source.format, run, texts)) for number, run in enumerate(found))


def loads(found: Sequence[Found], filesystem: str) -> tuple[Load, ...]:
    """Join runs to loads, in order of time; failed runs stay separate, at the end."""
    grouped: list[tuple[object, list[Found]]] = []
    for one in sorted((f for f in found if f.run.outcome), key=lambda f: f.outcome().began_s):
        key = (one.source.format, one.run.operation, one.run.details, one.run.transfer_bytes, filesystem or one.run.folder)
        for other, members in reversed(grouped):
            if other == key and _together(one, members):
                members.append(one)
                break
        else:
            grouped.append((key, [one]))
    alone = [[one] for one in found if one.run.outcome is None]
    return tuple(
        Load(tuple(members), filesystem or members[0].run.folder or "imported")
        for members in (*(members for _, members in grouped), *alone)
    )


def labels(all_loads: Sequence[Load], before: Mapping[str, Mapping[str, Json]]) -> Mapping[int, str]:
    """Name the workload of each load: with the short name, or with all parameters if the short name would fit several.

    Args:
        all_loads: loads.
        before: labels in use, with their options.
    """
    meant: dict[str, list[Json]] = {label: [_work(options)] for label, options in before.items()}
    for load in all_loads:
        if _work(load.options) not in meant.setdefault(load.label, []):
            meant[load.label].append(_work(load.options))
    found: dict[int, str] = {}
    for index, load in enumerate(all_loads):
        details = load.options.get("details")
        first = load.label in before and _work(before[load.label]) == _work(load.options)
        short = len(meant[load.label]) == 1 or first or not details
        found[index] = load.label if short else f"{load.label}, {details}"
    return found


def workload(load: Load, label: str) -> Spec:
    """Return the workload of a load for its trial."""
    return Spec("imported", load.options, label)


def _work(options: Mapping[str, Json]) -> Json:
    return {key: value for key, value in options.items() if key != "direction"}


def _together(one: Found, members: Sequence[Found]) -> bool:
    """Return whether a run is of other clients than these, at a time that overlaps theirs."""
    mine, theirs = one.outcome(), [member.outcome() for member in members]
    apart = {r.host for r in mine.results}.isdisjoint(r.host for other in theirs for r in other.results)
    return apart and any(mine.began_s < other.ended_s and other.began_s < mine.ended_s for other in theirs)
