"""The audit of submissions to MLPerf Storage: what their runs, their reports and their systems can't be, by the rules
that papers are audited by.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perjoule.importing.mlperf_folders import REPORT, RESULTS, is_submission
from perjoule.importing.mlperf_power import systems
from perjoule.importing.sources import Source, sources, text_of
from perjoule.machine.untrusted import UNEXPECTED, json_from, words
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB
from perjoule.papers.audit import AuditVerdict, Recipe, Span, Values, exactly, judge
from perjoule.papers.published import PrintedNumber
from perjoule.workloads.imported import SUMMARY, TrainingRun, training_run

LEAST_RATIOS = {"unet3d": 0.9, "resnet50": 0.9, "bert": 0.9, "cosmoflow": 0.7}  # of utilisation, by rule
# of a result, an epoch, a data set; Submission_guidelines.md
LEAST_RUNS, LEAST_STEPS, LEAST_MEMORIES = 5, 500, 5.0
ROUNDED_RATIO = 0.01  # by which a data set may miss these, because it has whole files
UNEVEN_RATIO = 0.05  # by which accelerators may end apart
EXACT_RATIO = 1e-9  # of floating-point numbers
_SAMPLES, _AU, _IO = (
    f"train_{name}"
    for name in ("throughput_mean_samples_per_second", "au_mean_percentage", "io_mean_MB_per_second")
)
Runs = Mapping[Path, TrainingRun | str]  # by their folders: a run, or why it can't be read
_RUN = "each run that the report lists is here"


def submitted_to_mlperf(folder: Path) -> dict[str, tuple[AuditVerdict, ...]]:
    """Audit all that a folder holds of submissions, by result, report and description; empty if it has none.

    Raises:
        MachineError: a file can't be read.
    """
    if not any(folder.rglob(SUMMARY)):
        return {}
    try:
        listed = [source for source in sources([str(folder)], "UTC")[0] if source.format == "mlperf"]
    except CampaignError:
        return {}
    runs = {source.path: _read(source) for source in listed}
    verdicts: dict[str, list[AuditVerdict]] = {}
    counts: Counter[str] = Counter()
    for path, run in runs.items():
        name, judged = _of_run(path, run, folder)
        verdicts.setdefault(name, []).extend(judged)
        counts[name] += 1
    for name, runs_count in counts.items():
        verdicts[name].append(_enough(runs_count, name))
    audited = {name: tuple(judged) for name, judged in verdicts.items()}
    for path in sorted(folder.rglob(REPORT)):
        audited[str(path.relative_to(folder))] = audit_report(path, runs)
    for path in (folder, *sorted(path.parent for path in folder.rglob(RESULTS))):
        if is_submission(path):
            audited |= {str(at.relative_to(folder.parent)): judged for at, judged in systems(path) if judged}
    return audited


def _read(source: Source) -> TrainingRun | str:
    """Return a run, or why it can't be read."""
    try:
        return training_run(source.texts(), "UTC")
    except UNEXPECTED as error:
        return words(error)


def _of_run(path: Path, run: TrainingRun | str, folder: Path) -> tuple[str, tuple[AuditVerdict, ...]]:
    """Return the result that a run belongs to, and the verdicts on it."""
    place = str(path.relative_to(folder)) if path != folder else path.name
    if isinstance(run, str):
        name = f"{_system(path)}: unreadable"
        return name, (AuditVerdict("unchecked", "", place, "the run", cause=run),)
    return f"{_system(path)}: {run.accelerators_count} x {run.workload}", audit_run(run, place)


def _system(path: Path) -> str:
    names = path.absolute().parts
    return names[names.index(RESULTS) + 1] if RESULTS in names[:-1] else path.name


def _enough(runs_count: int, place: str) -> AuditVerdict:
    kind = "agrees" if runs_count >= LEAST_RUNS else "disagrees"
    return AuditVerdict(
        kind, "a result is the mean of 5 runs", place, "runs", "", str(runs_count), f"at least {LEAST_RUNS}",
        of="the folders of its runs", cause="" if runs_count >= LEAST_RUNS else "runs were withdrawn, or are not here",
    )  # fmt: skip


def audit_run(run: TrainingRun, place: str) -> tuple[AuditVerdict, ...]:
    """Judge a run by its own numbers."""
    recipes = tuple(_recipes(run, place))
    numbers = {number.id: number for recipe in recipes for number in (recipe.subject, *recipe.inputs)}
    judged = judge(recipes, list(numbers.values()))
    return (*judged, *_unchecked(run, place))


def _recipes(run: TrainingRun, place: str) -> Iterator[Recipe]:
    stated_ratio = _number(run.means[_AU], "share", "%", 0.01, place, "mean")
    ratios = [
        _number(e.utilisation_ratio * 100, "share", "%", 0.01, place, f"epoch {n}")
        for n, e in enumerate(run.epochs, 1)
    ]
    yield Recipe(
        "the mean of the epochs", stated_ratio, tuple(ratios), lambda v: _mean([v(n) for n in ratios])
    )
    rate = _number(run.samples_per_s, "rate", "samples/s", 1.0, place, "mean")
    rates = [
        _number(e.samples_per_s, "rate", "samples/s", 1.0, place, f"epoch {n}")
        for n, e in enumerate(run.epochs, 1)
    ]
    yield Recipe("the mean of the epochs", rate, tuple(rates), lambda v: _mean([v(n) for n in rates]))
    size = _number(run.sample_bytes, "size", "B", 1.0, place, "sample")
    if _IO in run.means:
        moved = _number(run.means[_IO], "throughput", "MiB/s", MIB, place, "mean")
        yield Recipe(
            "throughput = samples/s x size of a sample", moved, (rate, size), lambda v: v(rate) * v(size)
        )
    required_ratio = max(run.least_ratio or 0.0, LEAST_RATIOS.get(run.model, 0.0))
    if required_ratio:
        required = _number(
            required_ratio * 100, "share", "%", 0.01, "rules of MLPerf Storage", "least utilisation"
        )
        yield Recipe(
            "utilisation >= what the benchmark requires",
            stated_ratio,
            (required,),
            lambda v: v(required),
            "at least",
        )
    yield from _times(run, rate, stated_ratio, place)
    yield from _amounts(run, place)


def _times(run: TrainingRun, rate: PrintedNumber, utilisation: PrintedNumber, place: str) -> Iterator[Recipe]:
    """Return what time allows: accelerators can't compute faster than they do, nor read more than there is."""
    steps_count = run.steps_count
    if run.compute_s and steps_count > 1:
        per_s = run.accelerators_count * run.batch_count / run.compute_s
        computing = _number(per_s, "rate", "samples/s", 1.0, place, "all accelerators computing")
        first = exactly(steps_count / (steps_count - 1))  # a batch, which the utilisation leaves out
        yield Recipe(
            "samples/s <= utilisation x what accelerators compute",
            rate,
            (utilisation, computing),
            lambda v: v(utilisation) * v(computing) * first,
            "at most",
        )
    samples = _number(run.samples_count * len(run.epochs), "count", "", 1.0, place, "samples of all epochs")
    took = _number(
        sum(epoch.block_s for epoch in run.epochs), "duration", "s", 1.0, place, "time of all epochs"
    )
    uneven = Span(1 - UNEVEN_RATIO, 1 + UNEVEN_RATIO)
    last: tuple[str, Callable[[Values], Span]] = (
        "the sum of accelerators' own rates, of which some end early",
        lambda _: exactly(rate.value),
    )
    yield Recipe(
        "samples/s = samples of the data set / time of the epochs, to 5 %",
        rate,
        (samples, took),
        lambda v: v(samples) / v(took) * uneven,
        alternatives=(last,) if rate.value > samples.value / took.value else (),
    )


def _amounts(run: TrainingRun, place: str) -> Iterator[Recipe]:
    """Return what a data set must have, so that no cache serves it."""
    steps = _number(run.steps_count, "count", "", 1.0, place, "batches of an accelerator in an epoch")
    least = _number(LEAST_STEPS, "count", "", 1.0, "rules of MLPerf Storage", "least")
    nearly = exactly(1 - ROUNDED_RATIO)
    yield Recipe("an epoch has 500 batches", steps, (least,), lambda v: v(least) * nearly, "at least")
    if run.memory_bytes:
        samples_count = run.files_count * run.samples_per_file
        data = _number(samples_count * run.sample_bytes / 1024**3, "size", "GiB", 1024**3, place, "data set")
        memory = _number(run.memory_bytes / 1024**3, "memory", "GiB", 1024**3, place, "memory of the hosts")
        times = exactly(LEAST_MEMORIES * (1 - ROUNDED_RATIO))
        yield Recipe(
            "data set >= 5 x memory of the hosts", data, (memory,), lambda v: v(memory) * times, "at least"
        )


def _unchecked(run: TrainingRun, place: str) -> Iterator[AuditVerdict]:
    if not run.memory_bytes:
        yield AuditVerdict(
            "unchecked", "data set >= 5 x memory of the hosts", place, "data set",
            cause="the summary does not state the memory of the hosts",
        )  # fmt: skip


def audit_report(path: Path, runs: Runs) -> tuple[AuditVerdict, ...]:
    """Judge the report of a result by its own numbers and by the runs beside it. Raises MachineError."""
    place = path.name
    try:
        report: Any = json_from(text_of(path))
        rates_listed = {
            name: float(run["train_throughput_samples_per_second"]) for name, run in report["runs"].items()
        }
        mean = float(report["overall"]["train_throughput_mean_samples_per_second"])
    except UNEXPECTED as error:
        return (AuditVerdict("unchecked", _RUN, place, "the report", cause=words(error)),)
    rates = [_number(rate, "rate", "samples/s", 1.0, place, name) for name, rate in rates_listed.items()]
    subject = _number(mean, "rate", "samples/s", 1.0, place, "overall mean")
    recipe = Recipe("the mean of the runs", subject, tuple(rates), lambda v: _mean([v(n) for n in rates]))
    return (*(judge([recipe], [subject, *rates]) if rates else ()), *_listed_runs(path, rates_listed, runs))


def _listed_runs(path: Path, rates_listed: Mapping[str, float], runs: Runs) -> Iterator[AuditVerdict]:
    """Find the summary of each run that a report lists, by its rate."""
    beside = {
        str(at.relative_to(path.parent)): run.samples_per_s
        for at, run in runs.items()
        if path.parent in at.parents
        and isinstance(run, TrainingRun)  # others are named where runs are audited
    }
    unmatched = dict(beside)
    for name, rate in rates_listed.items():
        here = next(
            (at for at, rate_beside in unmatched.items() if abs(rate_beside - rate) <= EXACT_RATIO * rate), ""
        )
        unmatched.pop(here, None)
        why = "" if here else f"no summary has its {rate:.6g} samples/s: it was changed, or withdrawn"
        yield AuditVerdict("agrees" if here else "disagrees", _RUN, path.name, name, recomputed=why)
    for at, rate in unmatched.items():
        why = f"the report does not list its {rate:.6g} samples/s: it was changed, or came later"
        yield AuditVerdict("disagrees", _RUN, path.name, at, recomputed=why)


def _mean(spans: Sequence[Span]) -> Span:
    count = len(spans)
    return Span(sum(span.low for span in spans) / count, sum(span.high for span in spans) / count)


def _number(value: float, quantity: str, unit: str, per: float, place: str, meaning: str) -> PrintedNumber:
    """Return a number of a file, which has all the digits of a floating-point number."""
    digits = f"{value:.2f}" if unit else f"{value:.0f}"
    ends = (value * (1 - EXACT_RATIO) * per, value * (1 + EXACT_RATIO) * per)
    facts = {"what": meaning}
    id = f"{place} {meaning} {quantity}"
    return PrintedNumber(
        id, quantity, f"{digits} {unit}".strip(), value * per, *ends, per, place, "stated", facts, facts
    )
