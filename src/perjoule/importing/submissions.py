"""The audit of submissions to the IO500 list: what their numbers can't be, by the rules that papers are
audited by.

The score is recomputed from the phases, each rate compared wherever it is stated, and amounts, times and free
space with one another. A submission states no network, no disks and no power; that is listed as unchecked.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite, prod
from pathlib import Path
from statistics import median

from perjoule.importing.sources import sources
from perjoule.model.errors import NotImported
from perjoule.model.units import BYTES
from perjoule.papers.audit import AuditVerdict, Recipe, Span, Values, exactly, judge
from perjoule.papers.published import PrintedNumber
from perjoule.workloads.imported import (
    BANDWIDTHS,
    IO500_FILES,
    RATES,
    Submission,
    SubmittedPhase,
    recomputed,
    submission,
)

LEAST_S = 300.0  # of a phase that writes: https://io500.org/rules-submission
READS_WHAT = {
    "ior-easy-read": "ior-easy-write",
    "ior-hard-read": "ior-hard-write",
    "mdtest-easy-stat": "mdtest-easy-write",
    "mdtest-hard-stat": "mdtest-hard-write",
    "mdtest-hard-read": "mdtest-hard-write",
    "mdtest-easy-delete": "mdtest-easy-write",
    "mdtest-hard-delete": "mdtest-hard-write",
}
ROUNDED_S = 1.0  # of times of day
TIME = "time >= amount / rate"
ORDER = "phases run one after another: start to start >= amount / rate"
ALIKE_RATIO = 1.5  # excesses of phases that one offset between clocks explains
_GIB = BYTES["GiB"]
_SUMMARY, _RESULT = IO500_FILES[1], IO500_FILES[0]


def submitted(folder: Path) -> dict[str, tuple[AuditVerdict, ...]]:
    """Audit every submission below a folder, by its path; empty if it has none.

    Raises:
        MachineError: a file can't be read.
    """
    if not any(path.name in IO500_FILES for path in folder.rglob("result*.txt")):
        return {}
    listed, _ = sources([str(folder)], "UTC")
    verdicts: dict[str, tuple[AuditVerdict, ...]] = {}
    for source in listed:
        if source.format == "io500":
            try:
                verdicts[str(source.path)] = audit_submission(submission(source.texts()))
            except ValueError as error:
                raise NotImported(str(error), where=str(source.path)) from error
    return verdicts


def score_text(of: Submission) -> str:
    """Return the recomputed score next to the printed one."""
    scores = recomputed({phase.stated.name: _value(phase.stated.score) for phase in of.phases})
    if scores is None:
        return "the score can't be recomputed: a phase lacks its rate"
    text = (
        f"score recomputed: {scores[2]:.6g} (bandwidth {scores[0]:.6g} GiB/s, metadata {scores[1]:.6g} kIOPS)"
    )
    return f"{text}; {_SUMMARY} prints {of.score.total}" if of.score else f"{text}; none is printed"


def audit_submission(of: Submission) -> tuple[AuditVerdict, ...]:
    """Judge a submission by its own numbers."""
    rates = {
        phase.stated.name: _rate(phase, phase.stated.rate or phase.stated.score, _SUMMARY)
        for phase in of.phases
        if _stated(phase)
    }
    recipes = [
        *_scores(of, rates),
        *(
            recipe
            for phase in of.phases
            if phase.stated.name in rates
            for recipe in _of_phase(phase, rates[phase.stated.name])
        ),
        *_amounts(of),
        *_order(of),
    ]
    numbers = list(
        {number.id: number for recipe in recipes for number in (recipe.subject, *recipe.inputs)}.values()
    )
    excess_s = [
        recipe.result().low - recipe.subject.value
        for recipe in recipes
        if recipe.rule == TIME and not recipe.holds()
    ]
    rule = "IO500's own checks"
    invalid = [
        AuditVerdict(
            "disagrees", rule, _RESULT, phase.stated.name, recomputed=f"IO500 calls it invalid: {check}"
        )
        for phase in of.phases
        for check in phase.stated.invalid
    ]
    lacking = "the submission's files state neither networks and disks nor copies nor power"
    bounds = AuditVerdict(
        "unchecked", "throughput <= networks and disks", _SUMMARY, "all bandwidths", cause=lacking
    )
    return (*(_with_clocks(v, excess_s) for v in judge(recipes, numbers)), *invalid, bounds)


def _scores(of: Submission, rates: dict[str, PrintedNumber]) -> Iterator[Recipe]:
    if of.score is None:
        return
    bandwidth = _number(
        "bandwidth score", "throughput", of.score.bandwidth, "GiB/s", _SUMMARY, {"what": "score"}
    )
    iops = _number("metadata score", "rate", of.score.iops, "kIOPS", _SUMMARY, {"what": "score"})
    total = _number("score", "score", of.score.total, "", _SUMMARY, {})
    for number, names, count_text in (
        (bandwidth, BANDWIDTHS, "four bandwidths"),
        (iops, RATES, "eight rates"),
    ):
        inputs = tuple(rates[name] for name in names if name in rates)
        if len(inputs) == len(names):
            mean = (("the arithmetic mean", _arithmetic(inputs)),)
            yield Recipe(
                f"score = geometric mean of the {count_text}",
                number,
                inputs,
                _geometric(inputs),
                alternatives=mean,
            )
    root = _geometric((bandwidth, iops), plain=True)

    def product(v: Values) -> Span:
        return root(v) * root(v)

    slip = (("the product, without the root", product),)
    yield Recipe("score = root of bandwidth x rate", total, (bandwidth, iops), root, alternatives=slip)


def _of_phase(phase: SubmittedPhase, rate: PrintedNumber) -> Iterator[Recipe]:
    name, printed = phase.stated.name, phase.stated
    if printed.keys.get("score") and printed.rate and isfinite(_value(printed.keys["score"])):
        exact = _rate(phase, printed.keys["score"], _RESULT)
        yield Recipe("the same number elsewhere", rate, (exact,), lambda v: v(exact))
    if phase.rate is not None:
        reported = _rate(phase, f"{phase.rate:.8g}", phase.file, slack=1e-3)
        yield Recipe("rate = what IOR or mdtest reports, to 0.1 %", rate, (reported,), lambda v: v(reported))
    if not printed.took:
        return
    took = _number(f"{name} time", "duration", printed.took, "s", _SUMMARY, {"phase": name})
    if phase.count is not None and name in READS_WHAT.keys() | set(READS_WHAT.values()):
        count = _count(phase)
        yield Recipe(TIME, took, (count, rate), lambda v: v(count) / v(rate), "at least", ROUNDED_S)
    if name in READS_WHAT.values():
        least = _number("least time", "duration", f"{LEAST_S:g}", "s", "rules of IO500", {}, exact=True)
        yield Recipe("a phase that writes lasts 300 s", took, (least,), lambda v: v(least), "at least")


def _with_clocks(verdict: AuditVerdict, excess_s: Sequence[float]) -> AuditVerdict:
    """Add a cause: IOR's time is from the first start to the last end of all ranks, each by the clock of
    its node.
    """
    concerned = verdict.kind == "disagrees" and verdict.rule in (TIME, ORDER)
    if not concerned or len(excess_s) < 2 or max(excess_s) > ALIKE_RATIO * min(excess_s):
        return verdict
    cause = (
        f"clocks of the nodes that differ by about {median(excess_s):.3g} s ({len(excess_s)} phases lack as "
        "much)"
    )
    return replace(verdict, cause=cause)


def _amounts(of: Submission) -> Iterator[Recipe]:
    """Nothing reads, stats or deletes more than was written, and no more is written than was free."""
    for name, source in READS_WHAT.items():
        reading, writing = of.phase(name), of.phase(source)
        if reading and writing and reading.count is not None and writing.count is not None:
            count, written = _count(reading), _count(writing)
            yield Recipe("reads, stats or deletes <= writes", count, (written,), _same(written), "at most")
    wrote = of.phase("ior-easy-write")
    if of.free_bytes and wrote and wrote.count is not None:
        low, high = (value / _GIB for value in of.free_bytes)
        free = _number(
            "free space", "size", f"{(low + high) / 2:.6g}", "GiB", wrote.file, {"what": "free space"}
        )
        count = _count(wrote)
        rule = "bytes written <= free space (without compression)"
        yield Recipe(rule, count, (free,), lambda _: Span(low * _GIB, high * _GIB), "at most")


def _order(of: Submission) -> Iterator[Recipe]:
    """A phase begins when the one before has ended."""
    dated = [phase for phase in of.phases if phase.began_s is not None and _stated(phase)]
    for before, after in pairwise(dated):
        assert before.began_s is not None
        assert after.began_s is not None
        if before.count is None or of.phases.index(after) != of.phases.index(before) + 1:
            continue
        gap = f"{after.began_s - before.began_s:.0f}"
        name = f"{before.stated.name} start to next start"
        room = _number(
            name,
            "duration",
            gap,
            "s",
            before.file or _RESULT,
            {"phase": before.stated.name, "what": "start to start"},
        )
        count, rate = _count(before), _rate(before, before.stated.rate or before.stated.score, _SUMMARY)
        yield Recipe(
            ORDER,
            room,
            (count, rate),
            lambda v, count=count, rate=rate: v(count) / v(rate),
            "at least",
            ROUNDED_S,
        )


def _stated(phase: SubmittedPhase) -> bool:
    return isfinite(_value(phase.stated.score)) and _value(phase.stated.score) > 0


def _value(digits: str) -> float:
    try:
        return float(digits)
    except ValueError:
        return float("nan")


def _same(number: PrintedNumber) -> Callable[[Values], Span]:
    return lambda v: v(number)


def _geometric(inputs: Sequence[PrintedNumber], *, plain: bool = False) -> Callable[[Values], Span]:
    """Return the geometric mean; `plain` takes numbers in their printed units."""

    def compute(v: Values) -> Span:
        spans = [v(n) / exactly(n.unit if plain else 1.0) for n in inputs]
        return Span(*(prod(getattr(s, end) ** (1 / len(spans)) for s in spans) for end in ("low", "high")))

    return compute


def _arithmetic(inputs: Sequence[PrintedNumber]) -> Callable[[Values], Span]:
    return lambda v: Span(
        *(sum(ends) / len(inputs) for ends in zip(*((v(n).low, v(n).high) for n in inputs), strict=True))
    )


def _rate(phase: SubmittedPhase, digits: str, place: str, slack: float = 0.0) -> PrintedNumber:
    quantity = "throughput" if phase.stated.moves else "rate"
    return _number(
        f"{phase.stated.name} {place}",
        quantity,
        digits,
        phase.stated.unit,
        place,
        {"phase": phase.stated.name},
        slack,
    )


def _count(phase: SubmittedPhase) -> PrintedNumber:
    assert phase.count is not None
    place = phase.file or _RESULT
    facts = {"phase": phase.stated.name, "what": "amount"}
    if phase.stated.moves:
        return _number(
            f"{phase.stated.name} amount", "size", f"{phase.count / _GIB:.6f}", "GiB", place, facts
        )
    return _number(f"{phase.stated.name} amount", "count", str(phase.count), "", place, facts, exact=True)


def _number(
    id: str,
    quantity: str,
    digits: str,
    unit: str,
    place: str,
    facts: dict[str, str],
    slack: float = 0.0,
    *,
    exact: bool = False,
) -> PrintedNumber:
    """Return a printed number, with the range that its digits allow, or a share `slack` of it."""
    per = {"GiB/s": _GIB, "GiB": _GIB, "kIOPS": 1000.0}.get(unit, 1.0)
    value = float(digits)
    half = 0.0 if exact else max(0.5 * 10.0 ** -len(digits.partition(".")[2]), slack * value)
    printed = f"{digits} {unit}".strip()
    ends = (max(0.0, value - half) * per, (value + half) * per)
    return PrintedNumber(id, quantity, printed, value * per, *ends, per, place, "stated", facts, facts)
