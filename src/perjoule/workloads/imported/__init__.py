"""A run of another tool, imported with `perjoule import`; it can't be run again. fio, IOR, mdtest, IO500,
rados bench, elbencho, MLPerf Storage: https://fio.readthedocs.io, https://ior.readthedocs.io,
https://io500.org, https://docs.ceph.com, https://github.com/breuner/elbencho,
https://github.com/mlcommons/storage
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host, Mounted, Workload, require_time
from perjoule.machine.untrusted import UNEXPECTED, foreign_text_of, read_as, words
from perjoule.model import OPTIONS, Direction, Outcome, Pattern
from perjoule.model.errors import CampaignError, NotImported, PartDamaged, WorkloadError
from perjoule.model.units import Bytes
from perjoule.workloads._embedded import documents
from perjoule.workloads._raw import reading
from perjoule.workloads.imported import elbencho, fio, io500, ior, ior_text, mdtest, mlperf, rados
from perjoule.workloads.imported.io500 import (
    BANDWIDTHS,
    RATES,
    Submission,
    SubmittedPhase,
    dated,
    recomputed,
    submission,
)
from perjoule.workloads.imported.mlperf import (
    CONFIG,
    EPOCH_FILES,
    OVERRIDES,
    SUMMARY,
    Component,
    SystemPower,
    TrainingRun,
    is_system,
    is_training,
    system_power,
    training_run,
)
from perjoule.workloads.imported.outputs import formats_of, outputs_of
from perjoule.workloads.imported.run import (
    DAMAGED,
    ImportedRun,
    Texts,
    Told,
    check_zone,
    local_zone,
    moment_s,
)

__all__ = [
    "BANDWIDTHS",
    "CONFIG",
    "DAMAGED",
    "EPOCH_FILES",
    "FORMATS",
    "IO500_FILES",
    "MANIFEST",
    "OVERRIDES",
    "RATES",
    "SUMMARY",
    "Component",
    "Imported",
    "ImportedRun",
    "RunPart",
    "Submission",
    "SubmittedPhase",
    "SystemPower",
    "Told",
    "TrainingRun",
    "check_zone",
    "dated",
    "documents",
    "formats_of",
    "is_system",
    "is_training",
    "joined",
    "local_zone",
    "manifest",
    "moment_s",
    "outputs_of",
    "read",
    "recomputed",
    "submission",
    "system_power",
    "told_files",
    "training_run",
]

EXAMPLE = """
[[workload]]
kind = "imported"
format = "fio"
operation = "randwrite"
transfer = "4 KiB"
details = "32 in flight, direct"
"""

Format = Literal["fio", "ior", "mdtest", "io500", "rados", "elbencho", "mlperf"]

MANIFEST = "imported.json"
IO500_FILES = (io500.RESULT, io500.SUMMARY)  # one of them identifies the folder
NEVER = "an imported workload can't be run"


def _single(
    runs: Callable[[str, Told], tuple[ImportedRun, ...]],
) -> Callable[[Texts, Told], tuple[ImportedRun, ...]]:
    """Return the reader of a format of one file."""
    return lambda texts, hints: runs(next(iter(texts.values())), hints)


def _ior(text: str, hints: Told) -> tuple[ImportedRun, ...]:
    """Read IOR's JSON, or its text."""
    return ior_text.runs(text, hints) if ior_text.recognised(text) else ior.runs(text, hints)


FORMATS: Mapping[str, Callable[[Texts, Told], tuple[ImportedRun, ...]]] = {
    "fio": _single(fio.runs),
    "ior": _single(_ior),
    "mdtest": _single(mdtest.runs),
    "io500": io500.runs,
    "rados": _single(rados.runs),
    "elbencho": _single(elbencho.runs),
    "mlperf": mlperf.runs,
}


@plain_dataclass(frozen=True)
class RunPart:
    """Which files of a raw folder describe one client's run, and which of their runs it is."""

    format: str
    files: tuple[str, ...]  # below the raw folder
    number: int
    told: Told


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Imported(Workload):
    """A run of another tool, according to its file."""

    format: Format
    """The tool that made it."""

    operation: str
    """The operation, as the tool calls it."""

    transfer_bytes: Bytes | None = None
    """Bytes per call, if known."""

    details: str = ""
    """Other parameters of the tool that distinguish one run from another."""

    direction: Literal["write", "read", "both"] = "write"
    """Its direction."""

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The direction of the run."""
        return ("write", "read") if self.direction == "both" else (self.direction,)

    @property
    def pattern(self) -> Pattern:
        """As far as the file states it."""
        random = self.operation.startswith("rand") or "random" in self.details.split(", ")
        return Pattern(self.transfer_bytes, "random" if random else "sequential")

    def moved_bytes(self, clients_count: int) -> int:
        """Return 0: nothing will be moved."""
        return 0

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements."""
        return (Check("imported runs", True, "are imported with `perjoule import`", needed=False),)

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Refuse. Raises CampaignError."""
        raise CampaignError(
            NEVER, where="workload imported", next="name the tool itself as a workload (`perjoule drivers`)"
        )

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Refuse. Raises CampaignError."""
        raise CampaignError(
            NEVER, where="workload imported", next="name the tool itself as a workload (`perjoule drivers`)"
        )

    def outcome(self, folder: Path) -> Outcome:
        """Parse the tool's own files. Raises WorkloadError."""
        with reading("imported files", folder):
            return joined([_part(folder, part) for part in read_as(Manifest, folder / MANIFEST).parts])


def read(format: str, texts: Texts, hints: Told) -> tuple[ImportedRun, ...]:
    """Read all runs that the files of one format describe.

    Raises:
        WorkloadError: they are damaged, or not of that format.
    """
    try:
        return tuple(
            _timed(run)
            for own_texts, own_hints in _apart(format, texts, hints)
            for run in FORMATS[format](own_texts, own_hints)
        )
    except UNEXPECTED as error:
        raise NotImported(
            f"this can't be read as {format}: {words(error)}", next="see `perjoule docs import`"
        ) from error


def _apart(format: str, texts: Texts, hints: Told) -> list[tuple[Texts, Told]]:
    """Split a file with several hosts' outputs of this format into one text per host, with the hints for each; leave
    anything else as it is.

    Raises ValueError: other than one client of each host are named.
    """
    if len(texts) != 1:
        return [(texts, hints)]
    ((file, text),) = texts.items()
    outputs = {name: output for name, output in outputs_of(text).items() if format in formats_of(output)}
    several = len(outputs) > 1
    if several and hints.clients and len(hints.clients) != len(outputs):
        raise ValueError(
            f"{len(hints.clients)} clients are named, and it has the outputs of {len(outputs)} (name each, or none)"
        )
    of_hosts: list[tuple[Texts, Told]] = []
    for at, (name, output) in enumerate(outputs.items()):
        # a number is that of a rank or a task, which names no host
        host = name if not name.isdigit() else f"{hints.stem}-{name}" if several else ""
        clients = hints.clients[at : at + 1] if several else hints.clients
        of_hosts.append(({file: output}, replace(hints, stem=host or hints.stem, clients=clients)))
    return of_hosts or [(texts, hints)]


def _timed(run: ImportedRun) -> ImportedRun:
    """Mark a run that took no time as failed."""
    try:
        require_time(run.outcome.results if run.outcome else ())
    except WorkloadError as error:
        return replace(run, outcome=None, failure=str(error))
    return run


def told_files(format: str, run: ImportedRun, names: Texts) -> tuple[str, ...]:
    """Name the files that describe a run."""
    return io500.files_of(run.operation, names) if format == "io500" else tuple(names)


def joined(runs: Sequence[ImportedRun]) -> Outcome:
    """Join the runs of several clients. Raises WorkloadError if one of them failed."""
    outcomes: list[Outcome] = []
    for run in runs:
        if run.outcome is None:
            raise (PartDamaged if run.damaged else NotImported)(run.failure)
        outcomes.append(run.outcome)
    return Outcome(
        engine=outcomes[0].engine,
        results=tuple(result for outcome in outcomes for result in outcome.results),
        doubts=tuple(dict.fromkeys(doubt for outcome in outcomes for doubt in outcome.doubts)),
        series=tuple(series for outcome in outcomes for series in outcome.series),
        measured=outcomes[0].measured if len(outcomes) == 1 else {},
    )


def manifest(parts: Sequence[RunPart]) -> str:
    """Write how a raw folder is read."""
    listed = [
        {"format": part.format, "files": part.files, "number": part.number, **_told(part.told)}
        for part in parts
    ]
    return json.dumps({"version": 1, "parts": listed}, indent=1) + "\n"


@plain_dataclass(frozen=True)
class Written:
    """One part in imported.json, with the content of one table."""

    format: Format
    files: tuple[str, ...]
    number: int
    stem: str
    clients: tuple[str, ...]
    zone: str
    ended_s: float


@plain_dataclass(frozen=True)
class Manifest:
    """imported.json: the output of `manifest`."""

    parts: tuple[Written, ...]
    version: int = 1


def _told(hints: Told) -> dict[str, Any]:
    return {"stem": hints.stem, "clients": hints.clients, "zone": hints.zone, "ended_s": hints.ended_s}


def _part(folder: Path, part: Written) -> ImportedRun:
    texts = {Path(name).name: foreign_text_of(_below(folder, name)) for name in part.files}
    return read(part.format, texts, Told(part.stem, part.clients, part.zone, part.ended_s))[part.number]


def _below(folder: Path, name: str) -> Path:
    """Return a file of a raw folder. Raises ValueError: the name leads outside it."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f'"{name}" leads out of the folder')
    return folder / name
