"""A bundle checked for the list: what it holds, or why the list refuses it.

Everything in a bundle is untrusted.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from perjoule import store, views
from perjoule.energy.hosts import data_hosts
from perjoule.exporting.archive import open_archive, unpacked
from perjoule.exporting.bundle import differing
from perjoule.exporting.crate import METADATA
from perjoule.machine.bounded import bounded
from perjoule.machine.untrusted import UNEXPECTED, json_of
from perjoule.measures import plausibility
from perjoule.model import Cell, Doubt, Interval, Pattern, Point, Record, Series, least_real
from perjoule.model.errors import CampaignError
from perjoule.model.metrics import BOUNDARIES, IDLE, PER_JOULE, RATES, metric_of
from perjoule.model.units import BYTES, bytes_text, exact_text
from perjoule.results import verification
from perjoule.results.table import cell_text, mean, total_ends
from perjoule.statistics.cells import filesystem_names
from perjoule.statistics.modes import in_modes
from perjoule.store import Results
from perjoule.summary.trial import TrialSummary, trial_summary
from perjoule.trial.reading import Reading
from perjoule.views.content import Content

MOST_BUNDLE_BYTES = 100 * 1024**2  # the limit of GitHub for a file: https://docs.github.com/en/repositories
MOST_UNPACKED_BYTES = 2 * 1024**3
MOST_CPU_S = 600.0  # for one bundle; of 100 MiB one takes a tenth
MOST_RAW_BYTES = 1024**2  # of a raw file that the site shows; longer ones are in the bundle
MOST_SHOWN_BYTES = 20 * 1024**2  # of all raw files of an entry
MOST_CHARACTERS = 300  # of a name or a license: these are labels
REFUSED_GRADES = ("simulated",)
# by bytes, or else by operations; of idle file systems by capacity
WORK = (*zip(PER_JOULE, RATES, strict=True), IDLE)
_UNPRINTED = "\N{REPLACEMENT CHARACTER}"
_SHOWN = 5  # differences
_ADVICE_SIZE = "publish a part of its trials"
_ADVICE = "see `perjoule docs publish`"


@dataclass(frozen=True)
class Ranked:
    """A number of the list: work per joule of one combination, in one boundary and one grade of power."""

    id: str  # within its entry: "row-3"
    filesystem: str
    redundancy: str  # "not stated" where nothing says it
    workload: str
    direction: str
    pattern: str  # how the load gets at its data: "sequential, 4 MiB"; where nothing says it, its kind: "hep"
    clients_count: int
    data_hosts_count: int  # hosts that held users' data, whatever their role; 0 where nothing says it
    hosts: str  # "real" or "emulated"
    boundary: str
    grade: str
    metric: str  # a key of `model.metrics`
    interval: Interval  # of the repetitions alone
    total_low: float  # ends of the 95 % interval with the meter's uncertainty; infinite if it is unknown
    total_high: float
    # as `show` prints it, with half the total interval
    text: str
    # throughput, or operations per second; of an idle file system its power; "–" if it is missing
    rate_text: str
    rate_metric: str
    objections: tuple[str, ...]  # why it has no rank

    @property
    def per(self) -> float:
        """What one of the printed unit is in SI units."""
        return metric_of(self.metric).unit.per

    @property
    def printed(self) -> float:
        """The number that `text` begins with, a mean or a median, in SI units."""
        return float(self.text.split()[0]) * self.per


@dataclass(frozen=True)
class BundledTrial:
    """A trial that a number rests on, with what was kept of it."""

    id: str
    label: str
    began_s: float
    ended_s: float
    values: Mapping[tuple[str, str], float]  # by direction and metric
    doubts: tuple[str, ...]
    # the name of each file, and its text; None where only the bundle has it
    raw: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Entry:
    """A bundle that the list accepts."""

    path: Path
    digest: str  # SHA-256 of the bundle
    title: str
    license: str
    authors: tuple[str, ...]
    date: str
    checked_count: int  # numbers and files that `verify` compared
    rows: tuple[Ranked, ...]
    sections: tuple[views.Section, ...]
    trials: tuple[BundledTrial, ...]

    @property
    def id(self) -> str:
        """The entry's name in paths: digits of its digest, never words of its own."""
        return self.digest[:12]


def checked(path: Path) -> Entry:
    """Check a bundle for the list: size, checksums, every number, license, author, power, plausibility.

    Raises:
        CampaignError: the list can't take it; the message has every reason.
        MachineError: it is not a bundle, or can't be read.
        MemoryError, TimeoutError: its content takes too much.
    """
    _check_file(path)
    with bounded(MOST_CPU_S), open_archive(path, MOST_UNPACKED_BYTES, advice=_ADVICE_SIZE) as archive:
        digest = archive.digest()
        _require(path, [difference for difference in differing(archive) if difference])
        with unpacked(archive) as folder:
            return _entry(path, digest, folder)


def _entry(path: Path, digest: str, folder: Path) -> Entry:
    """Check an unpacked bundle. Raises CampaignError, MachineError."""
    about = _about(folder / METADATA)
    results = store.open_results(folder)
    known: dict[str, TrialSummary] = {}
    implausible: set[Doubt] = set()

    def calculation(record: Record, series: Sequence[Series]) -> Sequence[Point]:
        implausible.update(plausibility.doubts(Reading(record, series)))
        known[record.trial.id] = trial_summary(record, series)
        return known[record.trial.id].points

    findings = verification.verify(results, calculation)
    _require(path, [difference.replace(f"{folder}/", "") for difference in findings.differences])
    records = [record for record in results.latest() if record.status == "valid"]
    for record in records:
        if record.trial.id not in known:  # without a report there is no table to verify
            calculation(record, results.series(record))
    content = Content(results, known=known)
    rows = tuple(_rows(content.cells, records, implausible))
    objections = [*_stated(about), *_powered(rows)]
    if objections:
        raise CampaignError(f"the list can't take it: {'; '.join(objections)}", where=str(path), next=_ADVICE)
    trials = tuple(_trials(results, content.trials))
    title, license_name, date = (
        _label(str(about.get(key, ""))) for key in ("name", "license", "datePublished")
    )
    authors = tuple(map(_label, about["authors"]))
    sections = tuple(views.sections(content))
    return Entry(
        path,
        digest,
        title or "untitled",
        license_name,
        authors,
        date,
        findings.checked_count,
        rows,
        sections,
        trials,
    )


def _check_file(path: Path) -> None:
    """Check that this is a file of a size that the list takes. Raises CampaignError."""
    try:
        if path.is_symlink() or not path.is_file():
            raise CampaignError(
                "this is not a file",
                where=str(path),
                next="name a bundle, as `perjoule export --bundle` writes it",
            )
        size_bytes = path.stat().st_size
    except OSError as error:
        raise CampaignError(
            (error.strerror or str(error)).lower(), where=str(path), next="check the path"
        ) from error
    if size_bytes > MOST_BUNDLE_BYTES:
        size_text = (
            f"it has {bytes_text(size_bytes)}, and a bundle on the list has at most "
            f"{bytes_text(MOST_BUNDLE_BYTES)}"
        )
        raise CampaignError(
            size_text,
            where=str(path),
            next="publish it in an archive such as Zenodo, and a part of its trials here",
        )


def _require(path: Path, differences: Sequence[str]) -> None:
    if differences:
        more = f"; and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
        problem = f"it does not verify: {'; '.join(differences[:_SHOWN])}{more}"
        raise CampaignError(problem, where=str(path), next="export it again from its results folder")


def _about(path: Path) -> dict[str, Any]:
    """Return what the description of a bundle says of it; {} for what is not of the expected form."""
    try:
        graph = json_of(path)["@graph"]
        entities = {str(entity["@id"]): entity for entity in graph}
        root = entities["./"]
        people = root.get("author", [])
        names = [str(entities.get(str(entity["@id"]), {}).get("name", "")) for entity in people]
        license_id = str(root.get("license", {}).get("@id", ""))
        license_name = str(entities.get(license_id, {}).get("name", "")) or license_id
        return {**root, "license": license_name, "authors": [name for name in names if name.strip()]}
    except (*UNEXPECTED, OSError):
        return {"authors": []}


def printable(text: str) -> str:
    """Return words of a bundle as a page shows them: in a line, without what turns the text around them."""
    return "".join(letter if letter.isprintable() else _UNPRINTED for letter in text)


def _label(text: str) -> str:
    return printable(text[:MOST_CHARACTERS])


def _stated(about: Mapping[str, Any]) -> Iterator[str]:
    if not str(about.get("license", "")).strip():
        yield "it has no license, so nobody may use it (export it with --license)"
    if not about["authors"]:
        yield "it has no author (export it with --author)"


def _powered(rows: Sequence[Ranked]) -> Iterator[str]:
    """Object to results of which no number can be ranked."""
    if not rows:
        yield "no trial has an energy, so there is nothing to rank"
    elif all(row.grade in REFUSED_GRADES or row.hosts == "simulated" for row in rows):
        yield "its hosts or all of its power are simulated"
    elif all(row.objections for row in rows):
        reasons = dict.fromkeys(reason for row in rows for reason in row.objections)
        yield f"none of its {len(rows)} numbers can be ranked ({'; '.join(list(reasons)[:_SHOWN])})"


def _rows(cells: Sequence[Cell], records: Sequence[Record], implausible: Set[Doubt]) -> Iterator[Ranked]:
    number, hosts = 0, _hosts(records)
    for cell in cells:
        of_cell = _of(cell, records)
        for boundary in (boundary for boundary in BOUNDARIES if boundary.headline):
            work, rate = next(((w, r) for w, r in WORK if f"{boundary.prefix}{w}" in cell.metrics), ("", ""))
            if not work:
                continue
            number += 1
            metric, grade = f"{boundary.prefix}{work}", cell.grade_of(boundary.name)
            yield Ranked(
                f"row-{number}",
                _label(cell.filesystem),
                _label(cell.redundancy.text) if cell.redundancy else "not stated",
                _label(cell.workload),
                cell.direction,
                _pattern(of_cell),
                cell.clients_count,
                max(map(_data_hosts_count, of_cell), default=0),
                hosts,
                boundary.name,
                grade,
                metric,
                cell.metrics[metric],
                *total_ends(cell, metric),
                cell_text(cell, metric),
                cell_text(cell, rate, mean),
                rate,
                tuple(_objections(cell, grade, metric, implausible)),
            )


def _of(cell: Cell, records: Sequence[Record]) -> list[Record]:
    """Choose the records of a cell."""
    work = (cell.workload, cell.clients_count)
    alike = [
        record for record in records if (record.trial.workload.label, record.trial.clients_count) == work
    ]
    return [record for record in alike if cell.filesystem in filesystem_names(record.trial)]


def _data_hosts_count(record: Record) -> int:
    has_hosts = record.data_hosts or any(host.role == "storage" for host in record.hosts)
    return len(data_hosts(record)) if has_hosts else 0


def _hosts(records: Sequence[Record]) -> str:
    """Say what kind of hosts these were: the least real of all trials."""
    return least_real(record.traits.reality for record in records)


def _pattern(records: Sequence[Record]) -> str:
    """Say how a load gets at its data, or else what it is, by which lists tell loads of one name apart."""
    return " or ".join(
        sorted({_words(record.traits.pattern) or record.trial.workload.kind for record in records})
    )


def _words(pattern: Pattern) -> str:
    size = exact_text(pattern.transfer_bytes, BYTES) if pattern.transfer_bytes else ""
    return ", ".join(part for part in (pattern.access, size, "direct" if pattern.direct else "") if part)


def _objections(cell: Cell, grade: str, metric: str, implausible: Set[Doubt]) -> Iterator[str]:
    if grade in REFUSED_GRADES or not grade:
        yield "its power is simulated" if grade else "the grade of its power is unknown"
    if any(metric_of(key).event for key in cell.metrics):
        yield "its servers were hit on purpose"
    if len(cell.metrics[metric].values) < 2:
        yield "one repetition has no interval"
    elif not all(map(isfinite, total_ends(cell, metric))):
        yield "its meter states no accuracy, so its uncertainty is unknown"
    if in_modes(cell):
        yield "its repetitions have two modes, which no mean and interval describe"
    # By their words, too: of one and the same doubt, a cell may have what a record stores of it without its id.
    yield from (doubt for doubt in cell.doubts if doubt.disqualifies or doubt in implausible)


def _trials(results: Results, trials: Sequence[tuple[Record, TrialSummary]]) -> Iterator[BundledTrial]:
    left_bytes = MOST_SHOWN_BYTES
    for record, numbers in trials:
        if record.status != "valid" or record.outcome is None:
            continue
        raw: list[tuple[str, str | None]] = []
        folder = results.folder_of(record)
        for path in sorted(
            path for path in (folder / "record.json", *(folder / "raw").rglob("*")) if path.is_file()
        ):
            text = _text(path) if path.stat().st_size <= min(MOST_RAW_BYTES, left_bytes) else None
            left_bytes -= len(text or "")
            raw.append((path.relative_to(folder).as_posix(), text))
        trial = record.trial
        yield BundledTrial(
            trial.id,
            _label(trial.text),
            record.outcome.began_s - record.clock.monotonic_s + record.clock.utc_s,
            record.outcome.ended_s - record.clock.monotonic_s + record.clock.utc_s,
            {
                (point.direction, key): value
                for point in numbers.points
                for key, value in point.metrics.items()
            },
            tuple(dict.fromkeys(doubt for point in numbers.points for doubt in point.doubts)),
            tuple(raw),
        )


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
